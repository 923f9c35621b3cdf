#!/bin/bash
# $1 the user, $2 the peer, $3 the image's ID there. The copy has an ID of its own; its content identifies it.
# For bash, since Ubuntu 24.04's sh has no pipefail: docker load would be the one to fail, and hide sudo's error.

set -eo pipefail
runuser -u "$1" -- ssh -o BatchMode=yes "$2" sudo -n docker save "$3" </dev/null | docker load
