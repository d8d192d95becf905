#!/usr/bin/env bash
# Runs everything that a commit must pass: gcc builds and runs all tests; clang builds most of them with sanitizers and runs the fast ones.
set -euo pipefail
[[ $# -eq 0 ]] || { echo "test.sh: found $1, expected no arguments: it runs all tests; to run some: ctest --preset dev -R NAME" >&2; exit 2; }
cd "$(dirname "$0")/.."

echo "test.sh: runs every check, which takes half an hour. After a build, ctest --preset dev -L fast takes a minute." >&2
scripts/install-packages.sh --test

say() { printf '\n== %s\n' "$*"; }

# Runs a check. Exit code 77 means that it could not run here; .ci/run requires all checks to run (DIKKAT_REQUIRE_CLIENTS).
check() {
  local status=0
  "$@" || status=$?
  if [ "$status" -eq 77 ] && [ -n "${DIKKAT_REQUIRE_CLIENTS:-}" ]; then
    echo "test.sh: $1 was skipped, expected it to run on this machine" >&2
    exit 1
  fi
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
}

say "format: clang-format"
check scripts/format.sh --check

# Configures a build. A new build folder compiles several sources together, as the preset release does, and runs many tests in one process,
# which halves the time. An existing one is not changed.
configure() {
  local preset=$1
  shift
  [[ -d build/$preset ]] || set -- "$@" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 -DDIKKAT_TESTS_TOGETHER=ON
  cmake --preset "$preset" "$@" >/dev/null
}

say "gcc: build and run all tests"
configure dev -DDIKKAT_BENCH=OFF  # the benchmarks are built by ci-long.sh
cmake --build --preset dev
ctest --preset dev -j "$(nproc)"

say "clang with address and undefined-behaviour sanitizers: build and run most of the fast tests"
configure asan
cmake --build --preset asan
ctest --preset asan -j "$(nproc)"

say "torture: faults of all kinds, injected into the built program"
scripts/torture.sh

say "clients: other programs use what dikkat exports"
check scripts/clients.sh

say "browser: the pages in Chromium"
check scripts/browser.sh

# Skipped tests have checked nothing, so they are listed last.
skipped=$(awk '
  /: Skipped$/ { getline reason }
  /^\[  SKIPPED \] .* ms\)$/ { sub(",$", "", $4); print "  " $4 ": " reason }
' build/{dev,asan}/Testing/Temporary/LastTest.log | sort -u)
if [ -n "$skipped" ]; then
  say "SKIPPED, because something is missing on this machine:"
  printf '%s\n' "$skipped"
fi
