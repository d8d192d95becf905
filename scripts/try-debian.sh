#!/usr/bin/env bash
# Runs the README's two commands in a minimal tree of a Debian release, as on a fresh machine. Needs root, mmdebstrap and network access.
#   scripts/try-debian.sh 13               the quickstart and all tests
#   scripts/try-debian.sh --compile 13     only compiles the program and its tests, without optimization
#   scripts/try-debian.sh --tree DIR 13    uses the tree in DIR, or makes one there, and keeps it; otherwise the tree is temporary
#   scripts/try-debian.sh --torch DIR      only makes a tree of Debian 13 with its PyTorch, for bench/compare_torch.py --tree DIR
# It tests the last commit, and prints how long each step took.
set -euo pipefail

usage() {
  echo "try-debian.sh: found '$*', expected [--compile] [--tree DIR] RELEASE, where RELEASE is 12 or 13, or --torch DIR" >&2
  exit 2
}

given=("$@")
compile_only='' tree='' torch=''
while [[ $# -gt 1 ]]; do
  case $1 in
    --compile) compile_only=1 ;;
    --tree)
      tree=$2
      shift
      ;;
    --torch)
      torch=1
      tree=$2
      shift
      set -- "$1" 13
      ;;
    *) usage "${given[@]}" ;;
  esac
  shift
done
case ${1:-} in
  12) suite=bookworm ;;
  13) suite=trixie ;;
  *) usage "${given[@]}" ;;
esac
if [[ $(id -u) -ne 0 ]]; then
  echo "try-debian.sh: found user $(id -un), expected root, which is needed to make a tree of another release and enter it with chroot" >&2
  exit 2
fi
command -v mmdebstrap >/dev/null || { echo "try-debian.sh: mmdebstrap not found: apt-get install mmdebstrap" >&2; exit 2; }
cd "$(dirname "$0")/.."
inside=/srv/try-dikkat  # the folder inside the tree that holds the clone

if [[ -n $torch ]]; then
  [[ ! -e $tree/etc/debian_version ]] || { echo "try-debian.sh: $tree has a tree already" >&2; exit 0; }
  mkdir -p "$tree"
  # torch.compile writes C++, and compiles it.
  exec mmdebstrap --variant=minbase --include=python3-torch,libopenblas0-openmp,g++,python3-dev,python3-setuptools,libtorch-dev "$suite" "$tree"
fi

if [[ -z $tree ]]; then
  tree=$(mktemp -d "${TMPDIR:-/var/tmp}/debian-$1-XXXXXX")
  trap 'rm -rf --one-file-system -- "$tree"' EXIT
fi

timed() {
  local what=$1 began=$SECONDS
  shift
  printf '\n== Debian %s: %s\n' "$suite" "$what"
  "$@"
  printf '== Debian %s: %s took %d min %02d s\n' "$suite" "$what" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
}

# Runs a command inside the tree, with the kernel's file systems, in a mount namespace of its own. npm uses this machine's registry and
# certificates.
enter() {
  local npm=() registry certificates bundle=/etc/npm-certificates.crt
  registry=$(npm config get registry 2>/dev/null || true)
  certificates=$(npm config get cafile 2>/dev/null || true)
  [[ -z $registry ]] || npm+=("npm_config_registry=$registry")
  if [[ -r $certificates ]]; then
    cp -L "$certificates" "$tree$bundle"
    npm+=("npm_config_cafile=$bundle" "NODE_EXTRA_CA_CERTS=$bundle")
  fi
  unshare --mount bash -c '
    set -e
    tree=$1
    shift
    mount -t proc proc "$tree/proc"
    mount --rbind /dev "$tree/dev"
    mount --rbind /sys "$tree/sys"
    cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
    exec chroot "$tree" "$@"' enter "$tree" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${npm[@]}" ${DIKKAT_REQUIRE_CLIENTS:+DIKKAT_REQUIRE_CLIENTS=1} "$@"
}

if [[ ! -e $tree/etc/debian_version ]]; then
  mkdir -p "$tree"
  timed "a minimal tree" mmdebstrap --quiet --variant=minbase "$suite" "$tree"
fi
rm -rf --one-file-system -- "$tree$inside"
mkdir -p "$tree$inside"
git clone --quiet --no-hardlinks . "$tree$inside/dikkat"
if [[ -d ../shared/data ]]; then  # read by some tests
  mkdir -p "$tree$inside/shared"
  cp -r ../shared/data "$tree$inside/shared/"
fi

if [[ -n $compile_only ]]; then
  timed "packages" enter bash -c "cd $inside/dikkat && scripts/install-packages.sh --compile-tests"
  timed "compiling without optimization" enter bash -c "cd $inside/dikkat && cmake --preset dev -DDIKKAT_OPTIMIZE=-O0 -DDIKKAT_BENCH=OFF -DCMAKE_UNITY_BUILD=ON >/dev/null &&
    cmake --build --preset dev -- -k 0"
else
  timed "scripts/quickstart.sh" enter $inside/dikkat/scripts/quickstart.sh
  timed "scripts/test.sh --all" enter $inside/dikkat/scripts/test.sh --all
fi
