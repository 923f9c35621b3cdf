"""Every file that this toolkit owns on a host, so that one look reads them all."""

from sparkrig.files import DECLARED, MEASURED
from sparkrig.host import containers, driver, secrets, trust
from sparkrig.rdma import environment
from sparkrig.serving import served

OWNED = (
    driver.PIN_PATH,
    driver.BLACKLIST_PATH,
    containers.SOURCE_PATH,
    environment.NCCL_CONF,
    environment.CONTAINER_ENV,
    environment.RAILS,
    environment.GID_MODULE,
    environment.REFRESH,
    environment.DISPATCHER,
    MEASURED,
    DECLARED,
    trust.KNOWN_HOSTS,
    trust.CLIENT,
    *served.PATHS,
)

# Ours too, but for root alone: a look reads no content of it.
PRIVATE = (secrets.PATH,)

# Every file that a run may write; others' files among them are merged into.
WRITTEN = (*OWNED, *PRIVATE, containers.DAEMON_JSON, containers.KEYRING)
