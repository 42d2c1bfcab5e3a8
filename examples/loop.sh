#!/usr/bin/env bash
# A study from its making to its recommendation, with curl. HEADROOM_TOKEN is an API token, HEADROOM_URL the server's address.
set -euo pipefail
: "${HEADROOM_TOKEN:?Put an API token into it: export HEADROOM_TOKEN=\$(bin/headroom token -name examples)}"
api="${HEADROOM_URL:-http://127.0.0.1:8080}/api/v1"

# call METHOD PATH [BODY]: the server's answer, or its complaint and the end of the script. Each POST carries a key, so that --retry never counts twice.
call() {
	local body=(); [ $# -lt 3 ] || body=(--data "$3" -H "Content-Type: application/json" -H "Idempotency-Key: $RANDOM$RANDOM$RANDOM")
	curl --silent --show-error --fail-with-body --retry 4 --retry-connrefused -X "$1" -H "Authorization: Bearer $HEADROOM_TOKEN" "${body[@]}" "$api$2"
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
	# The lab.
	results=$(awk -v t="$temperature" 'BEGIN { printf "{\"yield\": %.3f, \"impurity\": %.4f}", 80 - (t - 48)^2 / 20, 0.1 + (t / 60)^4 }')
	call POST "/studies/$study/trials/$number/tell" "{\"metrics\": $results}" >/dev/null
	echo "trial $number: $temperature °C → $results"
done
echo "recommended: $(call GET "/studies/$study/state" | grep -o '"recommendation":{.*"parameters":{[^}]*}' | grep -o '"parameters":{[^}]*}' | head -1)"
