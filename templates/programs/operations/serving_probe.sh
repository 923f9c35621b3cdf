#!/bin/sh
# $1 the image: what is in it that decides how it is started; $2 the program that prints the version of its vLLM
# (templates/vllm_version.py)


# shellcheck disable=SC2016 # for the shell of the container
docker run --rm --network none --entrypoint sh "$1" -c '
if command -v ray >/dev/null; then echo ray; fi
if command -v vllm >/dev/null; then echo has vllm; fi
# an image of llama.cpp has its server outside of the path [@llama-image]
if (PATH=$PATH:/app; command -v llama-server) >/dev/null; then echo has llama.cpp; fi
if python3 -c "import importlib.util as u, sys; sys.exit(not u.find_spec(\"sglang\"))" 2>/dev/null; then echo has sglang; fi
python3 -c "$1" 2>/dev/null || :' sparkrig "$2"

# NVIDIA's entrypoint sets up CUDA's libraries for an older driver, and starts its arguments. vLLM's own image has
# the server for an entrypoint, which would take a script for the name of a model.
entrypoint=$(docker image inspect -f '{{range .Config.Entrypoint}}{{.}} {{end}}' "$1" 2>/dev/null | head -c 200) || :
case "$entrypoint" in
'' | *vllm* | *sglang* | *llama* | *python*) ;;
*)
  name=sparkrig-probe-$$
  if timeout -k 5 120 docker run --rm --name "$name" --network none "$1" sh -c 'echo sparkrig passed' 2>/dev/null |
    grep -qx 'sparkrig passed'; then
    printf 'entrypoint %s\n' "$entrypoint"
  else
    docker rm -f "$name" >/dev/null 2>&1 || :
  fi
  ;;
esac
