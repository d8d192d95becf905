#!/usr/bin/env bash
# Makes a Debian package with kernels for all instruction sets, and an archive of the sources: build/portable/dikkat_VERSION_amd64.deb and
# dikkat-VERSION-source.tar.xz next to it. Install it with: apt-get install ./build/portable/dikkat_VERSION_amd64.deb
#   scripts/package.sh                for this machine's processors
#   scripts/package.sh --arch arm64   for arm64, cross-compiled on other machines: build/arm64/dikkat_VERSION_arm64.deb
#   scripts/package.sh --portable     an archive instead that runs on any Linux with glibc 2.36 or newer, without installing anything:
#                                     build/portable/dikkat-VERSION-linux-x86_64.tar.gz; also with --arch arm64
set -euo pipefail
here=$(dpkg --print-architecture)
arch=$here
portable=
while [[ $# -gt 0 ]]; do
  if [[ $1 == --portable ]]; then
    portable=1
    shift
  elif [[ $1 == --arch && $# -ge 2 ]]; then
    arch=$2
    shift 2
  else
    echo "package.sh: found '$*', expected --arch arm64, --portable, both or no arguments" >&2
    exit 2
  fi
done
cd "$(dirname "$0")/.."

case $arch-$here in
  amd64-amd64) preset=portable ;;
  arm64-arm64) preset=portable-arm64 ;;
  arm64-*) preset=arm64 ;;
  *)
    echo "package.sh: found $arch on a machine of $here, expected amd64 on such a machine, or arm64" >&2
    exit 2
    ;;
esac
if [[ $preset == arm64 ]]; then
  scripts/arm64-tree.sh build/arm64-tree
  export DEB_HOST_ARCH=arm64  # whose libraries dpkg-shlibdeps looks for
else
  scripts/install-packages.sh --package
fi
cmake --preset $preset >/dev/null
cmake --build --preset $preset
if [[ -n $portable ]]; then
  if [[ $preset == arm64 ]]; then
    scripts/bundle.sh build/arm64 build/arm64-tree
  else
    scripts/bundle.sh build/$preset
  fi
  exit
fi
cd build/$preset
cpack -G DEB
cpack --config CPackSourceConfig.cmake
lintian --fail-on error dikkat_*_"$arch".deb
ls -1 "$PWD"/dikkat_*_"$arch".deb "$PWD"/dikkat-*-source.tar.xz
