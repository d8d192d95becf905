#!/usr/bin/env bash
# Installs the Debian packages that a build needs. Does nothing if all are installed. Options add more packages:
#   --fast-tests      to run the tests that are not slow
#   --test            to run all tests
#   --compile-tests   only to compile the tests
#   --package         for scripts/package.sh
#   --lint            for scripts/tidy.sh
#   --long            for other processors, in scripts/ci-long.sh
#   --emulator        for scripts/old-processors.sh
#   --try             for scripts/try-debian.sh, which needs none of the others
#   --arm64           to build for arm64 on this machine (scripts/arm64-tree.sh has the libraries); none of the others is needed
#   --list-libraries  installs nothing, and prints the libraries that a build needs
set -euo pipefail

tools=(g++ cmake ninja-build pkg-config)
libraries=(libeigen3-dev libhdf5-dev libtbb-dev libtomlplusplus-dev libcli11-dev libfmt-dev nlohmann-json3-dev libssl-dev libpcre2-dev
           libutf8proc-dev libedit-dev robin-map-dev zlib1g-dev libzstd-dev libboost-dev)
packages=("${tools[@]}" "${libraries[@]}")
if [ "${1:-}" = --fast-tests ]; then
  packages+=(libgtest-dev mold hdf5-tools zstd python3 python3-h5py python3-numpy file fish zsh)
elif [ "${1:-}" = --test ]; then
  packages+=(libgtest-dev clang libclang-rt-dev libomp-dev hdf5-tools curl golang-go strace ccache mold zstd python3 python3-h5py python3-numpy
             python3-torch chromium fonts-dejavu-core mkdocs doxygen dpkg-dev file lintian fish zsh
             openmpi-bin libopenmpi-dev mpich libmpich-dev)
  command -v npm >/dev/null || packages+=(nodejs npm)
elif [ "${1:-}" = --compile-tests ]; then
  packages+=(libgtest-dev mold)
elif [ "${1:-}" = --package ]; then
  packages+=(dpkg-dev file lintian patchelf)
elif [ "${1:-}" = --lint ]; then
  packages+=(clang libclang-rt-dev libomp-dev libgtest-dev clang-tidy)
elif [ "${1:-}" = --try ]; then
  packages=(mmdebstrap)
elif [ "${1:-}" = --emulator ]; then
  packages+=(qemu-user)
elif [ "${1:-}" = --long ]; then
  packages+=(g++-aarch64-linux-gnu qemu-user googletest)
elif [ "${1:-}" = --arm64 ]; then
  packages=(cmake ninja-build pkg-config g++-aarch64-linux-gnu qemu-user mmdebstrap googletest libeigen3-dev dpkg-dev file lintian patchelf python3)
elif [ "${1:-}" = --list-libraries ]; then
  printf '%s\n' "${libraries[@]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "install-packages: apt-get not found, so this is not Debian; install the equivalents of ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
fi
echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
