"""What is different about a virtual Spark: the repository's mirror, and how fast things may be asked to be."""

from pyinfra.api.exceptions import InventoryError as _InventoryError

from lab import toolkit_repo as _toolkit_repo
from lab.errors import LabError as _LabError

try:
    _mirror = _toolkit_repo()
except _LabError as _error:
    raise _InventoryError(str(_error)) from None

toolkit_url = _mirror["url"]
toolkit_key_url = _mirror["key_url"]
toolkit_key_fingerprint = _mirror["fingerprint"]
bandwidth_floor = 0.01  # soft-RoCE under emulation: the link only must carry data
bandwidth_seconds = 2
patience = 4.0
