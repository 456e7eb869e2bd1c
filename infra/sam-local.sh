#!/usr/bin/env bash
# Every event of events/ through `sam local invoke`, then the API through `sam local start-api` and curl. The Makefile's
# target sam-local starts it through local-aws.sh, which gives it a database.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${ONCEHOOK:?run make sam-local}"
log=.aws-sam/local/log
passed=0 failed=0

judge() { # name, wanted pattern, what came
  if [[ $3 =~ $2 ]]; then
    passed=$((passed + 1)) && printf 'ok    %-22s %s\n' "$1" "${3:0:90}"
  else
    failed=$((failed + 1)) && printf 'FAIL  %-22s wanted %s, got %s\n' "$1" "$2" "${3:-nothing}"
  fi
}

invoke() { # event, function, wanted pattern
  local answer
  answer=$($ONCEHOOK event "$1" | infra/local-sam.sh invoke "$2" -e - 2>>"$log" | tail -1) || true
  judge "$1" "$3" "${answer// /}"
}

: >"$log"
# The replies that events/README.md documents, in an order that one table can take.
invoke applied Ingest '"statusCode":200'
invoke duplicate Ingest '"statusCode":200.*"oncehook-replayed":"true"'
invoke bad-signature Ingest '"statusCode":401'
invoke stale Ingest '"statusCode":401'
invoke base64 Ingest '"statusCode":200'
invoke unknown-source Ingest '"statusCode":404'
invoke get Ingest '"statusCode":405'
invoke sweep Sweep '"woken":'
invoke batch Drain '"batchItemFailures":\[\]'
invoke poison Drain '"batchItemFailures":\[\]'

infra/local-sam.sh start-api --port 3001 >>"$log" 2>&1 &
api=$!
trap 'kill $api 2>/dev/null || true; wait $api 2>/dev/null || true' EXIT
for _ in {1..120}; do
  if (: </dev/tcp/127.0.0.1/3001) 2>/dev/null; then break; fi
  sleep 0.5
done
url=http://127.0.0.1:3001/webhooks
status() { curl --silent --max-time 60 --output /dev/null --write-out '%{http_code}' "$@" || true; }
export -f status
signed=$($ONCEHOOK send stripe invoice.payment_succeeded --url $url/stripe --print-curl)
judge 'curl, signed' '^200$' "$(bash -c "${signed/#curl/status}")"
judge 'curl, no signature' '^401$' "$(status --data '{}' $url/stripe)"
judge 'curl, unknown source' '^404$' "$(status --data '{}' $url/nobody)"
judge 'curl, GET' '^405$' "$(status $url/stripe)"

echo "$passed passed, $failed failed"
if [ $failed -gt 0 ]; then
  echo "What the containers said: $log"
  exit 1
fi
