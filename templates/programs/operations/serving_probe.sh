#!/bin/sh
# $1 the image: what is in it that decides how it is started; $2 the program that prints the version of its vLLM
# (templates/vllm_version.py)


# shellcheck disable=SC2016 # for the shell of the container
docker run --rm --network none --entrypoint sh "$1" -c '
if command -v ray >/dev/null; then echo ray; fi
if command -v vllm >/dev/null; then echo has vllm; fi
python3 -c "$1" 2>/dev/null || :' sparkrig "$2"
