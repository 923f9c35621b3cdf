"""What serves a model, and what it needs: the unit, images, weights, room."""

from __future__ import annotations

import shlex

from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.host.images import CONTENT_OF
from sparkrig.serving import served

# files_of FOLDER: size and path of each file of a checkpoint, as its manifest has them
FILES_OF = rf"""
files_of() {{
  (cd "$1" && find -L . -type f ! -path './.cache/*' ! -name '{served.MANIFEST}*' ! -name '*.part' \
    -printf '%s %P\n' | LC_ALL=C sort)
}}
"""

# strays_of FOLDER: the first link in it that leads nowhere in a container, which has that folder and no other
STRAYS_OF = r"""
strays_of() {
  real=$(readlink -f "$1")
  find -H "$1" -type l | while read -r link; do
    case "$(readlink "$link") $(readlink -f "$link")" in
    /*) ;;
    *" $real/"*) continue ;;
    esac
    printf '%s\n' "${link#"$1"}"
    break
  done
}
"""

# All images, for docker 29 hides those without a tag [@docker-cli-6574], also one pulled by digest.
# $weights: the folder; where it is empty, only a host that serves is looked at, and its own folder
LOOK = (
    FILES_OF
    + STRAYS_OF
    + CONTENT_OF
    + f"record={served.RECORD} trial={served.TRIAL} unit={served.UNIT} port={served.PORT_UNIT} "
    f"manifest={served.MANIFEST} revision={served.REVISION} token={served.RAY_ENV}\n"
    + r"""
told() { [ ! -f "$record" ] || sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$record"; }
if [ -z "$weights" ]; then
  [ -f "$record" ] || exit 0
  weights=$(told weights)
fi
printf 'looked\n'
if [ -e "$trial" ]; then printf 'trial\n'; fi
if [ -f "$token" ] && [ -O "$token" ] && [ "$(stat -c %a "$token")" = 600 ]; then
  printf 'token %s\n' "$(sha256sum <"$token" | cut -c 1-16)"
fi
about=$(systemctl show -p LoadState,ActiveState,SubState,UnitFileState,NRestarts "$unit.service")
printf '%s\n' "$about" | sed 's/^/unit /'
printf 'port %s\n' "$(systemctl show --value -p ActiveState "$port.socket")"
if command -v docker >/dev/null && systemctl -q is-active docker; then
  timeout -k 2 20 docker container inspect -f 'container {{.Image}} {{.State.StartedAt}}' "$unit" 2>/dev/null |
    grep .
  ids=$(timeout -k 2 60 docker image ls -a -q --no-trunc | sort -u)
  if [ -n "$ids" ]; then
    timeout -k 2 60 docker image inspect -f \
      'image {{.Id}} {{.Architecture}}{{range .RepoTags}} {{.}}{{end}}{{range .RepoDigests}} {{.}}{{end}}' $ids
    content_of $ids
  fi
fi
for d in "$weights"/*/*/; do
  [ -d "$d" ] || continue
  name=${d#"$weights"/} name=${name%/}
  files=$(files_of "$d") stray=$(strays_of "$d")
  state=partial
  if [ -n "$stray" ]; then
    state=linked
  elif [ -f "$d$manifest" ]; then
    state=damaged
    if [ -z "$(printf '%s\n' "$files" | LC_ALL=C comm -13 - "$d$manifest")" ]; then state=whole; fi
  elif [ -f "$d/config.json" ] && [ -z "$(find "$d" -name '*.incomplete' -o -name '*.part')" ]; then
    index=$d/model.safetensors.index.json
    if [ -f "$index" ]; then
      state=loose
      for f in $(grep -o '"[^"/]*\.safetensors"' "$index" | tr -d '"' | sort -u); do
        [ -s "$d/$f" ] || state=partial
      done
    elif [ -s "$d/model.safetensors" ]; then state=loose
    fi
  fi
  case $name in *[!A-Za-z0-9._/-]*) continue ;; esac
  printf 'weights %s %s %s%s\n' "$name" $state "$(du -sbL "$d" | cut -f1)" "${stray:+ $stray}"
  if [ -f "$d$revision" ]; then
    printf 'revision %s %s\n' "$name" "$(head -c 40 "$d$revision" | tr -cd '0-9a-f')"
  fi
done
p=$weights
while [ ! -e "${p:-/}" ]; do p=${p%/*}; done
printf 'room %s\n' "$(df -B1 --output=avail "${p:-/}" | tail -n 1)"
ss -Hltn | while read -r _ _ _ local _; do printf 'listen %s\n' "${local##*:}"; done
case $about in
*ActiveState=active*)
  at=$(told trial_port)
  if [ -n "$at" ] && [ "$(told rank)" = 0 ]; then
    printf 'health %s\n' "$(curl -s -o /dev/null -m 5 --noproxy '*' -w '%{http_code}' "http://127.0.0.1:$at/health")"
  fi
  ;;
esac
exit 0
"""
)


class Serving(Noun[served.Serving]):
    """All of it. weights: the folder that the settings name, empty for the one of a host that serves."""

    parse = staticmethod(served.parse)
    script = LOOK

    def command(self, weights: str = "") -> str:
        return f"{PREAMBLE}\nweights={shlex.quote(weights)}\n{self.script}"

    @staticmethod
    def default() -> served.Serving:
        return served.Serving()
