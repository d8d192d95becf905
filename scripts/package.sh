#!/usr/bin/env bash
# Makes a Debian package with kernels for all instruction sets, and an archive of the sources: build/portable/dikkat_VERSION_amd64.deb and
# dikkat-VERSION-source.tar.xz next to it. Install it with: apt-get install ./build/portable/dikkat_VERSION_amd64.deb
set -euo pipefail
[[ $# -eq 0 ]] || { echo "package.sh: found $1, expected no arguments" >&2; exit 2; }
cd "$(dirname "$0")/.."

scripts/install-packages.sh --package
cmake --preset portable >/dev/null
cmake --build --preset portable
cd build/portable
cpack -G DEB
cpack --config CPackSourceConfig.cmake
lintian --fail-on error dikkat_*.deb
ls -1 "$PWD"/dikkat_*.deb "$PWD"/dikkat-*-source.tar.xz
