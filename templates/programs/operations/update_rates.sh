#!/bin/sh
# rates WORD: for each server of the plan that answers on this host, `rate-WORD SERVICE TOKENS MILLISECONDS` of the
# quickest of three answers of 64 tokens; nothing of one that gives none. The key travels on standard input.

ask() {
  { if [ -n "$key" ]; then printf 'header = "Authorization: Bearer %s"\n' "$key"; fi; } |
    curl -K - -s -m 30 --noproxy '*' -H 'Content-Type: application/json' "$@" 2>/dev/null || :
}
rates() {
  key=$(sed -n 's/^VLLM_API_KEY=//p' /etc/sparkrig/secrets.env 2>/dev/null | tail -n 1)
  rows served | while read -r service; do
    record=/etc/sparkrig/serve/$service/serve.json
    if [ "$service" = - ]; then record=/etc/sparkrig/serve/serve.json; fi
    port=$(sed -n 's/^ "port": \([0-9]\{1,5\}\),*$/\1/p' "$record" 2>/dev/null)
    url=http://127.0.0.1:${port:-0}/v1
    model=$(ask "$url/models" | grep -o '"id": *"[^"\\]*"' | head -n 1 | cut -d '"' -f 4)
    if [ -z "$model" ]; then continue; fi
    prompt="{\"model\": \"$model\", \"prompt\": \"Once upon a time\", \"max_tokens\": 64, \"temperature\": 0, \"ignore_eos\": true}"
    for _ in 1 2 3; do
      ask -w '\n"took": %{time_total}\n' --data-binary "$prompt" "$url/completions" |
        grep -oE '"(completion_tokens|took)": *[0-9.]+' | tr -d '":'
    done | awk -v head="rate-$1 $service" '
      /completion_tokens/ { tokens = $2 }
      /took/ && tokens && $2 > 0 { if (tokens / $2 > best) { best = tokens / $2; said = tokens " " int($2 * 1000) } tokens = 0 }
      END { if (best) print head, said }'
  done
}
