#!/bin/sh
# ray_asks PATH: what the dashboard of the head answers there, on one line; nothing where it does not answer. Where it
# listens stands in the unit, and the token of the cluster in no argument: ps shows them.

# shellcheck disable=SC2034 # for the caller: Ray keeps a thousand dead nodes in its list
ray_alive='filter_keys=state&filter_predicates=%3D&filter_values=ALIVE'
ray_unit=/etc/systemd/system/sparkrig-ray.service
ray_token() { sed -n 's/^RAY_AUTH_TOKEN=//p' /etc/sparkrig/secrets.env 2>/dev/null; }
ray_told() { sed -n "s/^$1=//p" "$ray_unit"; }

ray_asks() {
  token=$(ray_token)
  case $token in *[!A-Za-z0-9._~+/=-]*) return ;; esac # it would be more than one word of curl's
  printf 'header = "Authorization: Bearer %s"\n' "$token" |
    curl -K - -s -f -m 10 --noproxy '*' "http://$(ray_told Dashboard)$1" | head -c 200000 | tr -d '\r\n'
}
