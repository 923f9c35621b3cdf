"""T3: the image with injected kernels, built by real docker of a base that stands in for vLLM's.

What the recipe calls in its base is a stand-in: apt-get, git, pip, cuobjdump. The order, the guard that is
patched, what is copied, what is looked into and what gets a name are real.
"""

from __future__ import annotations

import base64
import io
import re
import tarfile
from collections.abc import Mapping

import pytest

from lab.standin_image import NAME, build
from tests.faults.record import Seen
from tests.lab.commands import Done, run
from tests.lab.guests import Guest, Pair

pytestmark = pytest.mark.exhaustive

IMAGE, INVENTORY, BASE = "deploys/image.py", "inventories/lab.py", "vllm-base:1"
SITE = "/usr/local/lib/python3.13/dist-packages"  # of the guest's Python
COMMIT = "e68de8adc0301babeaba3fb14ddb58a29a5fa7ac"
GUARD = 'cuda_archs_loose_intersection(FP4_ARCHS "12.0f" "${CUDA_ARCHS}")\n'
FILES = {
    "Dockerfile": f"""FROM {NAME}
COPY apt-get git pip cuobjdump /usr/bin/
COPY METADATA {SITE}/vllm-0.17.0rc1.dev120+ge68de8adc.dist-info/METADATA
COPY old {SITE}/vllm/_C.abi3.so
COPY old {SITE}/vllm/_moe_C.abi3.so
COPY old {SITE}/vllm/other.so
""",
    "METADATA": "Metadata-Version: 2.4\nName: vllm\nVersion: 0.17.0rc1.dev120+ge68de8adc\n",
    "old": "old\n",
    "apt-get": "#!/bin/sh\nexit 0\n",
    "git": f"""#!/bin/sh
case "$*" in
clone*/tmp/vllm)
  mkdir -p /tmp/vllm/requirements && printf '%s' '{GUARD}' >/tmp/vllm/CMakeLists.txt
  printf 'ninja\\ntorch==2.10.0\\n' >/tmp/vllm/requirements/build.txt ;;
*rev-parse*) echo {COMMIT} ;;
esac
""",
    # its cubins are as many as the patched guard leaves
    "pip": """#!/bin/sh
case "$*" in
*requirements/build.txt) ! grep torch requirements/build.txt ;;
*--target*) mkdir -p /tmp/built/vllm && cp CMakeLists.txt /tmp/built/vllm/_C.abi3.so && echo new >/tmp/built/vllm/_moe_C.abi3.so ;;
esac
""",  # noqa: E501 - one line of a shell
    "cuobjdump": """#!/bin/sh
if grep -q '"12.0a"' "$2"; then n=52; else n=0; fi
while [ $n -gt 0 ]; do echo "ELF file $n: _C.$n.sm_121.cubin"; n=$((n - 1)); done
""",
}


def base(guest: Guest, files: Mapping[str, str]) -> None:
    """The base, from a context on standard input."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as context:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            context.addfile(entry, io.BytesIO(text.encode()))
    given = base64.b64encode(packed.getvalue()).decode()
    guest.output(f"echo {given} | base64 -d | sudo docker build -q -t {BASE} -", timeout=600)


def made(*words: str) -> Done:
    data = ("--data", f"image_base={BASE}", "--data", f"image_site={SITE}", *words)
    return run("pyinfra", "-y", INVENTORY, IMAGE, *data, timeout=1800)


def test_kernels_are_injected_once_and_what_came_out_wrong_has_no_name(deployed: Pair, seen: Seen) -> None:
    build(deployed.a.node)
    base(deployed.a, FILES)
    done = made()
    assert done.code == 0, done.stderr[-3000:]
    assert "52 cubins for Blackwell, vLLM 0.17.0rc1.dev120+ge68de8adc as in its base" in done.stderr
    libraries = f"cd {SITE}/vllm && cat _C.abi3.so _moe_C.abi3.so other.so"
    inside = f"sudo docker run --rm --entrypoint sh vllm-sm121:latest -c '{libraries}'"
    assert deployed.a.output(inside).splitlines() == [GUARD.strip().replace("12.0f", "12.0a"), "new", "old"]
    done = made()
    assert done.code == 0 and re.search(r"kernels for SM121 +1 +- +- +1 ", done.stderr), done.stderr[-3000:]
    assert deployed.b.run("sudo docker image inspect vllm-sm121:latest").rc != 0

    base(deployed.a, {**FILES, "cuobjdump": "#!/bin/sh\nexit 0\n"})
    done = made("--data", "image_name=other:1")
    assert done.code == 1 and "Refused: it has 0 cubins for Blackwell" in done.stderr, done.stderr[-3000:]
    assert deployed.a.run("sudo docker image inspect other:1").rc != 0
    base(deployed.a, {**FILES, "git": FILES["git"].replace("12.0f", "12.0")})
    done = made("--data", "image_name=other:1")
    assert done.code == 1 and "Try: sudo journalctl -u sparkrig-build" in done.stderr, done.stderr[-3000:]
    assert "no guard for FP4_ARCHS 12.0f was found" in deployed.a.output("sudo journalctl -n 20 -u sparkrig-build")
    assert deployed.a.run("sudo docker image inspect other:1").rc != 0
    seen("built, looked into, named; without cubins or without the guard no name is given")
