#!/bin/sh
# $1 the image: what is in it that decides how it is started


docker run --rm --network none --entrypoint sh "$1" -c '
if command -v ray >/dev/null; then echo ray; fi
if command -v vllm >/dev/null; then echo has vllm; fi
python3 -c "from importlib.metadata import version; print(\"vllm\", version(\"vllm\"))" 2>/dev/null || :'
