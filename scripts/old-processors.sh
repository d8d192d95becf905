#!/usr/bin/env bash
# Tries the program in an emulator of x86-64 processors without AVX2. It measures nothing.
#   scripts/old-processors.sh             everything below
#   scripts/old-processors.sh portable    the program for all processors (preset portable), on processors with SSE4.2 and with AVX
#   scripts/old-processors.sh native      the program that scripts/quickstart.sh builds on a laptop with AVX and without AVX2
#   scripts/old-processors.sh build       only builds the latter, as build/ivybridge/dikkat: scripts/jobs.sh needs it
set -euo pipefail
parts=("$@")
[[ $# -gt 0 ]] || parts=(portable native)
for part in "${parts[@]}"; do
  [[ $part =~ ^(portable|native|build)$ ]] || { echo "old-processors.sh: found $part, expected portable, native or build" >&2; exit 2; }
done
cd "$(dirname "$0")/.."
[[ $(uname -m) == x86_64 ]] || { echo "old-processors.sh: found $(uname -m), expected x86_64: the programs are not cross-compiled" >&2; exit 77; }
scripts/install-packages.sh --emulator

say() { printf '\n-- old processors: %s\n' "$*"; }

# Tries the program $1 on each of the processors that follow, beside the program that was built for this machine.
try_program() {
  local program=$1 peer=() file processor
  shift
  for file in build/release/dikkat build/dev/dikkat; do
    [[ ! -x $file ]] || peer=(--peer "$file")
  done
  for processor in "$@"; do
    say "$program on $processor"
    python3 tests/processor/try_program.py "${peer[@]}" --instructions SSE4.2 qemu-x86_64 -cpu "$processor" "$program"
  done
}

build_native() {
  say "build the program for Ivy Bridge"
  cmake --preset release -B build/ivybridge -DDIKKAT_MARCH=ivybridge >/dev/null
  cmake --build build/ivybridge --target dikkat
}

for part in "${parts[@]}"; do
  case $part in
    portable)
      say "build the program for all processors"
      cmake --preset portable >/dev/null
      cmake --build --preset portable --target dikkat
      try_program build/portable/dikkat Nehalem SandyBridge
      ;;
    native) build_native && try_program build/ivybridge/dikkat IvyBridge ;;
    build) build_native ;;
  esac
done
