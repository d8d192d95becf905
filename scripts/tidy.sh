#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy on all code, or on the given files: scripts/tidy.sh [FILE.cpp...]. Exits with 1 if there are
# findings. Headers are checked with the sources that include them. Nothing is built; build/tidy only provides the flags of each file.
set -euo pipefail
cd -P "$(dirname "$0")/.."

command -v clang-tidy >/dev/null || scripts/install-packages.sh --lint
cmake --preset dev -B build/tidy -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null

if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find autograd layers optim train bench examples -name '*.cpp' | sort)
fi
# Files that the build does not compile have no flags, and cannot be checked.
known=()
for file in "${files[@]}"; do
  path=$(realpath -- "$file")
  if grep -qF "\"file\": \"$path\"" build/tidy/compile_commands.json; then
    known+=("$path")
  else
    echo "tidy: $file is not compiled by this build and is skipped" >&2
  fi
done
if [ ${#known[@]} -eq 0 ]; then
  if [ $# -gt 0 ]; then
    exit 0
  fi
  echo "tidy: none of the files is compiled by this build" >&2
  exit 1
fi
printf '%s\0' "${known[@]}" |
  xargs -0 -n1 -P "$(nproc)" sh -c 'clang-tidy -p build/tidy --quiet --warnings-as-errors="*" "$0" 2>/dev/null || exit 1' || exit 1
