#!/bin/sh
# $1 the image, $2 the library's folder


docker run --rm --network none --entrypoint sh "$1" -c '
found=$(cuobjdump -lelf "$1/vllm/_C.abi3.so") || exit
printf "cubins %s\n" "$(printf "%s\n" "$found" | grep -c "sm_12[0-9]")"' sh "$2"
