#!/usr/bin/env bash
# Installs the Debian packages for a build; with --test also those for the tests, with --compile-tests only those that compiling the tests takes,
# with --package those for scripts/package.sh, with --try those for scripts/try-debian.sh, with --lint those for scripts/tidy.sh, with --long those for other processors (scripts/ci-long.sh).
# Does nothing if all are installed.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libeigen3-dev libhdf5-dev libtbb-dev libtomlplusplus-dev libcli11-dev
          libfmt-dev nlohmann-json3-dev libssl-dev libpcre2-dev libutf8proc-dev libedit-dev robin-map-dev zlib1g-dev libzstd-dev libboost-dev)
if [ "${1:-}" = --test ]; then
  packages+=(libgtest-dev clang libclang-rt-dev libomp-dev hdf5-tools strace ccache mold zstd python3 python3-h5py python3-numpy
             python3-torch chromium fonts-dejavu-core mkdocs doxygen dpkg-dev file lintian fish zsh
             openmpi-bin libopenmpi-dev mpich libmpich-dev)
  command -v npm >/dev/null || packages+=(nodejs npm)
elif [ "${1:-}" = --compile-tests ]; then
  packages+=(libgtest-dev mold)
elif [ "${1:-}" = --package ]; then
  packages+=(dpkg-dev file lintian)
elif [ "${1:-}" = --lint ]; then
  packages+=(clang libclang-rt-dev libomp-dev libgtest-dev clang-tidy)
elif [ "${1:-}" = --try ]; then
  packages=(mmdebstrap)
elif [ "${1:-}" = --long ]; then
  packages+=(g++-aarch64-linux-gnu qemu-user googletest)
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
  echo "install-packages: apt-get not found, as this is not Debian; install what corresponds to ${missing[*]}" >&2
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
