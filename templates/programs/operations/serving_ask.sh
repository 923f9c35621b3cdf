#!/bin/sh
# $1 the port, $2 the path, $3 what is asked, $4 seconds. The key travels on standard input: ps shows arguments.


key=
if [ -f /etc/sparkrig/secrets.env ]; then key=$(sed -n 's/^VLLM_API_KEY=//p' /etc/sparkrig/secrets.env | tail -n 1); fi
{ if [ -n "$key" ]; then printf 'header = "Authorization: Bearer %s"\n' "$key"; fi; } |
  curl -K - -s -m "$4" --noproxy '*' -H 'Content-Type: application/json' --data-binary "$3" \
    -w '\n%{http_code}\n' "http://127.0.0.1:$1$2" || :
