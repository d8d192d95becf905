#!/usr/bin/env bash
# Runs the checks that are too slow for every commit: all tests under the sanitizers, with clang, and in a portable build.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/test.sh --all

say() { printf '\n== %s\n' "$*"; }

say "benchmarks: build"
cmake --preset dev >/dev/null
cmake --build --preset dev

say "sanitizers: all tests, with the kernels for this processor"
cmake --preset asan -DDIKKAT_MARCH=native >/dev/null
cmake --build --preset asan-all
ctest --preset asan-all -j "$(nproc)"

say "resume from every step on 1, 2, 3, 4 and 8 threads; limited address spaces of all sizes; Newton-Schulz with matrices of real models"
DIKKAT_LONG_TESTS=1 ctest --preset dev -R "ResumeAtEveryStep|LimitedMemory|NewtonSchulz" -j "$(nproc)"

say "jobs: from users' files to their ends"
scripts/jobs.sh

say "clients: 30,000 forced answers"
scripts/clients.sh --answers 30000 build/release/dikkat

say "torture: texts and configurations, under the sanitizers"
scripts/torture.sh --program build/asan/dikkat --only corpora --only configurations

say "torture: 20 kills of each command that writes"
scripts/torture.sh --long --afresh --state build/torture/command-kills.json --only command-kills

say "torture: does it find programs that break a promise?"
python3 tests/torture/mutants.py build/dev/dikkat build/dev/tests/torture

say "fuzzing: a million inputs for each target"
scripts/fuzz.sh 1000000

say "clang-tidy"
scripts/tidy.sh

say "thread sanitizer: tasks, signals and saving"
cmake --preset tsan >/dev/null
cmake --build --preset tsan
ctest --preset tsan -j "$(nproc)"

say "clang, optimized: build and run all tests"
cmake --preset dev -B build/clang -DCMAKE_CXX_COMPILER=clang++ -DDIKKAT_BENCH=OFF >/dev/null
cmake --build build/clang
ctest --test-dir build/clang --output-on-failure -j "$(nproc)"

scripts/install-packages.sh --long
say "portable, with kernels for all instruction sets, every source with its own includes: build and run all tests"
cmake --preset dev -B build/portable-dev -DDIKKAT_MARCH=x86-64-v3 "-DDIKKAT_INSTRUCTION_SETS=avx2;avx512;avx512bf16;amx" -DDIKKAT_BENCH=OFF \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
cmake --build build/portable-dev
ctest --test-dir build/portable-dev --output-on-failure -j "$(nproc)"
DIKKAT_ISA=avx2 ctest --test-dir build/portable-dev --output-on-failure -j "$(nproc)" -LE slow

say "arm64, cross-compiled: tests, the program and its package in an emulator"
scripts/arm64.sh

say "the archive that needs no installation, in trees of both Debian releases"
scripts/package.sh --portable
scripts/install-packages.sh --try
for suite in bookworm trixie; do
  scripts/bundle.sh --try build/portable/dikkat-*-linux-x86_64.tar.gz "$suite"
done

say "the README's two commands on the other Debian release"
scripts/install-packages.sh --try
scripts/try-debian.sh "$(. /etc/os-release && [ "$VERSION_ID" = 13 ] && echo 12 || echo 13)"
