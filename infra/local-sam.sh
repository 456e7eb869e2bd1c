#!/usr/bin/env bash
# `sam local` on the functions built for this machine: local-sam.sh invoke Ingest -e -, or local-sam.sh start-api.
set -euo pipefail
cd "$(dirname "$0")/.."
# No profile and no credentials of yours enter a container.
unset AWS_PROFILE AWS_SESSION_TOKEN
export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export SAM_CLI_TELEMETRY=0
command=$1
shift
options=(--template .aws-sam/local/local.yaml)
case $(uname -m) in
  arm64 | aarch64) options+=(--parameter-overrides Architecture=arm64) ;;
  *) options+=(--parameter-overrides Architecture=x86_64) ;;
esac
# Built into Docker Desktop; Linux has to be told.
if [ "$(uname -s)" = Linux ]; then options+=(--add-host host.docker.internal:host-gateway); fi
exec .tools/bin/sam local "$command" "${options[@]}" "$@"
