#!/usr/bin/env bash
# A study from its making to its recommendation, with curl. HEADROOM_TOKEN is an API token, HEADROOM_URL the server's address.
set -euo pipefail
: "${HEADROOM_TOKEN:?Put an API token into it: export HEADROOM_TOKEN=\$(bin/headroom token -name examples)}"
api="${HEADROOM_URL:-http://127.0.0.1:8080}"; api="${api%/}/api/v1"

# call METHOD PATH [BODY]: the server's answer, or its complaint and the end of the script. Each POST
# carries a key under which it counts once, so that it is asked again where the server is away (429,
# 503, and 502 and 504 of a proxy), cannot be reached (7), or ended before it had answered (18, 52,
# 56).
call() {
	local body=() try answer code
	[ $# -lt 3 ] || body=(--data "$3" -H "Content-Type: application/json" -H "Idempotency-Key: $RANDOM$RANDOM$RANDOM")
	for try in 1 2 3 4 5; do
		answer=$(curl --silent --show-error --write-out '\n%{http_code}' -X "$1" -H "Authorization: Bearer $HEADROOM_TOKEN" "${body[@]}" "$api$2") && code=0 || code=$?
		case $code:${answer##*$'\n'} in
		0:2*) echo "${answer%$'\n'*}"; return ;;
		0:429 | 0:502 | 0:503 | 0:504 | 7:* | 18:* | 52:* | 56:*) sleep "$try" ;;
		*) break ;;
		esac
	done
	echo "$api$2: ${answer%$'\n'*}" >&2
	return 1
}

# field NAME: the first value of that name in an answer.
field() { sed "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/"; }

study=$(call POST /studies '{
	"name": "Reaction, from the shell",
	"parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}]}' | field id)

for _ in $(seq "${TRIALS:-8}"); do
	trial=$(call POST "/studies/$study/ask" '{}' | sed 's/^{"trials":\[//')
	number=$(echo "$trial" | grep -o '"number":[0-9]*' | head -1 | cut -d: -f2)
	temperature=$(echo "$trial" | grep -o '"parameters":{"temperature":[0-9.]*' | head -1 | cut -d: -f3)
	# The lab, which writes 0.5 in every language.
	results=$(LC_ALL=C awk -v t="$temperature" 'BEGIN { printf "{\"yield\": %.3f, \"impurity\": %.4f}", 80 - (t - 48)^2 / 20, 0.1 + (t / 60)^4 }')
	call POST "/studies/$study/trials/$number/tell" "{\"metrics\": $results}" >/dev/null
	echo "trial $number: $temperature °C → $results"
done
echo "recommended: $(call GET "/studies/$study/state" | grep -o '"recommendation":{.*"parameters":{[^}]*}' | grep -o '"parameters":{[^}]*}' | head -1)"
