"""The weights of a model: downloaded once, copied over the fabric, and known to be whole."""

from __future__ import annotations

from facts.serving import FILES_OF
from operations import remote
from operations.group import STEP_S, Group, long, look, on_all, tell, user
from operations.unit import proxies
from sparkrig import secrets
from sparkrig.refusal import Refusal
from sparkrig.serving import served
from sparkrig.serving.served import Serving
from sparkrig.trust import plain

_WEIGHTS_S = 12 * 3600  # 118 GB, over a slow line; times `patience`

# $1 the image, $2 the folder of all weights, $3 the checkpoint, $4 the file of secrets. It goes on where it was.
# What the library leaves out are the same weights once more, for other programs than vLLM: gpt-oss-120b has them
# three times. Not the hf tool: huggingface_hub 1.0 reads several --exclude in another way than 0.36 did.
DOWNLOAD = rf"""
set -e
image=$1 weights=$2 checkpoint=$3 secrets=$4
mkdir -p "$weights/$checkpoint"
docker rm -f sparkrig-hf >/dev/null 2>&1 || :
set --
{proxies("--env")}
if [ -e "$secrets" ]; then set -- --env-file "$secrets" "$@"; fi
exec docker run --rm --name sparkrig-hf --network host --volume "$weights:/weights" \
  --env HF_HOME=/weights/.huggingface "$@" --entrypoint python3 "$image" -c 'import sys
from huggingface_hub import snapshot_download
again = ["original/*", "metal/*", "consolidated*"]
snapshot_download(sys.argv[1], local_dir=sys.argv[2], ignore_patterns=again)' "$checkpoint" "/weights/$checkpoint"
"""

# $1 the folder of the checkpoint: from now on it is known to be whole
SEAL = (
    "set -e\n"
    + FILES_OF
    + rf"""
cd "$1"
files_of . >{served.MANIFEST}.new
if [ ! -s {served.MANIFEST}.new ]; then echo "$1 is empty" >&2; exit 1; fi
sync -f {served.MANIFEST}.new
mv {served.MANIFEST}.new {served.MANIFEST}
"""
)

# $1 the user, $2 the peer, $3 the folder of the checkpoint. A file that is there in its size is not copied again;
# one that broke off begins anew.
COPY_WEIGHTS = rf"""
set -e
there() {{ runuser -u "$user" -- ssh -o BatchMode=yes "$peer" sudo -n cat "'$folder/$1'" </dev/null; }}
user=$1 peer=$2 folder=$3
mkdir -p "$folder"
cd "$folder"
there {served.MANIFEST} >{served.MANIFEST}.new
while read -r size path; do
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
    standing = {name: _standing(found, checkpoint) for name, found in look(group).items() if name in group.names}
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
            long(group, "weights", name, words, _WEIGHTS_S, f"ssh {plain(whole[0])} sudo -n true, on {name}")


def _standing(found: Serving, checkpoint: str) -> str:
    return found.weights[checkpoint].standing if checkpoint in found.weights else "absent"


def _seal(group: Group, name: str, folder: str) -> None:
    on_all([name], lambda at: remote.shell(at, SEAL, folder, seconds=group.seconds(STEP_S)))


def _download(group: Group, checkpoint: str) -> None:
    there = look(group)[group.head].find(group.wish.image)
    if there is None:
        raise Refusal(f"the image {group.wish.image} is gone", "docker image ls -a")
    tell(group, f"download {checkpoint} ...")
    words = ("sh", "-c", DOWNLOAD, "sparkrig", there.id, group.mine.weights, checkpoint, secrets.PATH)
    cure = "set HF_TOKEN under secrets (docs/security.md), for the hub refuses many downloads without a token"
    long(group, "download", group.head, words, _WEIGHTS_S, cure)
