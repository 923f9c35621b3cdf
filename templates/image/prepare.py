"""Make vLLM's source ready for SM121: python3 prepare.py SOURCE SITE, in the image that is to get its kernels.

The source must be that of the image's own vLLM, or its libraries do not fit the Python around them. NVFP4 kernels
are left out for SM121, for its assembler has no `cvt.e2m1x2` (vLLM 0.17.0rc1) [@forum-365083].
"""

import pathlib
import re
import subprocess
import sys

GUARD = re.compile(r'(cuda_archs_loose_intersection\(\s*FP4_ARCHS\s+")12\.0f(")')


def replaceable(site: str) -> bool:
    """Whether the kernels are where ours go; vLLM moves them elsewhere from 0.19 on [@vllm-45415]."""
    libraries = pathlib.Path(site, "vllm")
    return (libraries / "_C.abi3.so").exists() and not (libraries / "_C_stable_libtorch.abi3.so").exists()


def version(site: str) -> str:
    """Of vLLM as it is installed."""
    (found,) = pathlib.Path(site).glob("vllm-*.dist-info/METADATA")
    return next(line.split()[1] for line in found.read_text().splitlines() if line.startswith("Version:"))


def matches(installed: str, commit: str, tags: "list[str]") -> bool:
    """Whether a commit is the one that a version was made of: by the hash in it, or as a release by its tag.

    A release for a CUDA other than vLLM's first choice says so (`+cu130`); any other suffix is of another source.
    """
    named = re.search(r"\+(?:.*\.)?g([0-9a-f]{7,40})", installed)
    if named:
        return commit.startswith(named[1])
    return f"v{re.sub(r'[+]cu[0-9]+$', '', installed)}" in tags


def patched(text: str) -> "tuple[str, int]":
    """A CMake file that builds NVFP4 for 12.0 alone and not for its family, and in how many places it did."""
    return GUARD.subn(r"\g<1>12.0a\g<2>", text)


def main(source: str, site: str) -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", source, *words], check=True, capture_output=True, text=True).stdout

    if not replaceable(site):
        sys.exit(
            f"{site}/vllm has no _C.abi3.so, or some kernels in _C_stable_libtorch.abi3.so: "
            "take a base of vLLM 0.17 or 0.18"
        )
    installed, commit = version(site), git("rev-parse", "HEAD").strip()
    if not matches(installed, commit, git("tag", "--points-at", "HEAD").split()):
        sys.exit(f"the image has vLLM {installed}, and {commit[:12]} is not what that was made of")
    files = [pathlib.Path(source, "CMakeLists.txt"), pathlib.Path(source, "cmake/external_projects/qutlass.cmake")]
    places = 0
    for file in filter(pathlib.Path.exists, files):
        text, count = patched(file.read_text())
        file.write_text(text)
        places += count
    if not places:
        sys.exit("no guard for FP4_ARCHS 12.0f was found: this vLLM is another than 0.17.0rc1 [@forum-365083]")
    print(f"vLLM {installed} is {commit[:12]}; {places} guards were patched")


if __name__ == "__main__":
    main(*sys.argv[1:])
