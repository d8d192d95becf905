#!/usr/bin/env bash
# Builds the whole program for arm64 on another machine, and runs it and its tests in an emulator of several processors. It measures nothing.
#   scripts/arm64.sh                builds and runs everything below
#   scripts/arm64.sh tests          the tests of base, kernels, ops, layers and the golden tests
#   scripts/arm64.sh program        a quickstart of some steps, resume, sample, eval and export; losses beside this machine's program
#   scripts/arm64.sh package        the Debian package, its files and dependencies unpacked, and the portable archive; the same commands by both
set -euo pipefail
parts=("$@")
[[ $# -gt 0 ]] || parts=(tests program package)
for part in "${parts[@]}"; do
  [[ $part =~ ^(tests|program|package)$ ]] || { echo "arm64.sh: found $part, expected tests, program or package" >&2; exit 2; }
done
cd "$(dirname "$0")/.."

# The emulated processors: all that the emulator knows, BF16 and I8MM among it; with SDOT; with neither.
processors=(max neoverse-n1 cortex-a72)
build=build/arm64
tree=$PWD/build/arm64-tree
scripts/arm64-tree.sh "$tree"
emulator=$(command -v qemu-aarch64 qemu-aarch64-static | head -1)

say() { printf '\n-- arm64: %s\n' "$*"; }

# Tries the program $2 with the libraries in $1 on each of the processors that follow, beside the program that was built for this machine.
try_program() {
  local root=$1 program=$2 peer=() file processor
  shift 2
  for file in build/release/dikkat build/dev/dikkat; do
    [[ ! -x $file ]] || peer=(--peer "$file")
  done
  for processor in "$@"; do
    say "$program on $processor"
    python3 tests/processor/try_program.py "${peer[@]}" "$emulator" -cpu "$processor" -L "$root" "$program"
  done
}

for part in "${parts[@]}"; do
  case $part in
    tests)
      say "base and kernels"
      cmake -S tests/aarch64 -B build/aarch64 -G Ninja >/dev/null
      cmake --build build/aarch64
      ctest --test-dir build/aarch64 --output-on-failure -j "$(nproc)"
      say "pages of 64 KiB, as some systems have"
      "$emulator" -p 65536 -L "$tree" build/aarch64/test_base --gtest_brief=1 --gtest_filter='Pages.*'

      programs=(ops layers golden)
      say "build tests of ${programs[*]}"
      cmake --preset arm64 -DDIKKAT_TESTS=ON -DDIKKAT_TESTS_TOGETHER=ON >/dev/null
      cmake --build --preset arm64 --target "${programs[@]/#/test_}" lacking_program lacking_library lacking_nothing
      ctest --test-dir "$build" --output-on-failure -R '^processor: '
      for program in "${programs[@]}"; do
        say "tests of $program"
        GOMP_SPINCOUNT=1000 OMP_NUM_THREADS=2 "$emulator" -cpu max -L "$tree" "$build/tests/test_$program" --gtest_brief=1
      done
      ;;
    program)
      say "build the program"
      cmake --preset arm64 >/dev/null
      cmake --build --preset arm64 --target dikkat
      try_program "$tree" "$build/dikkat" "${processors[@]}"
      ;;
    package)
      say "package"
      scripts/package.sh --arch arm64
      unpacked=$PWD/build/arm64-unpacked
      scripts/arm64-tree.sh --deb "$build"/dikkat_*_arm64.deb "$unpacked"
      try_program "$unpacked" "$unpacked/usr/bin/dikkat" max

      say "portable archive, with no libraries but those of the cross compiler's glibc"
      rm -rf "$build/archive"
      mkdir "$build/archive"
      tar -xf "$(scripts/package.sh --portable --arch arm64 | tail -1)" -C "$build/archive"
      try_program /usr/aarch64-linux-gnu "$build"/archive/*/bin/dikkat cortex-a72
      ;;
  esac
done
