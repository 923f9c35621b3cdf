"""Building the image with injected kernels on one host, as a unit that outlives the connection."""

from __future__ import annotations

from dataclasses import dataclass

from pyinfra import host
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig import programs
from sparkrig.cure import quoted
from sparkrig.facts.serving import Serving as ServingFact
from sparkrig.files import File
from sparkrig.host.images import Image
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

# In seconds, times `patience`.
_LOOK_S = 300
_PULL_S = 4 * 3600
_BUILD_S = 6 * 3600  # the article's took 90 minutes

_TAG = 'docker tag "$1" "$2"'

BUILD = programs.text("operations/build.sh")

VERSION = programs.text("operations/build_version.sh")

VERIFY = programs.text("operations/build_verify.sh")


def recipe() -> dict[str, str]:
    """The files that the image is built of, by name."""
    return {name: programs.file(f"image/{name}") for name in ("Dockerfile", "prepare.py")}


@operation()
@refusing
@recorded
def injected(found: Serving, settings: Settings) -> Commands:
    """Build vLLM's image with kernels for SM121, look into it, and give it the name in the settings.

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


@dataclass(frozen=True)
class _Builder:
    """One host on which an image is built. Its methods raise Refusal, Failed or Lost."""

    at: Host
    mine: Settings

    def seconds(self, base: int) -> int:
        return int(base * self.mine.patience)

    def long(self, name: str, *words: str, limit: int, cure: str) -> None:
        """Run a step of minutes as a unit, which outlives the connection. name: `pull` or `build`."""
        self.at.log(f"{name} {words[-1]} ...")
        unit.carry_out(self.at, name, *words, seconds=self.seconds(limit), cure=cure)

    def shell(self, script: str, *words: str) -> str:
        return remote.shell(self.at, script, *words, seconds=self.seconds(_LOOK_S))

    def find(self, image: str) -> Image | None:
        seen = remote.read(self.at, ServingFact(), self.mine.weights, seconds=self.seconds(_LOOK_S))
        return seen.find(image)

    def base(self) -> Base:
        """The image to build on, pulled where it is not there."""
        name = self.mine.image_base
        if self.find(name) is None:
            self.long("pull", "docker", "pull", "-q", name, limit=_PULL_S, cure="--data image_base=IMAGE")
        there = self.find(name)
        if there is None:
            raise Refusal(f"{name} was pulled and is not there", "docker image ls -a")
        said = self.shell(VERSION, there.id, programs.file("vllm_version.py"))
        return Base(there.id, said.partition("version ")[2].strip())

    def build(self, base: Base, trial: str) -> None:
        """Build the image under a name on trial."""
        commit = build.commit(base, self.mine.image_commit)
        files = [File(f"{FOLDER}/{each}", text) for each, text in recipe().items()]
        remote.execute(self.at, write(*files), self.seconds(_LOOK_S))
        # BuildKit takes no image by its ID [@buildkit-2204]
        local = build.base_tag(base.id)
        self.shell(_TAG, base.id, local)
        given = {"BASE": local, "COMMIT": commit, "SITE": self.mine.image_site}
        words = [word for each, value in given.items() for word in ("--build-arg", f"{each}={value}")]
        words = ["sh", "-c", BUILD, "sparkrig", *words, "-t", trial, FOLDER]
        self.long("build", *words, limit=_BUILD_S, cure="sudo journalctl -u sparkrig-build")

    def verify(self, base: Base, trial: str) -> None:
        """Look into the image on trial."""
        version = programs.file("vllm_version.py")
        printed = [self.shell(VERIFY, trial, self.mine.image_site), self.shell(VERSION, trial, version)]
        try:
            made = build.parse("\n".join(printed).splitlines())
        except ValueError as error:
            cure = f"docker run --rm --entrypoint cuobjdump {quoted(trial)} --version"
            raise Refusal(str(error), cure) from None
        build.judge(base, made)
        self.at.log(f"{made.cubins} cubins for Blackwell, vLLM {made.version} as in its base")


def _carry_out(at: Host, mine: Settings) -> None:
    """Build, verify and name the image; its name that counts comes last."""
    builder = _Builder(at, mine)
    base = builder.base()
    name = build.tag(base.id, mine.image_commit, recipe())
    if builder.find(name) is None:
        trial = f"{name}-trial"
        builder.build(base, trial)
        builder.verify(base, trial)
        builder.shell(f'{_TAG} && docker rmi "$1"', trial, name)
    builder.shell(_TAG, name, mine.image_name)
    at.log(f"{mine.image_name} is {name}; serve with it: --data serve_image={mine.image_name}")
