#!/usr/bin/env bash
# DynamoDB and SQS for the functions in `sam local`: ministack with the template's tables, until it is interrupted.
# With a command as arguments: as long as that runs.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${MINISTACK:?run make local-aws}" "${TOOLS:?run make local-aws}"

# What a container finds as host.docker.internal: on Linux the bridge's own address, elsewhere the loopback. Neither is
# open to the network.
address=127.0.0.1
if [ "$(uname -s)" = Linux ] && docker info >/dev/null 2>&1; then
  bridge=$(docker network inspect bridge --format '{{(index .IPAM.Config 0).Gateway}}')
  # Docker Desktop for Linux keeps the bridge to itself and forwards to the loopback.
  if "$TOOLS/bin/python" -c "import socket; socket.socket().bind(('$bridge', 0))" 2>/dev/null; then address=$bridge; fi
fi
if (: </dev/tcp/"$address"/4566) 2>/dev/null; then
  echo "Port 4566 of $address is taken: is 'make local-aws' or another emulator running? Stop it and try again." >&2
  exit 1
fi

log=$(mktemp)
BIND_HOST=$address GATEWAY_PORT=4566 "$MINISTACK" >"$log" 2>&1 &
emulator=$!
trap 'kill $emulator 2>/dev/null || true; wait $emulator 2>/dev/null || true; rm -f "$log"' EXIT
for _ in {1..120}; do
  if (: </dev/tcp/"$address"/4566) 2>/dev/null; then break; fi
  if ! kill -0 $emulator 2>/dev/null; then
    echo "ministack did not start:" >&2
    tail -5 "$log" >&2
    exit 1
  fi
  sleep 0.5
done
"$TOOLS/bin/python" infra/local.py tables "http://$address:4566"
if [ $# -gt 0 ]; then
  "$@"
else
  echo "Ready for make invoke and make start-api. Stop with Ctrl-C; what is stored goes with it."
  wait $emulator
fi
