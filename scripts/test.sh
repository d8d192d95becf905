#!/usr/bin/env bash
# Tests the program that scripts/quickstart.sh built.
#
#   scripts/test.sh          compiles the tests against the same libraries, and runs every test that is not slow
#   scripts/test.sh --all    everything that a commit must pass: the slow tests, the sanitizers, torture, other programs and a browser too
#
# At the end it prints where the time went, and which test programs took a third more processor time than tests/budgets.txt allows them.
set -euo pipefail
all=
case "$*" in
  '') ;;
  --all) all=1 ;;
  *)
    echo "test.sh: found '$*', expected nothing or --all; to run some of the tests after a build: ctest --preset test -R NAME" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."
source scripts/parts.sh

build=build/release
times=$PWD/$build/test-times
tests_at_once=$(($(nproc) + 1))  # some wait for a while, for a signal or a disk
parts_file "$PWD/$build/test-parts"
rm -f "$times"

# Exit code 77 means that a check could not run here; .ci/run requires all checks to run (DIKKAT_REQUIRE_CLIENTS).
check() {
  local status=0
  "$@" || status=$?
  if [ "$status" -eq 77 ] && [ -n "${DIKKAT_REQUIRE_CLIENTS:-}" ]; then
    echo "test.sh: $1 was skipped, expected it to run on this machine" >&2
    exit 1
  fi
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
}

finish() {
  local status=$?
  [ ! -s "$parts" ] || python3 tests/show_times.py "$parts" "$times" tests/budgets.txt || true
  exit "$status"
}
trap finish EXIT

build_tests() {
  cmake --preset test >/dev/null && scripts/show-build.sh "$build/tests.log" cmake --build --preset test -j "$(nproc)" || return
  # The presets for developers stop at warnings. Here a warning must not keep anyone from running the tests, so they are found afterwards.
  local warnings
  warnings=$(grep -hs "warning:" "$build"/{build,tests}.log | sort -u || true)  # one of the files may be missing
  if [ -n "${DIKKAT_REQUIRE_CLIENTS:-}" ] && [ -n "$warnings" ]; then
    echo "$warnings"
    echo "test.sh: the compiler warned, expected no warnings; the whole output is in $build/tests.log" >&2
    return 1
  fi
}

# The kernels for AVX2 have half as many elements in a vector as those for AVX-512, and compile in a tenth of the time. ci-long.sh has both.
build_sanitized() {
  local march=()
  [ "$(uname -m)" != x86_64 ] || march=(-DDIKKAT_MARCH=x86-64-v3)
  cmake --preset asan "${march[@]}" -DCMAKE_UNITY_BUILD=ON -DDIKKAT_TESTS_TOGETHER=ON >/dev/null &&
    scripts/show-build.sh build/asan/build.log cmake --build --preset asan -j "$(nproc)"
}

run_tests() {
  DIKKAT_TEST_TIMES=$times ctest --preset test -j "$tests_at_once" "$@"
}

echo "test.sh: $([ -n "$all" ] && echo "runs every check, which takes half an hour" ||
  echo "runs the tests, which takes about ten minutes after scripts/quickstart.sh; --all has more")" >&2
part "packages" scripts/install-packages.sh "$([ -n "$all" ] && echo --test || echo --fast-tests)"
if [ -n "$all" ]; then
  part "format: clang-format and prettier" check scripts/format.sh --check
fi
part "gcc: compile the tests" build_tests
if [ -z "$all" ]; then
  part "gcc: the tests that are not slow" run_tests -LE "slow|long"
else
  part "gcc: all tests but those of scripts/ci-long.sh" run_tests -LE long
  part "clang with address and undefined-behavior sanitizers: compile" build_sanitized
  part "clang with address and undefined-behavior sanitizers: most of the fast tests" ctest --preset asan -j "$tests_at_once"
  part "torture: faults of all kinds, injected into the built program" scripts/torture.sh --program "$PWD/$build/dikkat"
  part "clients: other programs use what dikkat exports" check scripts/clients.sh "$build/dikkat"
  part "browser: the pages in Chromium" check scripts/browser.sh "$build/dikkat"
fi

# Skipped tests have checked nothing, so they are listed last.
skipped=$({ cat build/{release,asan}/Testing/Temporary/LastTest.log 2>/dev/null || true; } | awk '
  /: Skipped$/ { getline reason }
  /^\[  SKIPPED \] .* ms\)$/ { sub(",$", "", $4); print "  " $4 ": " reason }
' | sort -u)
if [ -n "$skipped" ]; then
  printf '\n== SKIPPED, because something is missing on this machine:\n%s\n' "$skipped"
fi
