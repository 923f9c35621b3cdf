"""`sparkrig models`: which models fit one Spark, a pair or more, and all that is known of one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sparkrig.cli import files
from sparkrig.cure import quoted
from sparkrig.refusal import Refusal
from sparkrig.serving.purposes import PURPOSES, meant
from sparkrig.terminal import terminal
from sparkrig.text import listed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkrig.serving.budget import Use
    from sparkrig.serving.lint.judgement import Finding
    from sparkrig.serving.model import Catalogue, Model, Nodes

_Verb = TypeVar("_Verb", bound=Callable[..., Any])
_INDENT = "  "  # of a line that is folded
_OPTION = {"as_json": "json", "purpose": "for"}
_OPTIONS = (
    click.option("--context", type=click.IntRange(min=1), help="Longest sequence, in tokens. [default: 32768]"),
    click.option(
        "--sequences",
        type=click.IntRange(min=1),
        help="Number of sequences of that length at a time. [default: 4]",
    ),
    click.option(
        "--utilization",
        type=click.FloatRange(0, 1, min_open=True),
        help="Share of the memory that vLLM may use. [default: 0.85]",
    ),
    click.option(
        "--memory", type=click.FloatRange(0, min_open=True), help="Memory of each Spark, in GiB. [default: 121.6]"
    ),
    click.option("--kv-cache", type=click.Choice(["fp8", "bf16"]), help="Format of the KV cache. [default: fp8]"),
    click.option(
        "--draft", type=click.IntRange(min=0), help="Tokens that the model's own draft head proposes. [default: 0]"
    ),
    click.option(
        "--sparks",
        type=click.IntRange(1, 8),
        help="Number of Sparks of a cluster, shown beside one and two. [default: 2]",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/models.json)."),
)


def _asked(verb: _Verb) -> _Verb:
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


class _Name(click.types.StringParamType):
    """The name of a model, which a shell completes by the names of the files."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        from sparkrig.serving.io import catalogue_files

        mine = catalogue_files.own()
        try:
            known = {*catalogue_files.names(), *(catalogue_files.names(mine) if mine else ())}
        except Refusal:  # a shell has no place for the sentence; the verb says it
            return []
        return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete.lower())]


class _Models(click.Group):
    """A group where a model may be named without `show`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


@click.group(cls=_Models, invoke_without_command=True)
@click.option(
    "--for",
    "purpose",
    metavar="PURPOSE",
    type=click.Choice(tuple(PURPOSES)),
    help=f"Only models for that: {listed(PURPOSES)}.",
)
@_asked
@click.pass_context
def models(ctx: click.Context, /, purpose: str | None, as_json: bool, **asked: Any) -> None:
    """Show which models fit one Spark, which need a pair or more (--sparks), and which fit none of these.

    It asks no host. The numbers come from the catalogue in models/, each with its source. What remains for the KV
    cache is computed from the model's shape; the options say how you want to serve it. Exit code 2: a recipe that
    `show` was given would start on no Spark.
    """
    if ctx.invoked_subcommand:
        _must_be_typed_behind(ctx)
        return
    sizes, use, known = _sizes(asked), _use(asked), files.catalogue()
    every = [model for model in known.models.values() if purpose is None or meant(model, purpose)]
    if as_json:
        _print(use, known, every, sizes)
        return
    from sparkrig.serving.render.models import Listing
    from sparkrig.terminal.screen import Screen

    Screen().print(Listing(every, use, sizes))
    files.say_age()


@models.command(
    short_help="Show what is known of one model, or whether a recipe would start.",
    epilog="\b\nExample: sparkrig models show Qwen/Qwen3-8B --context 32768 --save",
)
@click.argument("name", type=_Name())
@click.option("--save", is_flag=True, help="Write what is computed into models/ of the project.")
@click.option("--id", "id_", metavar="OWNER/NAME", help="Name of the checkpoint, where NAME is a folder.")
@_asked
def show(name: str, save: bool, id_: str | None, as_json: bool, **asked: Any) -> None:
    """Show what is known of one model: memory, checkpoints, launches, figures, contested claims.

    NAME is a model, or one of its checkpoints on Hugging Face; for a checkpoint, the memory shown is its own.

    A checkpoint that is not in the catalogue is computed from its own small files, and is not verified by anyone:
    NAME is then OWNER/NAME on the hub, or a folder. For one that is not public, set HF_TOKEN in the environment.

    Where NAME is the file of a recipe (FILE, or FILE#VARIANT), it shows whether it would start on one Spark and on
    several, and all that it runs in its container. Exit code 2: it would start on none.
    """
    from sparkrig.serving.io import computed

    recipe = Path(name.partition("#")[0])
    if recipe.is_file() or (recipe.suffix in (".yaml", ".yml") and not recipe.is_dir()):
        _recipe(name, {**asked, "save": save, "id": id_, "json": as_json})
        return
    known = files.catalogue()
    with files.refusals():
        model = computed.kept(name, known) if id_ is None else None
        if model and save:
            raise Refusal(
                f"{model.name} is in the catalogue already", f"sparkrig models show {quoted(model.name)}"
            )
        further = _served(model.name) if model and not model.obstacle else ""
        if model is None:
            model, revision = computed.model(name, id_, known)
            known = known.model_copy(update={"models": {model.name: model, **known.models}})
            further = _served(model.best().id) if save else f"{computed.shown(name, id_)} --save"
            if save:
                terminal.echo(f"Saved as {computed.save(model, revision)}.", err=True)
    use, sizes = _use(asked, model.context if model.assumed else None), _sizes(asked, model.nodes)
    if as_json:
        _print(use, known, [model], sizes)
    else:
        _page(name, model, known, use, sizes, further)


def _page(name: str, model: Model, known: Catalogue, use: Use, sizes: Sequence[Nodes], further: str) -> None:
    """All of one model. further: the command to type next."""
    from rich.text import Text

    from sparkrig.serving.render.models import Page
    from sparkrig.terminal.screen import Screen

    screen = Screen()
    screen.print(Page(model, model.checkpoint(name), known.sources, use, sizes))
    if further:
        screen.print(Text.assemble("\nNext: ", (further, "bold")), soft_wrap=True)
    files.say_age()


@models.command(
    short_help="Take newer tables of models, rules and flags.",
    epilog="\b\nExample: sparkrig models update sparkrig-main.tar.gz",
)
@click.argument("source", required=False, envvar="SPARKRIG_TABLES")
@click.option("--back", is_flag=True, help="Use the tables from before the last update again.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def update(source: str | None, back: bool, yes: bool) -> None:
    """Take newer tables: the catalogue of models, the rules of lint, and the flags of vLLM.

    SOURCE is a folder, an archive (.tar.gz, .zip) or the https address of one, such as a newer sparkrig; without
    it, what the variable SPARKRIG_TABLES of the environment names. It checks the tables, shows what they change,
    and asks. Every verb and deploy that you run then reads them, until a newer sparkrig carries newer ones. They
    name the images that your Sparks will start, so take them only from someone you trust. Exit code 1: declined,
    or refused; the tables from before are then in use.
    """
    from sparkrig.serving.io import taken_tables

    before = taken_tables.state()
    with files.interruptible(lambda: "" if taken_tables.state() == before else "the other tables are in use"):
        if back:
            _go_back()
        else:
            _take(source, yes=yes)


def _take(source: str | None, *, yes: bool) -> None:
    from sparkrig.serving.io import catalogue_files, table_update
    from sparkrig.serving.tables import changes

    if not source:
        raise click.ClickException("no SOURCE is named. Try: sparkrig models update FOLDER")
    files.must_answer(yes)
    if "://" in source and sys.stderr.isatty():
        terminal.echo(f"Fetching {source} ...", err=True)
    with files.refusals():
        offer = table_update.offer(source)
        now = table_update.loaded(catalogue_files.used())
    lines = [*changes(now, offer.tables)]
    if not lines:
        terminal.echo(f"The tables in use, of {now.day}, hold the same.")
        return
    for line in (f"In use: tables of {now.day}. Offered: tables of {offer.tables.day}.", *lines):
        terminal.echo(line)
    if not (yes or files.agreed("Use them?")):
        raise SystemExit(1)
    with files.refusals():
        table_update.take(offer)
    terminal.echo(f"In use: tables of {offer.tables.day}. Go back with: sparkrig models update --back")


def _go_back() -> None:
    from sparkrig.serving.io import catalogue_files, table_update

    with files.refusals():
        taken = table_update.back()
        folder = catalogue_files.used()
    whose = f"from {taken.source}" if taken and folder == taken.folder else "that sparkrig carries"
    terminal.echo(f"In use: tables of {catalogue_files.newest(folder)}, {whose}.")


def _recipe(name: str, asked: dict[str, Any]) -> None:
    """Whether a recipe would start; its own values decide on what the options ask for a model."""
    from sparkrig import cure
    from sparkrig.fleet import Fleet
    from sparkrig.refusal import Refusal
    from sparkrig.serving import plan, recipe_report
    from sparkrig.serving.io import recipe_file
    from sparkrig.serving.wish import Wish

    if given := [option for option, value in asked.items() if value and option != "sparks"]:
        raise click.UsageError(f"--{given[0].replace('_', '-')} is not for a recipe, whose own values count")
    known = files.catalogue()
    try:
        recipe = recipe_file.read(name)
    except Refusal as refusal:
        _say([(f"{refusal.what}.", refusal.cure)])
        sys.exit(2)
    rules, tables = files.lint_rules(), files.flag_tables()
    cure.AGAIN[0] = f"sparkrig serve INVENTORY {quoted(name)}"

    def lint(wish: Wish) -> list[Finding]:  # of an image that was not looked into, as a deploy that has to pull it
        return plan.lint_of(wish, known.find, "multinode", None, "aarch64", rules, tables)

    mine = Fleet.parse({"x": {}})["x"]
    told, programs, starts = recipe_report.page(recipe, known.find, mine, _sizes(asked), lint)
    _say(told)
    if programs:  # as they are
        terminal.echo("\n".join(programs))
    if not starts:
        sys.exit(2)


def _say(told: Iterable[tuple[str, str]]) -> None:
    """Sentences, each with what to try; on a screen that begins on a line of its own, and no command is broken."""
    from sparkrig.render.folded import cured, wrapped
    from sparkrig.terminal.screen import Screen

    screen = Screen()
    for line, cure in told:
        if screen.has_width:
            tried = cured(cure, screen.width, f"{_INDENT}Try: ", _INDENT) if cure else []
            lines = [*wrapped(line, screen.width, "", _INDENT), *tried]
        else:
            lines = [f"{line} Try: {cure}" if cure else line]
        screen.print("\n".join(lines), soft_wrap=True)


def _served(model: str) -> str:
    return f"sparkrig serve INVENTORY {quoted(model)}"


def _must_be_typed_behind(ctx: click.Context) -> None:
    """An option before `show` would be lost silently."""
    given = [name for name, value in ctx.params.items() if value]
    if given:
        option = "--" + _OPTION.get(given[0], given[0]).replace("_", "-")
        raise click.UsageError(f"{option} belongs behind NAME.", ctx)


def _use(asked: dict[str, Any], longest: int | None = None) -> Use:
    """longest: tokens that the context has at the most, where it is not asked for."""
    from sparkrig.serving.budget import Use

    names = {"kv_cache": "kv", "draft": "drafted"}
    given = {name: value for name, value in asked.items() if value is not None and name != "sparks"}
    if longest:
        given.setdefault("context", min(Use.context, longest))
    return Use(**{names.get(name, name): value for name, value in given.items()})


def _sizes(asked: dict[str, Any], needed: int = 2) -> tuple[Nodes, ...]:
    """The numbers of Sparks that are shown: one, two, and that of a larger cluster, as asked for or needed."""
    from typing import get_args

    from sparkrig.serving.model import Nodes

    sparks = asked["sparks"] or needed
    return tuple(each for each in get_args(Nodes) if each in (1, 2) or each == sparks)


def _print(use: Use, known: Catalogue, chosen: Iterable[Model], sizes: Sequence[Nodes]) -> None:
    from sparkrig.serving.catalogue_report import report

    files.print_json(report(use, known, chosen, sizes))
