#!/bin/sh
# $1 the image, $2 the folder of all weights, $3 the checkpoint, $4 the file of secrets, $5 the commit to take or
# nothing: then the one that was begun with, else the newest. It goes on where it was, in the commit where it was.
# What the library leaves out are the same weights once more, for other programs than vLLM: gpt-oss-120b has them
# three times. Not the hf tool: huggingface_hub 1.0 reads several --exclude in another way than 0.36 did.


set -e
image=$1 weights=$2 checkpoint=$3 secrets=$4 commit=$5
mkdir -p "$weights/$checkpoint"
docker rm -f sparkrig-hf >/dev/null 2>&1 || :
set --
option=--env
. ./proxies.sh
if [ -e "$secrets" ]; then set -- --env-file "$secrets" "$@"; fi
exec docker run --rm --name sparkrig-hf --network host --volume "$weights:/weights" \
  --env HF_HOME=/weights/.huggingface "$@" --entrypoint python3 "$image" -c 'import sys
from pathlib import Path
from huggingface_hub import HfApi, snapshot_download
name, folder, commit = sys.argv[1:]
begun = Path(folder, ".sparkrig-revision")
commit = commit or (begun.read_text().strip() if begun.exists() else "") or HfApi().model_info(name).sha
begun.write_text(commit + "\n")
again = ["original/*", "metal/*", "consolidated*"]
snapshot_download(name, revision=commit, local_dir=folder, ignore_patterns=again)' \
  "$checkpoint" "/weights/$checkpoint" "$commit"
