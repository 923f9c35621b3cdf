#!/bin/sh
# $1 the image, $2 the program that prints the version of its vLLM (templates/vllm_version.py)


docker run --rm --network none --entrypoint python3 "$1" -c "$2"
