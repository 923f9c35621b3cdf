"""The weights of a model: downloaded once, copied over the fabric, and known to be whole."""

from __future__ import annotations

from collections.abc import Mapping

from sparkrig.cure import over_ssh, quoted
from sparkrig.facts.serving import FILES_OF
from sparkrig.host import secrets
from sparkrig.host.trust import plain
from sparkrig.io import remote
from sparkrig.operations.group import STEP_S, Group, long, look, on_all, tell, user
from sparkrig.operations.unit import proxies
from sparkrig.refusal import Refusal
from sparkrig.serving import served
from sparkrig.serving.served import Weights

_WEIGHTS_S = 12 * 3600  # 118 GB, over a slow line; times `patience`

# $1 the image, $2 the folder of all weights, $3 the checkpoint, $4 the file of secrets, $5 the commit to take or
# nothing: then the one that was begun with, else the newest. It goes on where it was, in the commit where it was.
# What the library leaves out are the same weights once more, for other programs than vLLM: gpt-oss-120b has them
# three times. Not the hf tool: huggingface_hub 1.0 reads several --exclude in another way than 0.36 did.
DOWNLOAD = rf"""
set -e
image=$1 weights=$2 checkpoint=$3 secrets=$4 commit=$5
mkdir -p "$weights/$checkpoint"
docker rm -f sparkrig-hf >/dev/null 2>&1 || :
set --
{proxies("--env")}
if [ -e "$secrets" ]; then set -- --env-file "$secrets" "$@"; fi
exec docker run --rm --name sparkrig-hf --network host --volume "$weights:/weights" \
  --env HF_HOME=/weights/.huggingface "$@" --entrypoint python3 "$image" -c 'import sys
from pathlib import Path
from huggingface_hub import HfApi, snapshot_download
name, folder, commit = sys.argv[1:]
begun = Path(folder, "{served.REVISION}")
commit = commit or (begun.read_text().strip() if begun.exists() else "") or HfApi().model_info(name).sha
begun.write_text(commit + "\n")
again = ["original/*", "metal/*", "consolidated*"]
snapshot_download(name, revision=commit, local_dir=folder, ignore_patterns=again)' \
  "$checkpoint" "/weights/$checkpoint" "$commit"
"""

# $1 the folder of the checkpoint: from now on it is known to be whole. Of one that hf downloaded itself, the
# library's own notes tell the commit: the first line of each [@hf-local-folder].
SEAL = (
    "set -e\n"
    + FILES_OF
    + rf"""
cd "$1"
odd=$(find -L . -name '*
*' -print -quit)
if [ -n "$odd" ]; then echo "$1 has a file with a line break in its name" >&2; exit 1; fi
if [ ! -e {served.REVISION} ]; then
  notes=.cache/huggingface/download
  commits=$(find $notes -name '*.metadata' -exec head -qn 1 {{}} + 2>/dev/null | sort -u)
  if printf '%s\n' "$commits" | grep -qxE '[0-9a-f]{{40}}' && [ "$(printf '%s\n' "$commits" | wc -l)" = 1 ]; then
    printf '%s\n' "$commits" >{served.REVISION}
  fi
fi
files_of . >{served.MANIFEST}.new
if [ ! -s {served.MANIFEST}.new ]; then echo "$1 is empty" >&2; exit 1; fi
sync -f {served.MANIFEST}.new
mv {served.MANIFEST}.new {served.MANIFEST}
"""
)

# $1 the user, $2 the peer, $3 the folder of the checkpoint. A file that is there in its size is not copied again;
# one that broke off begins anew. The names are the publisher's: they cross as data, for ssh would hand them to a
# shell, and none leads out of the folder.
COPY_WEIGHTS = rf"""
set -e
there() {{
  printf '%s\0' "$folder/$1" | runuser -u "$user" -- ssh -o BatchMode=yes "$peer" sudo -n xargs -0 cat --
}}
user=$1 peer=$2 folder=$3
mkdir -p "$folder"
cd "$folder"
there {served.MANIFEST} >{served.MANIFEST}.new
path_of() {{ printf './'; printf '%s\n' "$1" | cut -d ' ' -f 2-; }}
while IFS= read -r line; do
  case "$(path_of "$line")/" in
  .//* | */../*) echo "$peer lists a file outside of $folder; nothing was copied" >&2; exit 1 ;;
  esac
done <{served.MANIFEST}.new
while IFS= read -r line; do
  size=$(printf '%s\n' "$line" | cut -d ' ' -f 1) path=$(path_of "$line")
  if [ "$(stat -c %s "$path" 2>/dev/null)" = "$size" ]; then continue; fi
  mkdir -p "$(dirname "$path")"
  there "$path" >"$path.part"
  if [ "$(stat -c %s "$path.part")" != "$size" ]; then echo "$path came in another size" >&2; exit 1; fi
  sync "$path.part"
  mv "$path.part" "$path"
done <{served.MANIFEST}.new
mv {served.MANIFEST}.new {served.MANIFEST}
sync -f .
"""


def weights(group: Group) -> None:
    """The checkpoint on every host that has a part: downloaded once, copied over the fabric."""
    checkpoint, folder = group.wish.checkpoint.id, f"{group.mine.weights}/{group.wish.checkpoint.id}"
    there = {name: found.weights.get(checkpoint) for name, found in look(group).items() if name in group.names}
    _same_commit(folder, there)
    standing = {name: each.standing if each else "absent" for name, each in there.items()}
    for name in (each for each, state in standing.items() if state == "loose"):
        _seal(group, name, folder)
    whole = [name for name, state in standing.items() if state in ("whole", "loose")]
    if not whole:
        _download(group, checkpoint)
        _seal(group, group.head, folder)
        whole = [group.head]
    for name in group.names:
        if name not in whole:
            tell(group, f"copy {checkpoint} from {whole[0]} to {name} over the fabric ...")
            words = ("sh", "-c", COPY_WEIGHTS, "sparkrig", user(group, name), plain(whole[0]), folder)
            long(
                group,
                "weights",
                name,
                words,
                _WEIGHTS_S,
                f"{over_ssh(plain(whole[0]), 'sudo -n true')}, on {name}",
            )


def _same_commit(folder: str, there: Mapping[str, Weights | None]) -> None:
    copies = {name: each for name, each in there.items() if each and each.there}
    if not served.one_revision(copies.values()):
        said = " and ".join(f"{each.revision[:12] or 'an unknown one'} on {name}" for name, each in copies.items())
        *_, last = copies
        raise Refusal(
            f"{folder} is of different commits of the hub: {said}",
            f"sudo mv {quoted(folder, f'{folder}.other')}, on {last}",
        )


def _seal(group: Group, name: str, folder: str) -> None:
    on_all([name], lambda at: remote.shell(at, SEAL, folder, seconds=group.seconds(STEP_S)))


def _download(group: Group, checkpoint: str) -> None:
    there = look(group)[group.head].find(group.wish.image)
    if there is None:
        raise Refusal(f"the image {group.wish.image} is gone", "docker image ls -a")
    tell(group, f"download {checkpoint} ...")
    commit = group.mine.serve_revision or ""
    words = ("sh", "-c", DOWNLOAD, "sparkrig", there.id, group.mine.weights, checkpoint, secrets.PATH, commit)
    cure = "set HF_TOKEN under secrets (docs/security.md), for the hub refuses many downloads without a token"
    long(group, "download", group.head, words, _WEIGHTS_S, cure)
