#!/bin/sh
# verb FOLDER VERB [WHY]: of guard.py in that folder. Imported, it stays compiled beside itself; -S leaves out what
# Python loads for packages. Both together are half of what a verb costs.


verb() {
  exec python3 -I -S -c \
    'import sys; sys.path.insert(0, sys.argv.pop(1)); import guard; sys.exit(guard.main(sys.argv[1:]))' "$@"
}
