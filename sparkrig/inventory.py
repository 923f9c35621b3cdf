"""Inventory files, read the way pyinfra reads them, and checked before anything connects."""

from __future__ import annotations

import ast
import logging
import re
import runpy
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from sparkrig import cure, login, settings
from sparkrig.cure import quoted, quoted_path
from sparkrig.fleet import Fleet
from sparkrig.ssh import controller
from sparkrig.terminal import frame, project, terminal
from sparkrig.text import listed, nearest

Host = str | tuple[str, Mapping[str, Any]]

_LONGEST = 253  # characters; a name in DNS has no more (RFC 1035), and a host may be named by its address
_ONBOARDED = "sparks.py"  # as `sparkrig onboard` calls the one that it writes
_SHOWN = 20  # characters of a name that is refused


def checked(hosts: Iterable[Host], inventory: str, group: str = "sparks") -> list[Host]:
    """The hosts of a group as they are, once every setting of theirs has passed.

    inventory: the inventory file (`__file__`), beside which `group_data/` lies; group: the name that the
    inventory gives to the result, for `group_data/GROUP.py`. Raises pyinfra's own error with
    one sentence, so that pyinfra stops with exit code 1 before it connects.
    """
    from pyinfra.api.exceptions import InventoryError

    frame.install()
    members = list(hosts)
    try:
        _judge_outside(Path(inventory))
        data = merged({group: members}, Path(inventory))
        _judge_logins(data, Fleet.parse(data))
    except settings.SettingsError as error:
        missing = f"{login.STRICT} is not set" in str(error) and _without_defaults(inventory)
        raise InventoryError(missing or _to_edit(error, inventory)) from None
    if unknown := _unknown_limit(data, inventory, group):
        raise InventoryError(unknown)
    terminal.clean_pyinfra()
    _explain_connecting(data)
    return members


def _to_edit(error: settings.SettingsError, inventory: str | Path) -> str:
    """The sentence, and where to mend it."""
    said = str(error)
    joint = "" if said.endswith("?") else "."
    file = _source(said, Path(inventory))
    return f"{said}{joint} Edit {file} (sparkrig docs settings explains each setting)"


def _source(said: str, inventory: Path) -> Path:
    """The file that has the setting which a sentence is about: the inventory, or one of its `group_data/`."""
    setting = re.search(r"\bsetting ([a-z_]+)", said)
    shared = inventory.parent / "group_data"
    if not setting or not shared.is_dir() or setting[1] in inventory.read_text(encoding="utf-8", errors="replace"):
        return inventory
    assigned = re.compile(rf"^{setting[1]}\b", re.MULTILINE)
    files = (file for file in sorted(shared.glob("*.py")) if assigned.search(file.read_text(errors="replace")))
    return next(files, inventory)


def _without_defaults(inventory: str) -> str:
    """Why a setting that every inventory has by default is not set, or empty: the folder beside it is missing."""
    folder = Path(inventory).resolve().parent / "group_data"
    if (folder / "all.py").is_file():
        return ""
    return (
        f"{folder}/all.py is missing, which has the default of every setting. Try: sparkrig init new, and then: "
        f"cp -r new/inventories/group_data {quoted_path(folder.parent)}"
    )


def _unknown_limit(names: Iterable[str], inventory: str, group: str) -> str:
    """Why a run of pyinfra would do nothing, and end well: its --limit names no host; empty where it names one.

    An inventory may have other groups and hosts than these, so what its file names is left to pyinfra.
    """
    from pyinfra.context import ctx_state

    if not ctx_state.isset():  # type: ignore[no-untyped-call]
        return ""  # a verb of ours, which has a sentence of its own
    words = sys.argv[1:]
    limits = [after for word, after in pairwise(words) if word == "--limit"]
    limits += [word.removeprefix("--limit=") for word in words if word.startswith("--limit=")]
    known = {*names, group, "all", Path(inventory).stem}
    text = Path(inventory).read_text(encoding="utf-8", errors="replace")
    for limit in limits:
        word = re.escape(limit)
        there = re.search(rf"""["']{word}["']|^{word}\s*=""", text, re.MULTILINE)
        if not there and not any(fnmatch(name, limit) for name in known):
            said = f"--limit {quoted(limit)} names no host of {inventory}; nothing was done"
            return f"{said}. Try: --limit with {listed(sorted(names))}"
    return ""


class _Connecting(logging.Handler):
    """Adds what to do to pyinfra's own line about a host that it cannot connect to.

    pyinfra connects before it reads a deploy file, and drops the callbacks that an inventory registers; its log is
    all that can be heard by then. Where its words change, it stands alone again.
    """

    def __init__(self, data: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(logging.ERROR)
        self.data = data
        self.last: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        from click import unstyle
        from pyinfra.api.exceptions import ConnectError

        error = sys.exc_info()[1]  # the one that pyinfra handles as it writes the line
        line = re.match(r"\s*\[(\S+)\] ", unstyle(record.getMessage()))
        if not isinstance(error, ConnectError) or not line or line[1] not in self.data or error is self.last:
            return  # the last: our own line about it comes here, too
        self.last = error
        from sparkrig.ssh.refused import reason

        name, own = line[1], self.data[line[1]]
        _, refusal = login.hindrance(name, own, reason(name, own, error))
        sentence = f"{refusal.what}. Try: {refusal.cure}"
        frame.SENTENCES.append((name, sentence))
        logging.getLogger(record.name).error(f"[{name}] {sentence}")


def _explain_connecting(data: Mapping[str, Mapping[str, Any]]) -> None:
    from pyinfra.context import ctx_state

    # pyinfra prints why a connection failed; without a handler Python prints the traceback of paramiko, too
    logging.getLogger("paramiko").addHandler(logging.NullHandler())
    if ctx_state.isset():  # type: ignore[no-untyped-call]
        logging.getLogger("pyinfra").addHandler(_Connecting(data))


def stop_together() -> None:
    """Let one failed host stop the whole run, and so the pair, not one host of it.

    pyinfra ignores FAIL_PERCENT in a deploy file; it counts only when an inventory sets it, or
    --fail-percent, which wins over this.
    Outside of a pyinfra run there is nothing to set.
    """
    from pyinfra import config
    from pyinfra.context import ctx_config

    if ctx_config.isset() and config.FAIL_PERCENT is None:  # type: ignore[no-untyped-call]
        config.FAIL_PERCENT = 0


def load(inventory: Path) -> dict[str, dict[str, Any]]:
    """The data of each host of an inventory file, by name, with `group_data/` merged in as pyinfra does.

    Raises settings.SettingsError where the file is missing, cannot stand, or names no host.
    """
    from pyinfra.api.exceptions import InventoryError

    if not inventory.is_file():
        found = f"{inventory} is no file" if inventory.exists() else f"there is no inventory file {inventory}"
        meant = f"; did you mean {near[0]}? Try" if (near := _alike(inventory)) else "; try"
        raise settings.SettingsError(f"{found}{meant}: {_to_find(inventory)}")
    try:
        names = runpy.run_path(str(inventory))
        _judge_outside(inventory)
        groups = {key: value for key, value in names.items() if not key.startswith("_") and _is_group(value)}
        return merged(groups, inventory)
    except settings.SettingsError as error:
        raise settings.SettingsError(_to_edit(error, inventory)) from None
    except InventoryError as error:
        raise settings.SettingsError(str(error)) from None
    except (Exception, SystemExit) as error:  # whatever a file of Python can raise
        raise settings.SettingsError(frame.unreadable(error, str(inventory))) from None


def _alike(inventory: Path) -> list[str]:
    """The file beside it whose name is most like its own, if one is; none for one that is still to be written."""
    beside = [file.name for file in inventory.parent.glob("*.py") if inventory.name != _ONBOARDED]
    near = nearest(inventory.name, beside)
    return [quoted_path(inventory.parent / near)] if near else []


def _to_find(inventory: Path) -> str:
    """The command that shows where an inventory is, or which ones there are, from any folder of a project."""
    here, *above = project.above()
    for folder in above:
        if (folder / inventory).is_file():
            return f"cd {quoted_path(folder)}, where it is"
    if (here / "inventories").is_dir():
        return "ls inventories" + (
            ", or sparkrig onboard, which writes it" if inventory.name == _ONBOARDED else ""
        )
    for folder in above:
        if (folder / "inventories").is_dir():
            return f"ls {quoted_path(folder / 'inventories')}"
    made = "sparkrig init sparks, which makes a project with inventories"
    return f"{made}; sparkrig onboard, typed there, writes {_ONBOARDED}" if inventory.name == _ONBOARDED else made


def fleet(inventory: Path, **overrides: Any) -> tuple[Fleet, dict[str, dict[str, Any]]]:
    """The checked settings of an inventory file, and the pyinfra data of each host, by name.

    overrides: settings of every host that are not None win over the file's. Host keys are checked strictly, also
    where the file leaves that open. Raises settings.SettingsError.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    data = {name: {login.STRICT: "yes", **own, **given} for name, own in load(inventory).items()}
    try:
        found = Fleet.parse(data)
        _judge_logins(data, found)
        return found, data
    except settings.SettingsError as error:
        raise settings.SettingsError(_to_edit(error, inventory)) from None


def _judge_logins(data: Mapping[str, Mapping[str, Any]], found: Fleet) -> None:
    """Refuse what is no login; the commands that are advised take the others. Raises settings.SettingsError."""
    login.judge(data, found)
    cure.LOGINS.update(login.logins(data))


def fleet_of(text: str, inventory: Path, **overrides: Any) -> tuple[Fleet, dict[str, dict[str, Any]]]:
    """The same of an inventory file that has this text, beside the `group_data/` that is there.

    Nothing is written to it. Raises settings.SettingsError.
    """
    with tempfile.TemporaryDirectory(prefix="sparkrig-") as folder:
        trial = Path(folder, inventory.name)
        trial.write_text(text, encoding="utf-8")
        (trial.parent / "group_data").symlink_to(inventory.resolve().parent / "group_data")
        try:
            return fleet(trial, **overrides)
        except settings.SettingsError as error:
            raise settings.SettingsError(str(error).replace(str(trial), str(inventory))) from None


def defaults(inventory: Path) -> dict[str, Any]:
    """The data of `group_data/` beside an inventory, for every host. Raises settings.SettingsError."""
    try:
        return merged({"sparks": ["any"]}, inventory)["any"]
    except Exception as error:  # whatever a file of Python can raise
        folder = inventory.parent / "group_data"
        raise settings.SettingsError(
            f"{folder} cannot be read ({type(error).__name__}: {error}); try: ls {quoted_path(folder)}"
        ) from None


def merged(groups: Mapping[str, Any], inventory: Path) -> dict[str, dict[str, Any]]:
    """Host data over group data (the last group wins) over the data of `all`, as pyinfra ranks them.

    Raises settings.SettingsError for what is no host.
    """
    shared = _group_data(inventory.resolve().parent / "group_data")
    parts = {name: value if isinstance(value, tuple) else (value, {}) for name, value in groups.items()}
    for members, _ in parts.values():
        _judge_names([name for name, _ in map(_named, members)])
    everyone, inline = parts.pop("all", ([host for members, _ in parts.values() for host in members], {}))
    parts.setdefault(inventory.stem, (everyone, {}))  # pyinfra's group of the whole file
    hosts = {name: {**inline, **shared.get("all", {})} for name, _ in map(_named, everyone)}
    for group, (members, data) in parts.items():
        for name, _ in map(_named, members):
            hosts.get(name, {}).update({**data, **shared.get(group, {})})
    for members in (*(members for members, _ in parts.values()), everyone):
        for name, own in map(_named, members):
            hosts.get(name, {}).update(own)
    return hosts


def _judge_outside(inventory: Path) -> None:
    """Refuse a setting that stands beside the list of hosts, where no host gets it and nothing else reads it.

    pyinfra takes a list there for a group, and connects to what is in it. A list of hosts may have any name.
    Raises SettingsError.
    """
    tree = ast.parse(inventory.read_bytes()) if inventory.is_file() else ast.Module([], [])
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    known = {*settings.Settings.model_fields, *login.NAMES} - read - {inventory.stem}  # a group of that name
    for line in tree.body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        outside = [name for name in names if name in known]
        inner = [node for node in ast.walk(line) if isinstance(node, (ast.List, ast.Call))]
        made = any(isinstance(node, ast.Call) or ast.Tuple in map(type, node.elts) for node in inner)
        if outside and not made:
            name = outside[0]
            raise settings.SettingsError(
                f'line {line.lineno} sets {name} for no host: it is expected among the data of one, as "{name}": '
                f"..., or in group_data/sparks.py for all, as it stands"
            )


def _is_group(value: Any) -> bool:
    """Whether a name of an inventory file is a list of hosts, or a tuple of one and its data.

    One member that looks like a host makes it one, so that a slip among the others is an error.
    """
    members = value[0] if isinstance(value, tuple) and value else value
    return isinstance(members, list) and (
        not members or any(isinstance(member, (str, tuple)) for member in members)
    )


def _named(host: Host) -> tuple[str, Mapping[str, Any]]:
    match host if isinstance(host, tuple) else (host, {}):
        case (str(name), Mapping() as own) if name.strip():
            bare, said = login.named(name, controller.user())
            _judge_name(bare)
            return bare, {**own, **said}
    raise settings.SettingsError(
        f'the inventory names {host!r}; a host is expected, such as "spark-a" or ("spark-a", {{"pair": "left"}})'
    )


def _judge_name(name: str) -> None:
    """It stands in every report, in journals of the hosts and in file names."""
    if len(name) > _LONGEST or not name.isprintable():
        shown = f"{name[:_SHOWN]!r}{'...' if len(name) > _SHOWN else ''}"
        raise settings.SettingsError(
            f"the inventory names a host {shown}; a name of 1 to {_LONGEST} characters on one line, without "
            "control characters, is expected"
        )


def _judge_names(names: list[str]) -> None:
    """A host may be in several groups; one that stands twice in one of them would lose half of its data."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise settings.SettingsError(f"{twice[0]} stands twice in the inventory; each Spark has a name of its own")


def _group_data(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        file.stem: {key: value for key, value in runpy.run_path(str(file)).items() if _is_data(key, value)}
        for file in sorted(folder.glob("*.py"))
    }


def _is_data(key: str, value: Any) -> bool:
    """Whether a name of a group_data file is data, and not something that it imported."""
    return not key.startswith("__") and not callable(value) and not isinstance(value, ModuleType)
