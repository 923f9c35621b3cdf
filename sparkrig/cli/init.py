"""`sparkrig init`: a folder of the user's own, with inventories, deploys and what must hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import distribution, version
from pathlib import Path
from string import Template

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path
from sparkrig.parsing import bounds
from sparkrig.programs import TEMPLATES
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write, project, terminal
from sparkrig.text import listed

_SOURCE = TEMPLATES / "project"
# names that would count in sparkrig's own repository, too
_NAMES = {
    "gitignore": ".gitignore",
    "github": ".github",
    "README.md.template": "README.md",
    "pyproject.toml.template": "pyproject.toml",
}
_SPARKS = Path("inventories", "sparks.py")
_HERE = TEMPLATES / "here.py.template"
_TESTINFRA = "10.2.2"  # the one that tests/state is written for
_DEPLOY = '''"""{about}

pyinfra inventories/sparks.py deploys/{name}.py
"""

from sparkrig.deploys import run

run("{name}")
'''


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("more", metavar="", nargs=-1)
@click.option(
    "--here", metavar="NAME", help="This machine is a Spark: inventories/sparks.py has it, by this name."
)
@click.option(
    "--from",
    "addresses",
    metavar="ADDRESS...",
    multiple=True,
    help="Sparks to declare as they are found; `here` for this machine.",
)
def init(folder: Path, more: tuple[str, ...], here: str | None, addresses: tuple[str, ...]) -> None:
    """Create a project in DIR: inventories, deploys, tests of the state, and a pin of this version.

    It overwrites nothing. If one of its files is there already with other content, it writes none.

    --here NAME is for a Spark that sparkrig is installed on: it is deployed without ssh, and each other Spark over
    the network.

    --from ADDRESS looks at a Spark, and declares in inventories/sparks.py what is found there: its fabric, whom it
    is joined to, and what else a setting tells. Nothing is written on it.
    """
    if more and not addresses:
        raise click.UsageError(f"Got unexpected extra argument ({more[0]})")
    addresses += more
    with files.refusals():
        made = dict(_project())
        if addresses:
            made[_SPARKS] = _declared(addresses, here)
        if here is not None:
            made[_SPARKS] = Template(_HERE.read_text(encoding="utf-8")).substitute(name=_spark(here))
        _spare(folder, made)
        _write(folder, made)
    terminal.echo(f"{folder} has the {len(made)} files of a project. Next:")
    for line in (f"cd {quoted_path(folder)}", *_next(named=here is not None, declared=bool(addresses))):
        terminal.echo(f"  {line}")


def _next(*, named: bool, declared: bool) -> tuple[str, ...]:
    """What to type in the new project: onboard deploys by itself, and what is declared wants its plan read."""
    deploy = f"pyinfra {_SPARKS} {project.DEPLOY}"
    if declared:
        return f"sparkrig plan {_SPARKS}", deploy
    if named:
        return f"sparkrig doctor {_SPARKS} access", "sparkrig onboard", deploy
    return "sparkrig onboard USER@ADDRESS", f"sparkrig doctor {_SPARKS}"


def _declared(addresses: Sequence[str], here: str | None) -> str:
    """The inventory of Sparks as they are found. Raises Refusal."""
    from sparkrig.ssh import session  # noqa: F401 # isort: skip - it patches the standard library before paramiko is loaded
    from sparkrig.cli import extras
    from sparkrig.onboarding.io import unlisted

    if here is not None:
        raise Refusal(
            "--here and --from are both given", "--from here, which declares this machine as it is found"
        )
    extras.need("onboard")
    return unlisted.declared(addresses, click.get_current_context().command_path, _SPARKS)


def _spark(name: str) -> str:
    """A name that an inventory can have. Raises Refusal."""
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise Refusal(f"{name!r} is no name; letters, digits, - and _ are expected", "--here spark-a")
    return name


def _project() -> Iterator[tuple[Path, str]]:
    """Each file of a project by its path there."""
    for source in sorted(_within(_SOURCE)):
        first, *rest = source.relative_to(_SOURCE).parts
        text = source.read_text(encoding="utf-8")
        if source.suffix == ".template":
            text = Template(text).substitute(version=version("sparkrig"), pin=_pin(), testinfra=_TESTINFRA)
        yield Path(_NAMES.get(first, first), *rest), text
    for name, about in _deploys():
        yield Path("deploys", f"{name}.py"), _DEPLOY.format(name=name, about=about)


def _pin() -> str:
    """This sparkrig, as a dependency has it: the commit that pip installed from git, else the version."""
    origin = bounds.loads(distribution("sparkrig").read_text("direct_url.json") or "{}")
    commit = origin.get("vcs_info", {}).get("commit_id")
    return f" @ git+{origin['url']}@{commit}" if commit else f"=={version('sparkrig')}"


def _within(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those below it, links included."""
    for each in folder.iterdir():
        if not each.is_dir():
            yield each
        elif each.name != "__pycache__":
            yield from _within(each)


def _deploys() -> Iterator[tuple[str, str]]:
    """The name of each deploy that users type, and the first line of what it is."""
    for file in sorted((Path(__file__).parents[1] / "deploys").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "alone(__name__" in text or '__name__ == "builtins"' in text:
            about = ast.get_docstring(ast.parse(text)) or ""
            yield file.stem, about.partition("\n")[0].partition(": pyinfra")[0]


def _spare(folder: Path, made: Mapping[Path, str]) -> None:
    """Raises Refusal where another file would be overwritten; one with the same text may be there."""
    others = [str(name) for name, text in made.items() if _other(folder / name, text)]
    if others:
        shown = [*others[:3], f"{len(others) - 3} more"] if len(others) > 4 else others
        raise Refusal(
            f"{listed(shown)} in {folder} would be overwritten; nothing was written",
            f"sparkrig init {quoted_path(folder / 'sparks')}",
        )


def _other(file: Path, text: str) -> bool:
    try:
        return (file.exists() or file.is_symlink()) and files.differs(file, text)
    except OSError:
        return True


def _write(folder: Path, made: Mapping[Path, str]) -> None:
    """Put the files that are missing where they belong. Raises Refusal where that cannot be done."""
    for name, text in made.items():
        file = folder / name
        atomic_write.folder(file, 0o777)
        if not file.exists():
            atomic_write.create(file, text.encode(), 0o644)
