#!/usr/bin/env bash
# Everything that a commit must pass: gcc builds and runs all tests, clang compiles all, the sanitizers run the fast tests.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-packages.sh --test

say() { printf '\n== %s\n' "$*"; }

say "gcc: build and run all tests"
cmake --preset dev >/dev/null
cmake --build --preset dev
ctest --preset dev -j "$(nproc)"

say "clang: build"
cmake --preset clang >/dev/null
cmake --build --preset clang

say "address and undefined-behaviour sanitizers: fast tests"
cmake --preset asan >/dev/null
cmake --build --preset asan
ctest --preset asan -j "$(nproc)"
