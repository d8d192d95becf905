# Times the parts of a long work. Other scripts source this file, call `parts_file FILE` once, and `part NAME COMMAND...` for each part.
# shellcheck shell=bash

# Sets the file that gets a line for each part: seconds, seconds of processor time, name.
parts_file() {
  parts=$1
  mkdir -p "$(dirname "$parts")"
  rm -f "$parts"
}

# Runs a command as one part of the work. Records its seconds and its processor time. In a function that is run here, a command that fails
# does not end the script, so the function must return its code.
part() {
  local name=$1 status=0 begin=$EPOCHREALTIME before after
  shift
  printf '\n== %s\n' "$name"
  before=$(cpu_seconds)
  "$@" || status=$?
  after=$(cpu_seconds)
  awk -v name="$name" -v from="$begin" -v to="$EPOCHREALTIME" -v before="$before" -v after="$after" \
    'BEGIN { printf "%.1f\t%.1f\t%s\n", to - from, after - before, name }' >>"$parts"
  return "$status"
}

# Prints the processor time of all commands that have ended.
cpu_seconds() {
  awk -v ticks="$(getconf CLK_TCK)" '{ print ($16 + $17) / ticks }' "/proc/$$/stat"
}
