#!/bin/sh
# $1 the server's container, $2 a folder to be made in it, $3 seconds after which the tool ends itself, $4 the file in
# that folder that the tool saves its result in, $5... its words. Prints that file. The server's key is in the
# environment of the container already, and stays there.

# shellcheck disable=SC2016 # for the shell of the container
inside='
umask 077
dir=$1 seconds=$2 result=$3
shift 3
mkdir "$dir" || exit 1
trap "rm -rf \"$dir\"" EXIT
if [ -n "${VLLM_API_KEY:-}" ]; then export OPENAI_API_KEY="$VLLM_API_KEY"; fi
timeout -k 10 "$seconds" "$@" --host 127.0.0.1 --port "$SPARKRIG_PORT" >"$dir/log" 2>&1 &
echo $! >"$dir/pid"
wait $!
status=$?
if [ "$status" = 0 ]; then
  head -c 1048576 "$dir/$result"
  exit
fi
tail -c 2000 "$dir/log" | tail -n 1 >&2
if [ "$status" = 124 ]; then echo "it was ended after its $seconds s" >&2; fi
exit "$status"
'
container=$1
shift
docker exec "$container" sh -c "$inside" sparkrig-bench "$@"
