#!/usr/bin/env bash
# show_build_test.sh SHOW_BUILD: tests the output of scripts/show-build.sh for a build, without a terminal and with one.
set -euo pipefail
show=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$1" >&2
  exit 1
}

cat >"$work/build" <<'BUILD'
for i in {1..40}; do echo "[$i/40] Building CXX object $i"; done
echo "$1"
exit "$2"
BUILD

"$show" "$work/logs/log" bash "$work/build" "a warning" 0 2>"$work/shown" || fail "a build that succeeds ends with $?"
[[ $(wc -l <"$work/shown") == 10 ]] || fail "expected a line for each tenth: $(cat "$work/shown")"
[[ $(sed -n '5p' "$work/shown") == *"20 of 40" ]] || fail "the fifth line is not that of the half: $(cat "$work/shown")"
grep -q "a warning" "$work/logs/log" || fail "the log lacks what the compiler said"

code=0
"$show" "$work/log" bash "$work/build" "error: no such name" 7 2>"$work/shown" || code=$?
[[ $code == 7 ]] || fail "a build that fails ends with $code, expected its own 7"
grep -q "error: no such name" "$work/shown" || fail "a build that fails does not say why"
grep -q "$work/log" "$work/shown" || fail "where the log is remains unsaid"

SHOW_BUILD_SECONDS=1 "$show" "$work/log" bash -c 'echo "[1/40] one"; sleep 2.5; echo "[2/40] two"' 2>"$work/shown"
[[ $(grep -c "1 of 40" "$work/shown") == 2 ]] || fail "nothing is seen of a build that takes long: $(cat "$work/shown")"

# After 6 seconds half of the steps are over, but three quarters of the time.
SHOW_BUILD_SHARES="15 30 45 60 75 80 85 90 95 100" "$show" "$work/log" bash -c 'echo "[1/4] one"; sleep 6; echo "[2/4] two"; echo "[4/4] end"' 2>"$work/shown"
grep -q "2 of 4, 2 s left" "$work/shown" || fail "expected 2 s left: $(cat "$work/shown")"
[[ $(tail -n 1 "$work/shown") == "building: 4 of 4" ]] || fail "a build that is over has time left: $(cat "$work/shown")"

TERM=xterm script -qec "'$show' '$work/log' bash '$work/build' '' 0" /dev/null >"$work/shown"
grep -q $'\r\e\[K\[40/40\] Building CXX object 40' "$work/shown" || fail "a terminal does not show ninja's line: $(cat "$work/shown")"
[[ $(wc -l <"$work/shown") == 0 ]] || fail "a terminal's line is not rewritten: $(cat "$work/shown")"
