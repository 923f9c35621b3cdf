"""An image for the guests' docker that has `vllm` in it: the guest's own Python and shell, and the stand-in.

Or SGLang, as a module of that Python; or `llama-server`, in /app, with curl and no Python in the path, as
llama.cpp's own image has it.

No registry is in reach, so it is made of what the guest has. The stand-in's options are a variable of the image.
"""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

from lab import ssh
from lab.errors import LabError

NAME = "vllm-standin:1"
NAMES = {"vllm": NAME, "sglang": "sglang-standin:1", "llama.cpp": "llama.cpp-standin:1"}
RAY = "ray-standin:1"
_STANDIN, _RAY = (Path(__file__).with_name(name) for name in ("standin.py", "standin_ray.py"))
_BUILD_S = 600

# $1 name, $2 the options of the stand-in, $3 its entrypoint in JSON, $4 the engine, $5 of Ray the vLLM beside it;
# on stdin the stand-in
_BUILD = r"""
set -e
root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/tmp" "$root/root" "$root/etc"
ln -s usr/bin "$root/bin"; ln -s usr/lib "$root/lib"; ln -s usr/lib64 "$root/lib64"
engine=$4
copied() { # a program or library, and the libraries that it needs
  { echo "$1"; ldd "$1" 2>/dev/null | grep -o '/[^ ]*'; } | while read -r file; do
    to=$root$file; case $file in /lib*|/bin*) to=$root/usr$file ;; esac
    [ -e "$to" ] || install -D "$(readlink -f "$file")" "$to"
  done
}
for name in sh bash env date sed grep paste mkdir cp ln rm cat sleep uname tr chmod timeout head tail; do
  copied "/usr/bin/$name"
done
python=$(readlink -f /usr/bin/python3)
copied "$python"
library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
mkdir -p "$root$library"
tar -C "$library" --exclude=test --exclude=__pycache__ -c . | tar -C "$root$library" -x
for file in "$library"/lib-dynload/*.so; do copied "$file"; done
case $engine in
llama.cpp)
  mkdir -p "$root/app" "$root/opt/standin"
  mv "$root$python" "$root/opt/standin/python3"
  to=$root/app/llama-server
  echo '#!/opt/standin/python3' >"$to"
  copied /usr/bin/curl
  ;;
sglang)
  mkdir -p "$root$library/sglang"
  : >"$root$library/sglang/__init__.py"
  to=$root$library/sglang/launch_server.py
  : >"$to"
  ;;
ray)
  to=$root/usr/bin/ray
  : >"$to"
  echo "$5" | base64 -d >"$root/usr/bin/vllm"
  chmod 755 "$root/usr/bin/vllm"
  mkdir -p "$root$library/ray"
  ;;
*) to=$root/usr/bin/vllm; : >"$to" ;;
esac
[ "$engine" = llama.cpp ] || ln -s "$(basename "$python")" "$root/usr/bin/python3"
base64 -d >>"$to"; chmod 755 "$to"
if [ "$engine" = ray ]; then cp "$to" "$root$library/ray/__init__.py"; fi
if [ "$engine" = sglang ]; then cp "$to" "$root$library/sglang/bench_serving.py"; fi
mkdir -p "$root/opt/nvidia"
printf '#!/bin/sh\necho "== stand-in for the entrypoint of NVIDIA =="; export CUDA_COMPAT=set; exec "$@"\n' \
  >"$root/opt/nvidia/nvidia_entrypoint.sh"
chmod 755 "$root/opt/nvidia/nvidia_entrypoint.sh"
set -- "$1" "ENV PATH=/usr/bin STANDIN=$(printf %s "$2" | sed 's/ /\\ /g')" "$3"
tar -C "$root" -c . | docker import --change "$2" ${3:+--change "ENTRYPOINT $3"} - "$1"
"""


# $1 the folder of a checkpoint: as few bytes as make it whole by its own index
_WEIGHTS = r"""
set -e
mkdir -p "$1/sub"; cd "$1"
echo '{}' | tee config.json sub/tokenizer.json
echo '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}' >model.safetensors.index.json
echo 1 | tee model-1.safetensors model-2.safetensors
"""


# $1 the path of a file
_GGUF = r"""
set -e
mkdir -p "$(dirname "$1")"; printf GGUF >"$1"
"""


def build(node: str, told: str = "", name: str = "", entrypoint: str = "", engine: str = "vllm") -> str:
    """Make it on a guest; its ID. LabError where it fails.

    told: options of the stand-in (lab/standin.py); name: of the image, empty for that of its engine; entrypoint:
    in JSON, such as that of NVIDIA's images; engine: as `serve_engine` has it, or `ray` for nodes of a cluster.
    """
    vllm = base64.b64encode(_STANDIN.read_bytes()).decode()
    given = base64.b64encode(_RAY.read_bytes()).decode() if engine == "ray" else vllm
    words = (name or NAMES.get(engine, RAY), told, entrypoint, engine, *([vllm] if engine == "ray" else []))
    return _root(node, f"echo {given} | ", _BUILD, *words).splitlines()[-1]


def gguf(node: str, path: str) -> None:
    """A file that passes for a GGUF file: what llama.cpp begins one with. LabError where that fails."""
    _root(node, "", _GGUF, path)


def weights(node: str, folder: str) -> None:
    """Files that pass for a checkpoint, in OWNER/NAME of a folder of weights. LabError where that fails."""
    _root(node, "", _WEIGHTS, folder)


def _root(node: str, before: str, script: str, *words: str) -> str:
    line = before + shlex.join(["sudo", "sh", "-c", script, "sparkrig", *words])
    done = ssh.execute(node, line, timeout=_BUILD_S)
    if done.rc:
        raise LabError(
            f"{node} has no stand-in: {done.stderr.strip()[-200:]}",
            expected="docker up and room on its disk",
            attempt="sparkrig lab reset",
        )
    return done.stdout
