"""Record what the facts print on a host of an inventory, for the plan tests (tests/fixtures/spark).

python -m tests.record inventories/lab.py spark-a > tests/fixtures/spark/converged-a.txt
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from facts.spark import Spark
from sparkrig import inventory, ssh


def main(file: str, host: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config")
        config.write_text(ssh.config(inventory.load(Path(file)), folder))
        subprocess.run(
            ["ssh", "-F", str(config), host, "sudo", "sh"], input=Spark().command(), text=True, check=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
