#!/usr/bin/env bash
# Formats the C++ sources with .clang-format. Releases of clang-format differ in how they break some lines, so this always uses one from npm.
#   scripts/format.sh           formats all sources
#   scripts/format.sh --check   lists the sources that are not formatted, and fails if there are any
# Without npm or access to its packages it changes nothing, and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/format
package=clang-format-node@3.0.7  # clang-format 22.1.8

if [[ $# -gt 1 || ($# -eq 1 && $1 != --check) ]]; then
  echo "format.sh: found '$*', expected --check or no argument" >&2
  exit 2
fi
if [[ ! -x $folder/node_modules/.bin/clang-format ]]; then
  if ! command -v npm >/dev/null || ! { mkdir -p "$folder" && echo '{"private": true}' > "$folder/package.json" &&
    npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "$package" >&2; }; then
    echo "format.sh: npm cannot install $package, so the format was not checked" >&2
    exit 77
  fi
fi

sources() { find autograd layers optim train tests bench examples -name '*.h' -print0 -o -name '*.cpp' -print0; }
run() { sources | xargs -0 -P "$(nproc)" -n 100 "$folder/node_modules/.bin/clang-format" "$@"; }

if [[ ${1:-} != --check ]]; then
  run -i
elif ! found=$(run --dry-run -Werror --ferror-limit=1 2>&1); then
  grep -E 'error:' <<<"$found" | sort >&2
  echo "format.sh: these sources are not formatted; run scripts/format.sh" >&2
  exit 1
fi
