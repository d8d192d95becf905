#!/usr/bin/env bash
# The pages that dikkat writes and serves, in a real browser: Debian's Chromium, driven by puppeteer-core (from npm).
#
#   scripts/browser.sh [PROGRAM]    by default build/dev/dikkat
#
# Needs npm and a way to its packages, and Chromium. Without one it says so and ends with 77: nothing was checked.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/dev/dikkat}")
folder=build/browser

skip() {
  printf 'SKIPPED: %s. No page was looked at in a browser.\n' "$*" >&2
  exit 77
}

command -v npm >/dev/null || skip "npm is not installed (apt-get install npm)"
command -v chromium >/dev/null || skip "Chromium is not installed (apt-get install chromium)"
mkdir -p "$folder"
[ -f "$folder/package.json" ] || echo '{"private": true}' > "$folder/package.json"
if [ ! -d "$folder/node_modules/puppeteer-core" ]; then
  npm install --prefix "$folder" --no-audit --no-fund --loglevel=error puppeteer-core@24.43.1 >&2 || skip "npm cannot install its packages"
fi
cp tests/browser/*.mjs "$folder"  # beside node_modules, where node looks for packages
for test in report watch text corpus site; do
  timeout 300 node "$folder/${test}_test.mjs" "$program" "$folder/$test" .
done
