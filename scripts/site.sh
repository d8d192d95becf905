#!/usr/bin/env bash
# Makes a site of the documentation: pages with navigation and search, and the library's API from its headers.
#
#   scripts/site.sh [PROGRAM]    by default build/dev/dikkat; writes build/site/html/index.html
#
# Needs Debian's mkdocs and doxygen.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/dev/dikkat}")
out=build/site
mkdir -p "$out"
python3 docs/site/pages.py "$program" . "$out"
(cd "$out" && mkdocs build --quiet --strict)
doxygen docs/site/Doxyfile
echo "$out/html/index.html"
