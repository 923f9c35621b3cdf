#!/bin/sh
# $1 the image, $2 the folder of all weights, $3 the checkpoint, $4 the file of secrets, $5 the commit to take or
# nothing, $6 the program (templates/download_weights.py)


set -e
image=$1 weights=$2 checkpoint=$3 secrets=$4 commit=$5 program=$6
mkdir -p "$weights/$checkpoint"
docker rm -f sparkrig-hf >/dev/null 2>&1 || :
set --
option=--env
. ./proxies.sh
if [ -e "$secrets" ]; then set -- --env-file "$secrets" "$@"; fi
exec docker run --rm --name sparkrig-hf --network host --volume "$weights:/weights" \
  --env HF_HOME=/weights/.huggingface "$@" --entrypoint python3 "$image" -c "$program" \
  "$checkpoint" "/weights/$checkpoint" "$commit"
