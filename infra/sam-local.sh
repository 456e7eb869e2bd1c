#!/usr/bin/env bash
# Every fixture of events/ through `sam local invoke`, then the API through `sam local start-api` and curl.
# The Makefile's target sam-local starts it through local-aws.sh, which gives it a database.
set -euo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0

judge() { # name, wanted pattern, what came
  if [[ $3 =~ $2 ]]; then
    passed=$((passed + 1)) && printf 'ok    %-28s %s\n' "$1" "${3:0:80}"
  else
    failed=$((failed + 1)) && printf 'FAIL  %-28s wanted %s, got %s\n' "$1" "$2" "${3:-nothing}"
  fi
}

for fixture in events/*.json; do
  [ -e "$fixture" ] || { echo "events/ has no fixtures." && exit 1; }
  name=$(basename -s .json "$fixture")
  if grep -q '"aws:sqs"' "$fixture"; then
    function=Drain want='"batchItemFailures":\[\]'
  elif grep -q '"requestContext"' "$fixture"; then
    function=Ingest want='"statusCode":(200|401|404|405|413)'
  else
    function=Sweep want='"woken"'
  fi
  answer=$($ONCEHOOK event "$name" | infra/local-sam.sh invoke $function -e - 2>.aws-sam/local/log | tail -1)
  judge "$name" "$want" "${answer// /}"
done

infra/local-sam.sh start-api --port 3001 >.aws-sam/local/log 2>&1 &
api=$!
trap 'kill $api 2>/dev/null || true' EXIT
for _ in {1..60}; do
  if (: </dev/tcp/127.0.0.1/3001) 2>/dev/null; then break; fi
  sleep 0.5
done
url=http://127.0.0.1:3001/webhooks
status=(curl --silent --max-time 60 --output /dev/null --write-out '%{http_code}')
signed() { $ONCEHOOK send stripe invoice.payment_succeeded --url $url/stripe --print-curl "$@"; }
judge 'curl: signed' '^200$' "$(signed | sed '1s/curl/curl --silent --output \/dev\/null --write-out "%{http_code}"/' | bash)"
judge 'curl: no signature' '^401$' "$("${status[@]}" --data '{}' $url/stripe)"
judge 'curl: unknown source' '^404$' "$("${status[@]}" --data '{}' $url/nobody)"
judge 'curl: GET' '^405$' "$("${status[@]}" $url/stripe)"

echo "$passed passed, $failed failed"
if [ $failed -gt 0 ]; then echo "The last container's log: .aws-sam/local/log" && exit 1; fi
