#!/usr/bin/env bash
# Everything that a commit must pass: gcc builds and runs all tests; clang builds most of them with sanitizers and runs the fast ones.
set -euo pipefail
[[ $# -eq 0 ]] || { echo "test.sh: found $1, expected no arguments: it runs all tests; some of them: ctest --preset dev -R NAME" >&2; exit 2; }
cd "$(dirname "$0")/.."

scripts/install-packages.sh --test

say() { printf '\n== %s\n' "$*"; }

# A check that ends with 77 could not run here. .ci/run asks for all of them (DIKKAT_REQUIRE_CLIENTS).
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

# A new build folder compiles several sources at a time and runs many tests in one process, which takes half as long. One that is there
# already stays as it is.
configure() {
  local preset=$1
  shift
  [[ -d build/$preset ]] || set -- "$@" -DCMAKE_UNITY_BUILD=ON -DDIKKAT_TESTS_TOGETHER=ON
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

say "torture: faults of all kinds on the built program"
scripts/torture.sh

say "clients: programs of others run what is exported"
check scripts/clients.sh

say "browser: the pages in Chromium"
check scripts/browser.sh

# A test that was skipped has not looked at anything, so the last words are about those.
skipped=$(awk '
  /: Skipped$/ { getline reason }
  /^\[  SKIPPED \] .* ms\)$/ { sub(",$", "", $4); print "  " $4 ": " reason }
' build/{dev,asan}/Testing/Temporary/LastTest.log | sort -u)
if [ -n "$skipped" ]; then
  say "SKIPPED, since something was missing on this machine:"
  printf '%s\n' "$skipped"
fi
