#!/bin/sh
# $1 the user, $2 the peer, $3 the folder of the checkpoint. A file that is there in its size is not copied again;
# one that broke off begins anew. The names are the publisher's: they cross as data, for ssh would hand them to a
# shell, and none leads out of the folder. It runs as root on both, for docker's root writes the weights that are
# downloaded (weights_download.sh), and their modes are the publisher's; ssh alone is the user's, whose key opens.

set -e
there() {
  printf '%s\0' "$folder/$1" | runuser -u "$user" -- ssh -o BatchMode=yes "$peer" sudo -n xargs -0 cat --
}
user=$1 peer=$2 folder=$3
mkdir -p "$folder"
cd "$folder"
there .sparkrig-files >.sparkrig-files.new
path_of() { printf './'; printf '%s\n' "$1" | cut -d ' ' -f 2-; }
while IFS= read -r line; do
  case "$(path_of "$line")/" in
  .//* | */../*) echo "$peer lists a file outside of $folder; nothing was copied" >&2; exit 1 ;;
  esac
done <.sparkrig-files.new
while IFS= read -r line; do
  size=$(printf '%s\n' "$line" | cut -d ' ' -f 1) path=$(path_of "$line")
  if [ "$(stat -c %s "$path" 2>/dev/null)" = "$size" ]; then continue; fi
  mkdir -p "$(dirname "$path")"
  there "$path" >"$path.part"
  if [ "$(stat -c %s "$path.part")" != "$size" ]; then echo "$path came in another size" >&2; exit 1; fi
  sync "$path.part"
  mv "$path.part" "$path"
done <.sparkrig-files.new
mv .sparkrig-files.new .sparkrig-files
sync -f .
