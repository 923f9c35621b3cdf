"""The weights of a model: downloaded once, copied over the fabric, and known to be whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from gevent import sleep, spawn
from pyinfra import inventory

from sparkrig import programs
from sparkrig.cure import over_ssh, quoted
from sparkrig.files import SECRETS_FILE
from sparkrig.operations.group import STEP_S, Group, copied, long, look, on_all, tell, user
from sparkrig.refusal import Refusal
from sparkrig.runs.applied import PROGRESS
from sparkrig.serving import copies, draft, served
from sparkrig.serving.served import Weights
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.text import bare_name, listed, plain

_WEIGHTS_S = 12 * 3600  # 118 GB, over a slow line; times `patience`
_PULSE_S = 3
_PROGRESS = ".sparkrig-files.progress"  # beside the weights (templates/download_weights.py)
_LOOK = 'head -c 300 -- "$1" 2>/dev/null || :'

DOWNLOAD = programs.text("operations/weights_download.sh")

SEAL = programs.text("operations/weights_seal.sh")

COPY_WEIGHTS = programs.text("operations/weights_copy_weights.sh")


def weights(group: Group) -> None:
    """The checkpoint, and that of its draft model, on every host that has a part."""
    for checkpoint in group.wish.ids:
        _on_all(group, checkpoint)


def _on_all(group: Group, checkpoint: str) -> None:
    """Downloaded once, copied over the fabric."""
    folder = f"{group.mine.weights}/{checkpoint}"
    there = {name: serving.weights.get(checkpoint) for name, serving in look(group).items() if name in group.names}
    _same_commit(folder, there)
    standing = {name: each.standing if each else "absent" for name, each in there.items()}
    for name in (each for each, state in standing.items() if state == "loose"):
        _seal(group, name, folder)
    whole = [name for name, state in standing.items() if state in ("whole", "loose")]
    if not whole and checkpoint == group.wish.draft and draft.by_hand(group.mine):
        raise Refusal(
            f"{folder} of serve_draft is not there any more", over_ssh(group.head, f"ls -l {quoted(folder)}")
        )
    if not whole:
        _download(group, checkpoint)
        _seal(group, group.head, folder)
        whole = [group.head]
    lacking = [name for name in group.names if name not in whole]

    def words(source: str, name: str) -> Sequence[str]:
        return ("sh", "-c", COPY_WEIGHTS, "sparkrig", user(group, name, source), bare_name(source), folder)

    for pairs in copies.rounds(whole, lacking, switched=group.switched):
        copied(group, "weights", checkpoint, pairs, words, _WEIGHTS_S)


def _same_commit(folder: str, there: Mapping[str, Weights | None]) -> None:
    copies = {name: each for name, each in there.items() if each and each.there}
    if served.one_revision(copies.values()):
        return
    owners: dict[str, list[str]] = {}
    for name, each in copies.items():
        owners.setdefault(each.revision, []).append(name)
    said = " and ".join(f"{at[:12] or 'an unknown one'} on {listed(names)}" for at, names in owners.items())
    most = max(filter(None, owners), key=lambda at: len(owners[at]))  # of equals that of the first host
    odd = [name for at, names in owners.items() if at not in ("", most) for name in names]
    raise Refusal(
        f"{folder} is of different commits of the hub: {said}",
        f"sudo mv {quoted(folder, f'{folder}.other')}, on {listed(odd)}",
    )


def _seal(group: Group, name: str, folder: str) -> None:
    on_all([name], lambda at: remote.shell(at, SEAL, folder, seconds=group.seconds(STEP_S)))


def _download(group: Group, checkpoint: str) -> None:
    there = look(group)[group.head].find(group.wish.image)
    if there is None:
        raise Refusal(f"the image {group.wish.image} is gone", "docker image ls -a")
    tell(group, f"download {checkpoint} ...")
    commit = (group.mine.serve_revision or "") if checkpoint == group.wish.checkpoint.id else ""
    given = (there.id, group.mine.weights, checkpoint, SECRETS_FILE, commit)
    words = ("sh", "-c", DOWNLOAD, "sparkrig", *given, programs.file("download_weights.py"))
    cure = (
        "set HF_TOKEN under secrets (sparkrig docs security), for the hub refuses many downloads without a token"
    )
    watching = spawn(_tell_progress, group, f"{group.mine.weights}/{checkpoint}/{_PROGRESS}")
    try:
        long(group, "download", group.head, words, _WEIGHTS_S, cure)
    finally:
        watching.kill()


def _tell_progress(group: Group, file: str) -> None:
    """Tell each percent of a download, as its program notes it, until it is killed."""
    at, told = inventory.get_host(group.head), ""
    while True:
        sleep(_PULSE_S)
        with suppress(Failed, Lost):  # the download itself says what is wrong
            text = plain(remote.shell(at, _LOOK, file, seconds=group.seconds(STEP_S)))
            found = PROGRESS.match(text)
            if found and found[1] != told:
                told = found[1]
                tell(group, text)
