"""Real Ray in an image for the guests' docker: the wheels of tests/ray for the guests' Python."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from lab import ssh
from lab.standin_image import RAY, build
from tests.lab.carried import PYTHON
from tests.ray import environment

NAME = "ray-real:1"
_SITE = "/usr/lib/python3/dist-packages"  # of Debian's Python, in the stand-in's image too
_DROPPED = ("jars", "rllib", "llm")  # no node reads these
_PROGRAM = "#!/usr/bin/python3\nfrom ray.scripts.scripts import main\nmain()\n"

# $1 the image to begin from, $2 the one to make, $3 the folder of packages; on stdin a tar archive of them.
# A first start leaves the modules compiled, which an emulated guest would else do for each container.
_BUILD = r"""
set -e
root=$(mktemp -d); chmod 755 "$root"; trap 'rm -rf "$root"' EXIT
mkdir -p "$root$3" "$root/usr/bin"
tar -C "$root$3" -x
mv "$root$3/ray-program" "$root/usr/bin/ray"; chmod 755 "$root/usr/bin/ray"
find "$root$3" -type f \( -name '*.so*' -o -perm -100 \) -exec ldd {} + 2>/dev/null \
  | grep -o '=> /[^ ]*' | cut -c4- | sort -u | while read -r file; do
    case $file in "$root"*) continue ;; /lib*) to=$root/usr$file ;; *) to=$root$file ;; esac
    install -D "$(readlink -f "$file")" "$to"
  done
docker rm -f making >/dev/null 2>&1 || :
first='RAY_DASHBOARD_STARTUP_TIMEOUT_S=240 ray start --head --include-dashboard=true --port=6399; ray stop'
docker create --name making --entrypoint sh "$1" -c "$first" >/dev/null
tar -C "$root" -c . | docker cp - making:/
docker start -a making >&2 || :
# how long a head waits for its dashboard, 60 s, times the patience of the lab
docker commit --change 'ENTRYPOINT []' --change 'ENV RAY_DASHBOARD_STARTUP_TIMEOUT_S=240' making "$2"
docker rm -f making >/dev/null
"""


def packages(folder: Path) -> Path:
    """What Ray's wheels hold for the guests' Python, in a folder."""
    site = folder / "site"
    platforms = [f"--platform={name}_x86_64" for name in ("manylinux2014", "manylinux_2_17", "manylinux_2_28")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:"]
    pip += ["--require-hashes", f"--python-version={PYTHON}", *platforms, f"--target={site}"]
    subprocess.run([*pip, "-r", environment.LOCK], check=True, timeout=900)
    (site / "ray-program").write_text(_PROGRAM)
    return site


def install(node: str, folder: Path) -> str:
    """The image on a guest; its ID. folder: for what is downloaded."""
    build(node, engine="ray")
    dropped = [f"--exclude=./ray/{name}" for name in _DROPPED]
    packed = subprocess.Popen(["tar", "-C", packages(folder), "-c", *dropped, "."], stdout=subprocess.PIPE)
    line = shlex.join(["sudo", "sh", "-c", _BUILD, "sh", RAY, NAME, _SITE])
    done = subprocess.run(
        ssh.command(node, line), stdin=packed.stdout, capture_output=True, text=True, timeout=1200, check=False
    )
    assert packed.wait() == 0 and done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()[-1]
