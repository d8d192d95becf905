#!/usr/bin/env bash
# Runs a build with ninja and shows its progress on standard error: show-build.sh LOG COMMAND...
# The build's output goes to LOG. On a terminal the progress is one line that is rewritten, as in ninja. Elsewhere it is a line for each
# tenth, and for each minute without one (SHOW_BUILD_SECONDS, for tests). Exits with the command's code.
set -euo pipefail

log=$1
shift
every=${SHOW_BUILD_SECONDS:-60}
columns=$(tput cols 2>/dev/null || echo 80)
mkdir -p "$(dirname "$log")"

show() {
  local line='' at=0 all=0 tenth=0 code
  while true; do
    code=0
    IFS= read -r -t "$every" line || code=$?
    if [[ $code -gt 128 ]]; then
      [[ -t 2 ]] || echo "building: $at of $all" >&2
    elif [[ $code -ne 0 ]]; then
      break
    elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      at=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      if [[ -t 2 ]]; then
        printf '\r\e[K%s' "${line:0:columns-1}" >&2
      elif [[ $((10 * at / all)) -gt $tenth ]]; then
        tenth=$((10 * at / all))
        echo "building: $at of $all" >&2
      fi
    fi
  done
  if [[ -t 2 && $all -gt 0 ]]; then
    printf '\r\e[K' >&2
  fi
}

code=0
"$@" 2>&1 | tee "$log" | show || code=$?
if [[ $code -ne 0 ]]; then
  tail -n 30 "$log" >&2
  echo "the build failed; its whole output is in $log" >&2
fi
exit "$code"
