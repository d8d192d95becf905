#!/usr/bin/env bash
# Runs the checks that are too slow for every commit, in parts. At the end it prints how long each part took.
#   scripts/ci-long.sh           all parts
#   scripts/ci-long.sh PART...   these parts, after scripts/test.sh --all has passed once; see below for their names
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/parts.sh

commit() { scripts/test.sh --all; }

benchmarks() { cmake --preset dev >/dev/null && cmake --build --preset dev; }

sanitizers() {  # all tests, with the kernels for this processor
  cmake --preset asan -DDIKKAT_MARCH=native >/dev/null && cmake --build --preset asan-all && ctest --preset asan-all -j "$(nproc)"
}

# Tests with the label long. Resume from every step on 1, 2, 3, 4 and 8 threads; limited address spaces of all sizes; Newton-Schulz with
# matrices of real models.
long_tests() {
  ctest --preset test -L long -j "$(nproc)" && DIKKAT_LONG_TESTS=1 ctest --preset dev -R "ResumeAtEveryStep|LimitedMemory|NewtonSchulz" -j "$(nproc)"
}

jobs_of_users() { scripts/jobs.sh; }

clients() { scripts/clients.sh --answers 30000 build/release/dikkat; }

torture() {
  scripts/torture.sh --program build/asan/dikkat --only corpora --only configurations &&
    scripts/torture.sh --long --afresh --state build/torture/command-kills.json --only command-kills
}

# Does torture find programs that break a promise?
mutants() { python3 tests/torture/mutants.py build/dev/dikkat build/dev/tests/torture; }

fuzzing() { scripts/fuzz.sh 1000000; }

tidy() { scripts/tidy.sh; }

threads() {  # the thread sanitizer: tasks, signals and saving
  cmake --preset tsan >/dev/null && cmake --build --preset tsan && ctest --preset tsan -j "$(nproc)"
}

clang() {  # optimized
  cmake --preset dev -B build/clang -DCMAKE_CXX_COMPILER=clang++ -DDIKKAT_BENCH=OFF >/dev/null && cmake --build build/clang &&
    ctest --test-dir build/clang --output-on-failure -j "$(nproc)"
}

portable() {  # kernels for all instruction sets, and every source with its own includes
  scripts/install-packages.sh --emulator &&
    cmake --preset dev -B build/portable-dev -DDIKKAT_MARCH=x86-64-v2 "-DDIKKAT_INSTRUCTION_SETS=sse42;avx2;avx512;avx512bf16;amx" -DDIKKAT_BENCH=OFF \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null && cmake --build build/portable-dev &&
    ctest --test-dir build/portable-dev --output-on-failure -j "$(nproc)" &&
    DIKKAT_ISA=avx2 ctest --test-dir build/portable-dev --output-on-failure -j "$(nproc)" -LE "slow|long" &&
    DIKKAT_ISA=sse42 ctest --test-dir build/portable-dev --output-on-failure -j "$(nproc)" -LE "slow|long"
}

old_processors() { scripts/old-processors.sh; }  # without AVX2, in an emulator

arm64() { scripts/install-packages.sh --long && scripts/arm64.sh; }

archive() {  # needs no installation; in trees of both Debian releases
  local suite
  scripts/package.sh --portable && scripts/install-packages.sh --try || return
  for suite in bookworm trixie; do
    scripts/bundle.sh --try build/portable/dikkat-*-linux-x86_64.tar.gz "$suite" || return
  done
}

# The README's two commands on the other Debian release.
debian() {
  local other=13
  [ "$(. /etc/os-release && echo "$VERSION_ID")" != 13 ] || other=12
  scripts/install-packages.sh --try && scripts/try-debian.sh "$other"
}

names=(commit benchmarks sanitizers long_tests jobs_of_users clients torture mutants fuzzing tidy threads clang portable old_processors arm64 archive debian)
asked=("$@")
[ $# -gt 0 ] || asked=("${names[@]}")
for name in "${asked[@]}"; do
  [[ " ${names[*]} " == *" $name "* ]] || { echo "ci-long.sh: found the part $name, expected some of: ${names[*]}" >&2; exit 2; }
done

parts_file "$PWD/build/ci-long-parts"
trap 'python3 tests/show_times.py "$parts" /dev/null /dev/null' EXIT
for name in "${asked[@]}"; do
  part "$name" "$name"
done
