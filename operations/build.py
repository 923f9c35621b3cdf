"""Building the image with injected kernels on one host, as a unit that outlives the connection."""

from __future__ import annotations

from pathlib import Path

from pyinfra import host
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig.cure import quoted
from sparkrig.facts.serving import Serving as ServingFact
from sparkrig.files import File
from sparkrig.io import remote
from sparkrig.io.remote import Failed, Lost
from sparkrig.operations import unit
from sparkrig.operations.files import write
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.serving import build
from sparkrig.serving.build import Base
from sparkrig.serving.served import Serving
from sparkrig.settings import Settings

FOLDER = "/run/sparkrig/image"
_TEMPLATES = Path(__file__).resolve().parent.parent / "templates" / "image"

# In seconds, times `patience`.
_LOOK_S = 300
_PULL_S = 4 * 3600
_BUILD_S = 6 * 3600  # the article's took 90 minutes

_TAG = 'docker tag "$1" "$2"'

# $1... what is built
BUILD = rf"""
{unit.proxies("--build-arg")}
exec docker build "$@"
"""

# $1 the image
VERSION = r"""
docker run --rm --network none --entrypoint python3 "$1" -c 'from importlib.metadata import version
print("version", version("vllm"))'
"""

# $1 the image, $2 the library's folder
VERIFY = r"""
docker run --rm --network none --entrypoint sh "$1" -c '
found=$(cuobjdump -lelf "$1/vllm/_C.abi3.so") || exit
printf "cubins %s\n" "$(printf "%s\n" "$found" | grep -c "sm_12[0-9]")"' sh "$2"
"""


def recipe() -> dict[str, str]:
    """The files that the image is built of, by name."""
    return {name: (_TEMPLATES / name).read_text(encoding="utf-8") for name in ("Dockerfile", "prepare.py")}


@operation()
@refusing
@recorded
def injected(found: Serving, settings: Settings) -> Commands:
    """Build vLLM's image with kernels for SM121, look into it, and give it the name that the settings say.

    + found: what the facts of this run saw of images
    + settings: base, commit and name
    """
    base = found.find(settings.image_base)
    if base:
        made = found.find(build.tag(base.id, settings.image_commit, recipe()))
        named = found.find(settings.image_name)
        if made and named and named.id == made.id:
            host.noop(f"{settings.image_name} is built")
            return
    yield FunctionCommand(_build, (settings,), {})


def _build(state: State, host: Host, settings: Settings) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    try:
        _carry_out(host, settings)
    except Refusal as refusal:
        say(host, str(refusal))
        return False
    except (Failed, Lost) as error:
        say(host, str(Refusal(f"it broke off ({error})", "the same again; docker goes on from its own cache")))
        return False
    return True


def _carry_out(at: Host, mine: Settings) -> None:
    def seconds(base: int) -> int:
        return int(base * mine.patience)

    def long(name: str, *words: str, limit: int, cure: str) -> None:
        at.log(f"{name} {words[-1]} ...")
        unit.carry_out(at, name, *words, seconds=seconds(limit), cure=cure)

    def look() -> Serving:
        return remote.read(at, ServingFact(), mine.weights, seconds=seconds(_LOOK_S))

    if look().find(mine.image_base) is None:
        long("pull", "docker", "pull", "-q", mine.image_base, limit=_PULL_S, cure="--data image_base=IMAGE")
    there = look().find(mine.image_base)
    if there is None:
        raise Refusal(f"{mine.image_base} was pulled and is not there", "docker image ls -a")
    version = remote.shell(at, VERSION, there.id, seconds=seconds(_LOOK_S)).partition("version ")[2].strip()
    base = Base(there.id, version)
    commit = build.commit(base, mine.image_commit)
    name = build.tag(there.id, mine.image_commit, recipe())
    if look().find(name) is None:
        files = [File(f"{FOLDER}/{each}", text) for each, text in recipe().items()]
        remote.execute(at, write(*files), seconds(_LOOK_S))
        # BuildKit takes no image by its ID [@buildkit-2204]
        local = build.base_tag(there.id)
        remote.shell(at, _TAG, there.id, local, seconds=seconds(_LOOK_S))
        given = {"BASE": local, "COMMIT": commit, "SITE": mine.image_site}
        words = [word for each, value in given.items() for word in ("--build-arg", f"{each}={value}")]
        cure = "sudo journalctl -u sparkrig-build"
        # on trial until it was looked into: the name that counts comes last
        words = ["sh", "-c", BUILD, "sparkrig", *words, "-t", f"{name}-trial", FOLDER]
        long("build", *words, limit=_BUILD_S, cure=cure)
        printed = [
            remote.shell(at, VERIFY, f"{name}-trial", mine.image_site, seconds=seconds(_LOOK_S)),
            remote.shell(at, VERSION, f"{name}-trial", seconds=seconds(_LOOK_S)),
        ]
        try:
            made = build.parse("\n".join(printed).splitlines())
        except ValueError as error:
            raise Refusal(
                str(error), f"docker run --rm --entrypoint cuobjdump {quoted(f'{name}-trial')} --version"
            ) from None
        build.judge(base, made)
        at.log(f"{made.cubins} cubins for Blackwell, vLLM {made.version} as in its base")
        remote.shell(at, f'{_TAG} && docker rmi "$1"', f"{name}-trial", name, seconds=seconds(_LOOK_S))
    remote.shell(at, _TAG, name, mine.image_name, seconds=seconds(_LOOK_S))
    at.log(f"{mine.image_name} is {name}; serve with it: --data serve_image={mine.image_name}")
