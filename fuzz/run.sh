#!/usr/bin/env bash
# The fuzz target with coverage feedback on a stable compiler: SECONDS_EACH seconds of it, or one input: run.sh FILE.
set -euo pipefail
cd "$(dirname "$0")"
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
folder=${FUZZ_TARGET_DIR:-target}
# Only the target is instrumented, not what builds it: hence --target.
${CARGO:-cargo} build --quiet --release --target "$target" --target-dir "$folder"
program=$folder/$target/release/oncehook-fuzz
if [ $# -gt 0 ]; then exec "$program" "$@"; fi
mkdir -p "$folder/found" "$folder/new"
"$program" "$folder/new" corpus -max_total_time="${FUZZ_SECONDS:-60}" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -print_final_stats=1 -artifact_prefix="$folder/found/" 2>"$folder/log" || {
  tail -n 40 "$folder/log"
  echo "Found: fuzz/run.sh $(ls -t "$folder"/found/* | head -1) runs it again."
  exit 1
}
grep -E "stat::number_of_executed_units|INITED|DONE" "$folder/log"
