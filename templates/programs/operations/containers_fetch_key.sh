#!/bin/sh
# $1 url, $2 fingerprint, $3 keyring; whatever else the fetched file holds is not trusted. gpg exports a key by the
# fingerprint of a subkey, too, and any key can take another's public key as its subkey: so what would be kept has
# to be one primary key, the pinned one.

. ../runs/journal_intends.sh

set -e
primaries() {
  gpg -q --batch --homedir "$new/gpg" --with-colons --show-keys "$1" 2>/dev/null |
    sed -n '/^pub:/,/^fpr:/{/^fpr:/{s/^fpr:*//; s/:.*//; p}}'
}
new=$(mktemp -d); trap 'rm -rf "$new"' EXIT
mkdir -m 755 "$new/fetched"; mkdir -m 700 "$new/gpg"
chmod 755 "$new" # apt downloads as its own user
/usr/lib/apt/apt-helper download-file "$1" "$new/fetched/key" >&2
gpg -q --batch --homedir "$new/gpg" --import "$new/fetched/key"
gpg -q --batch --homedir "$new/gpg" --export "$2" >"$new/ring"
if [ "$(primaries "$new/ring")" != "$2" ]; then
  found=$(primaries "$new/fetched/key" | head -n 3 | tr '\n' ' ')
  echo "the key at $1 has fingerprint ${found:-none }and $2 was pinned; nothing was installed" >&2
  exit 1
fi
install -D -m 644 -o root -g root "$new/ring" "$3.new"
sync "$3.new"
intends "$3" "$3.new"
mv -fT "$3.new" "$3"; sync "${3%/*}"
