#!/usr/bin/env bash
# Runs a build with ninja and shows its progress on standard error: show-build.sh LOG COMMAND...
# The build's output goes to LOG. On a terminal the progress is one line that is rewritten, as in ninja. Elsewhere it is a line for each
# tenth, and for each minute without one (SHOW_BUILD_SECONDS, for tests). Exits with the command's code.
#
# The time left follows from the time so far. The steps of a build take unequal times, so SHOW_BUILD_SHARES may have ten numbers: the percentage
# of the time that is over after each tenth of the steps. By default they are 10, 20, ... 100.
set -euo pipefail

log=$1
shift
every=${SHOW_BUILD_SECONDS:-60}
columns=$(tput cols 2>/dev/null || echo 80)
read -ra shares <<<"0 ${SHOW_BUILD_SHARES:-10 20 30 40 50 60 70 80 90 100}"
mkdir -p "$(dirname "$log")"

# Prints the time left after step $1 of $2, which was over $3 seconds after the start: " 3 min left", or nothing while it is unknown.
left() {
  local tenth=$((10 * $1 / $2)) next share
  next=$((tenth < 10 ? tenth + 1 : 10))
  share=$((100 * shares[tenth] + (shares[next] - shares[tenth]) * (1000 * $1 / $2 - 100 * tenth)))  # in hundredths of a percent
  [[ $3 -ge 5 && $share -ge 200 && $share -lt 10000 ]] || return 0
  local seconds=$(($3 * (10000 - share) / share))
  if [[ $seconds -ge 90 ]]; then
    printf ', %d min left' $(((seconds + 30) / 60))
  else
    printf ', %d s left' "$seconds"
  fi
}

show() {
  local line='' at=0 all=0 tenth=0 code begin=$SECONDS
  while true; do
    code=0
    IFS= read -r -t "$every" line || code=$?
    if [[ $code -gt 128 ]]; then
      [[ -t 2 || $all -eq 0 ]] || echo "building: $at of $all$(left "$at" "$all" $((SECONDS - begin)))" >&2
    elif [[ $code -ne 0 ]]; then
      break
    elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      at=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      if [[ -t 2 ]]; then
        line="[$at/$all$(left "$at" "$all" $((SECONDS - begin)))]${line#*]}"
        printf '\r\e[K%s' "${line:0:columns-1}" >&2
      elif [[ $((10 * at / all)) -gt $tenth ]]; then
        tenth=$((10 * at / all))
        echo "building: $at of $all$(left "$at" "$all" $((SECONDS - begin)))" >&2
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
