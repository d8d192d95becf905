#!/usr/bin/env bash
# Formats the C++ sources with .clang-format, and the scripts and styles of pages and tests with .prettierrc.json. Releases of clang-format
# and prettier differ in how they break some lines, so this always uses those from npm.
#   scripts/format.sh           formats all sources
#   scripts/format.sh --check   lists the sources that are not formatted, and fails if there are any
# Without npm or access to its packages it changes nothing, and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/format
bin=$folder/node_modules/.bin
packages=(clang-format-node@3.0.7 prettier@3.10.1)  # the first one is clang-format 22.1.8

if [[ $# -gt 1 || ($# -eq 1 && $1 != --check) ]]; then
  echo "format.sh: found '$*', expected --check or no argument" >&2
  exit 2
fi
if [[ ! -x $bin/clang-format || ! -x $bin/prettier ]]; then
  if ! command -v npm >/dev/null || ! { mkdir -p "$folder" && echo '{"private": true}' > "$folder/package.json" &&
    npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "${packages[@]}" >&2; }; then
    echo "format.sh: npm cannot install ${packages[*]}, so the format was not checked" >&2
    exit 77
  fi
fi

cpp_sources() { find autograd layers optim train tests bench examples -name '*.h' -print0 -o -name '*.cpp' -print0; }
page_sources() { find train/web tests \( -name '*.js' -o -name '*.mjs' -o -name '*.css' \) ! -name '*.min.*' -print0; }  # .min: of others
clang_format() { cpp_sources | xargs -0 -P "$(nproc)" -n 100 "$bin/clang-format" "$@"; }
prettier() { page_sources | xargs -0 "$bin/prettier" "$@"; }

if [[ ${1:-} != --check ]]; then
  clang_format -i
  prettier --write --log-level=warn
  exit
fi
is_formatted=yes
if ! found=$(clang_format --dry-run -Werror --ferror-limit=1 2>&1); then
  grep -E 'error:' <<<"$found" | sort >&2
  is_formatted=
fi
prettier --list-different >&2 || is_formatted=
if [[ -z $is_formatted ]]; then
  echo "format.sh: these sources are not formatted; run scripts/format.sh" >&2
  exit 1
fi
