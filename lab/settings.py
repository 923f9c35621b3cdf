"""`python -m lab.settings`: what the group_data of an inventory of virtual Sparks holds."""

from __future__ import annotations

from lab.errors import LabError
from lab.inventory import settings


def main() -> None:
    """One setting a line, as Python."""
    try:
        found = settings()
    except LabError as error:
        raise SystemExit(str(error)) from None
    for name, value in found.items():
        print(f"{name} = {value!r}")


if __name__ == "__main__":
    main()
