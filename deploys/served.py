"""One call of `sparkrig serve`: what was typed, what was seen, the run of pyinfra, and the first question.

`deploys/serve.py` judges by the same `Server`, and looks at the hosts once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
from sparkrig import cure, login
from sparkrig import inventory as inventories
from sparkrig.checks import server_plan
from sparkrig.checks.server import Server, Sources
from sparkrig.checks.server_plan import Planned
from sparkrig.cure import is_here, local, quoted_path, verb
from sparkrig.deploys.spark import Spark
from sparkrig.fleet import Fleet
from sparkrig.operations import applying, looking, serving
from sparkrig.operations.subject import over
from sparkrig.parsing import hub
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from sparkrig.runs.applied import Applied
from sparkrig.serving import listen, plan, smoke
from sparkrig.serving.client import Client
from sparkrig.serving.io import catalogue_files, lint_rules, recipe_file, vllm_flags
from sparkrig.serving.model import Catalogue, Model
from sparkrig.serving.purposes import Proposal, proposed
from sparkrig.serving.runtimes import runtime
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.settings import SettingsError
from sparkrig.terminal import atomic_write, private_file, project
from sparkrig.text import bare_name, listed

_KEYS = "~/.config/sparkrig/keys"  # on this machine: a file for the first host of each server
SERVE, _SECRETS = "deploys/serve.py", "deploys/secrets.py"
_MEANWHILE = ("sparkrig.facts.spark", "sparkrig.serving.io.vllm_flags", "sparkrig.terminal.screen")


@dataclass(frozen=True)
class Said:
    """What a server answered. path: where it was asked; amiss: what is wrong with it; lost: it was not asked."""

    text: str = ""
    path: str = ""
    amiss: str = ""
    lost: bool = False


@dataclass(frozen=True)
class Ended:
    """A run of pyinfra that did not get to its end. back: whether what it changed was put back."""

    applied: Applied
    deploy: str
    back: bool

    def said(self, inventory: Path, again: str) -> str:
        """How it stands, and the one command to type. again: what was typed."""
        if self.back:
            return f"Changed and rolled back; what served before serves, if anything did. Try: {verb('status')}"
        return self.applied.ended(quoted_path(project.as_typed(inventory)), again, self.deploy)


@dataclass
class Run:
    """What was typed, and what was seen.

    given: the settings that are for this run alone, as pyinfra's --data has them; lan: whether the management
    network is to be answered, with a key; text: of the inventory; began: whether anything was done.
    """

    inventory: Path
    data: Mapping[str, dict[str, Any]]
    known: Catalogue
    given: dict[str, Any]
    lan: bool = False
    seen: Mapping[str, State] = field(default_factory=dict)
    began: bool = False

    def __post_init__(self) -> None:
        self.text = atomic_write.read(self.inventory)

    @property
    def name(self) -> str:
        """Of the service; empty for the one without."""
        return str(self.given.get("serve_name", ""))

    @property
    def named(self) -> bool:
        """Whether it is known what is served: it was typed or chosen, or the inventory declares it."""
        declared = not self.name and any(own.get("model") or own.get("recipe") for own in self.data.values())
        return declared or bool({"model", "recipe"} & self.given.keys())

    # --- before any connection

    def _fleet(self, **more: Any) -> Fleet:
        """more: settings beside those of this run. Raises Refusal."""
        data = {}
        for name, own in self.data.items():
            keys = {"secrets": self._secrets(own)} if self.lan else {}
            data[name] = {**own, **self.given, **keys, **more}
        try:
            return Fleet.parse(data)
        except SettingsError as error:
            raise Refusal(str(error), local("sparkrig docs settings")) from None

    def _secrets(self, own: Mapping[str, Any]) -> dict[str, str]:
        first = bare_name(next(iter(self.data))).replace("/", "-")
        return {listen.KEY: f"file:{_KEYS}/{first}", **own.get("secrets", {})}

    @cached_property
    def makes_key(self) -> bool:
        """Whether the key is one that the inventory does not name yet."""
        return self.lan and any(listen.KEY not in own.get("secrets", {}) for own in self.data.values())

    def judge(self) -> None:
        """Raise Refusal for what the catalogue alone refuses, and where the inventory cannot take the key."""
        if self.makes_key:
            self.edited()
        fleet = self._fleet()
        wanted = self.given.get("model") or next((fleet[name].model for name in fleet if fleet[name].model), None)
        if wanted and not self.known.find(wanted) and not hub.ID.fullmatch(wanted):
            near = self.known.near(wanted)
            more = f", or {listed(near[1:])}" if near[1:] else ""
            way = verb("serve", near[0]).then(more) if near else local("sparkrig models")
            raise Refusal(f"the catalogue has no model {wanted}", way)
        for group in fleet.groups() if self.named else ():
            mine = fleet[group[0]]
            plan.wish(self.known.find, mine, len(group), self._sources.recipe(mine.recipe))

    def edited(self) -> str:
        """The text of the inventory with the source of the key. Raises Refusal where it cannot be edited."""
        from sparkrig import inventory_file

        text = self.text
        for name, own in self.data.items():
            text = inventory_file.with_data(text, name, {"secrets": self._secrets(own)})
        try:
            inventories.fleet_of(text, self.inventory)
        except SettingsError as error:
            raise Refusal(str(error), "the setting secrets by hand (sparkrig docs serving)") from None
        return text

    # --- what was seen

    def look(self) -> dict[str, str]:
        """Look at all hosts; why some could not be read, by host."""
        fleet, title = self._fleet(), f"Looking at {self.inventory.name}"
        self.seen, unread = looking.look(title, fleet, self.data, _MEANWHILE, wait_s=None, serving=True)
        return {name: login.hindrance(name, self.data[name], why)[1].what for name, why in unread.items()}

    @cached_property
    def _sources(self) -> Sources:
        """What servers are judged by beside the hosts, each read once."""
        folder = catalogue_files.own(self.inventory)
        return Sources(
            find=self.known.find,
            recipe=cache(lambda named: recipe_file.read(named) if named else None),
            rules=cache(lambda: lint_rules.rules(folder)),
            tables=cache(lambda: vllm_flags.knowledge(folder)),
            host=lambda _: None,
            typed=lambda: (),
        )

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Of each host that was looked at. Raises Refusal."""
        return self._judged()

    def give(self, settings: Mapping[str, Any]) -> None:
        """Take more settings for this run alone."""
        if settings:
            self.given |= settings
            self.__dict__.pop("servers", None)

    def _judged(self, **more: Any) -> dict[str, Server]:
        """more: settings beside those of this run. Raises Refusal."""
        fleet, typed = self._fleet(**more), {**self.given, **more}
        sparks = {name: Spark(name, fleet, over(state, fleet[name])) for name, state in self.seen.items()}
        beside = replace(self._sources, host=sparks.get, typed=lambda: typed)
        return {name: Server(spark, beside, fleet[name].serve_name) for name, spark in sparks.items()}

    @property
    def leaders(self) -> list[Server]:
        """Those of the hosts that answer, or would."""
        return _leading(self.servers)

    def proposed(self, purpose: str) -> list[Proposal]:
        """Models that each host has room for."""

        def fit(model: Model) -> tuple[Wish, Sizing]:
            servers = self._judged(model=model.name)
            for refusal in (each for server in servers.values() for each in server.refusals()):
                raise refusal
            first = _leading(servers)[0]
            return first.wish, first.sizing

        return proposed(self.known.models.values(), purpose, fit)

    def find_ports(self) -> None:
        """Give a named server that is new ports of its own."""
        for server in self.leaders:
            self.give(server_plan.ports(server))

    def refusals(self) -> dict[str, list[str]]:
        """Why hosts could not do their part: each sentence with the hosts that it is of."""
        found: dict[str, list[str]] = {}
        for name, server in self.servers.items():
            for refusal in server.refusals():
                found.setdefault(f"{refusal.what}. Try: {refusal.cure}", []).append(name)
        if self.lan and not found:
            for server in self.leaders:
                if not listen.asks(server.mine):
                    engine = runtime(server.mine.serve_engine).name
                    why = f"{engine} takes no key, and --lan answers with one. Try: the same without --lan"
                    found.setdefault(why, []).append(server.host.name)
        return found

    @property
    def serving(self) -> bool:
        """Whether the hosts have a record of a server, which then is served again."""
        return all(server.record for server in self.leaders)

    @property
    def settled(self) -> bool:
        return not self.makes_key and all(server.settled for server in self.servers.values())

    def planned(self, server: Server) -> Planned:
        """What would be done. Raises Refusal where it cannot be served."""
        warnings = [*server.told()]
        if other := self.other(server):
            warnings.append(f"{self.inventory} declares {other}; drift says so until it has this model")
        return server_plan.planned(server, self.known.sources, self.client(server), warnings)

    # --- the run

    def carry_out(self) -> Ended | None:
        """Make the key and name it, and run pyinfra; None where that got to its end. Raises Refusal."""
        if atomic_write.read(self.inventory) != self.text:
            raise Refusal(f"{self.inventory} was changed meanwhile, and nothing was done", cure.AGAIN[0])
        self.began = True
        if self.makes_key:
            source = self._secrets({})[listen.KEY].partition(":")[2]
            private_file.make_key(Path(source).expanduser())
            atomic_write.write(self.inventory, self.edited())
        lacks = any(
            listen.asks(server.mine) and not server.goes and listen.KEY not in server.host.found.secrets.names
            for server in self.servers.values()
        )
        return (self._pyinfra(_SECRETS, {}) if lacks else None) or self._pyinfra(SERVE, self.given)

    def _pyinfra(self, deploy: str, given: Mapping[str, Any]) -> Ended | None:
        began = applying.now()
        words = ["-y", str(self.inventory), str(project.root(self.inventory) / deploy), *applying.data(given)]
        code, applied = applying.run(words, [*self.data])
        if code == 0 and applied.whole:
            return None
        return Ended(applied, deploy, bool(applied.failed) and applying.rolled_back(self.data, began))

    # --- afterwards

    def first_answer(self, server: Server) -> Said:
        """Ask the server one question on its own host, where its key is."""
        name, names = server.host.name, server.wish.called
        port = server.mine.serve_port
        asked, title = {name: self.data[name]}, "Asking the first question"
        answer = session.asked(asked, title, lambda at: serving.ask(at, port, names[0]))[name]
        if isinstance(answer, Exception):
            return Said(amiss=f"it could not be asked ({answer})", lost=True)
        path, printed = answer
        amiss = smoke.amiss(printed, names)
        return Said(amiss=amiss) if amiss else Said(smoke.answer(printed), path)

    def client(self, server: Server) -> Client:
        mine = server.mine
        places = [each.rpartition(":")[0] for each in server.at()]
        address = next((each for each in places if each != "127.0.0.1"), "127.0.0.1")
        if address == "*":
            address = login.address(server.host.name, self.data[server.host.name])
        key = mine.secrets.get(listen.KEY, "") if listen.asks(mine) else ""
        return Client(f"http://{address}:{mine.serve_port}/v1", server.wish.called[0], key)

    def tunnel(self, server: Server) -> str:
        """How this machine reaches a server that answers its own host alone; empty where it needs nothing."""
        name = server.host.name
        if listen.place(server.mine) != listen.LOCAL or is_here(name):
            return ""
        return listen.way(server.mine, name, login.address(name, self.data[name]))

    def other(self, server: Server) -> str:
        """The model that the inventory declares, where it is another one than is served here."""
        declared = self.data[server.host.name].get("model")
        if self.name or not declared:
            return ""
        found = self.known.find(declared)
        return "" if not server.goes and found and found.name == server.wish.model.name else str(declared)


def _leading(servers: Mapping[str, Server]) -> list[Server]:
    return [server for name, server in servers.items() if server.group[0] == name]
