"""Record what a fact prints on a host of an inventory, for the plan tests (tests/fixtures/spark).

python -m tests.record inventories/lab.py spark-a sparkrig.facts.spark.Spark > tests/fixtures/spark/converged-a.txt
"""

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

from sparkrig import inventory, ssh


def main(file: str, host: str, fact: str) -> None:
    module, _, name = fact.rpartition(".")
    command = getattr(importlib.import_module(module), name)().command()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config")
        config.write_text(ssh.config(inventory.load(Path(file)), folder))
        subprocess.run(["ssh", "-F", str(config), host, "sudo", "sh"], input=command, text=True, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
