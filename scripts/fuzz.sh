#!/usr/bin/env bash
# scripts/fuzz.sh [RUNS]: runs every target of tests/fuzz RUNS times (by default 10,000,000). Corpora and counts are kept in build/fuzz, so
# that it continues after an interruption. Prints a table at the end; exits with 1 if there are findings.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-10000000}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "fuzz.sh: found $runs, expected a number of runs" >&2; exit 2; }
piece=${DIKKAT_FUZZ_PIECE:-200000}  # the count is saved after this many runs
read -ra only <<<"${DIKKAT_FUZZ_TARGETS:-}"  # targets to run; empty: all
cmake --preset asan >/dev/null
cmake --build build/asan --target fuzz_verify_hash fuzz_config fuzz_tokenizer fuzz_token_file fuzz_jsonl fuzz_metrics fuzz_index \
  fuzz_safetensors fuzz_gguf fuzz_llmc fuzz_torch fuzz_hf_config fuzz_gguf_model fuzz_api_request fuzz_http_request fuzz_history
targets=build/asan/tests/fuzz/targets

wanted() { [[ ${#only[@]} -eq 0 || " ${only[*]} " == *" $1 "* ]]; }
number_in() { if [[ -f $1 ]]; then cat "$1"; else echo 0; fi; }

while read -r name _ options; do
  wanted "$name" || continue
  here=build/fuzz/$name
  mkdir -p "$here/corpus" "$here/findings"
  goal=$runs
  step=$piece
  while done=$(number_in "$here/executions"); [[ $done -lt $goal ]]; do
    count=$((goal - done < step ? goal - done : step))
    start=$(date +%s%N)
    # -timeout is wall-clock time, long enough that only a real hang exceeds it, even on a busy machine.
    # shellcheck disable=SC2086  # the options are split into words
    nice -n 19 "build/asan/tests/fuzz/fuzz_$name" -runs="$count" -seed=$((done + 1)) $options -print_final_stats=1 -verbosity=1 \
      -report_slow_units=1000 -timeout=100 -artifact_prefix="$here/findings/" "$here/corpus" "tests/fuzz/seeds/$name" >"$here/log" 2>&1 || true
    made=$(sed -n 's/^stat::number_of_executed_units: *//p' "$here/log")
    if [[ -z $made ]]; then
      echo "fuzz_$name ended without a count; its output is in $here/log" >&2
      exit 1
    fi
    echo $((done + made)) >"$here/executions"
    echo $(($(number_in "$here/milliseconds") + ($(date +%s%N) - start) / 1000000)) >"$here/milliseconds"
    if [[ -n $(ls -A "$here/findings") ]]; then
      break
    fi
  done
done <"$targets"

found=0
printf '%-12s %12s %8s %9s\n' target executions exec/s findings
while read -r name _; do
  here=build/fuzz/$name
  [[ -d $here ]] || continue
  findings=$(find "$here/findings" -type f | wc -l)
  found=$((found + findings))
  executions=$(number_in "$here/executions")
  milliseconds=$(number_in "$here/milliseconds")
  printf '%-12s %12d %8d %9d\n' "$name" "$executions" $((executions * 1000 / (milliseconds + 1))) "$findings"
done <"$targets"
if [[ $found -gt 0 ]]; then
  echo "The findings are in build/fuzz/TARGET/findings; reproduce one with fuzz_TARGET FILE." >&2
  exit 1
fi
