#!/usr/bin/env bash
# Tests the pages that dikkat writes and serves in a real browser: Debian's Chromium, driven by puppeteer-core (from npm).
#
#   scripts/browser.sh [PROGRAM]    by default build/dev/dikkat
#
# Needs Chromium, npm and access to its packages. If one is missing, prints that nothing was checked, and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/dev/dikkat}")
folder=build/browser

skip() {
  printf 'SKIPPED: %s. No page was tested in a browser.\n' "$*" >&2
  exit 77
}

command -v npm >/dev/null || skip "npm is not installed (apt-get install npm)"
command -v chromium >/dev/null || skip "Chromium is not installed (apt-get install chromium)"
mkdir -p "$folder"
[ -f "$folder/package.json" ] || echo '{"private": true}' > "$folder/package.json"
if [ ! -d "$folder/node_modules/puppeteer-core" ]; then
  npm install --prefix "$folder" --no-audit --no-fund --loglevel=error puppeteer-core@24.43.1 >&2 || skip "npm cannot install its packages"
fi
if [ ! -d "$folder/node_modules/axe-core" ]; then  # rules of accessibility, for the chat page
  npm install --prefix "$folder" --no-audit --no-fund --loglevel=error axe-core@4.14.1 >&2 || true  # the test says if it is missing
fi
cp tests/browser/*.mjs "$folder"  # next to node_modules, where node looks for packages
printf '%s\n' report watch text corpus site chat | xargs -P "$(nproc)" -I TEST timeout 600 node "$folder/TEST_test.mjs" "$program" "$folder/TEST" .
