#!/usr/bin/env bash
# Makes a folder with arm64 packages of this machine's Debian release, unpacked. Nothing in it has to run, so it needs no arm64 processor.
#   scripts/arm64-tree.sh DIR              what a build needs (cmake/arm64.cmake); does nothing if DIR has it
#   scripts/arm64-tree.sh --deb FILE DIR   the arm64 package FILE and what it depends on
set -euo pipefail

deb= hook=()
if [[ $# -eq 3 && $1 == --deb ]]; then
  deb=$(realpath -e "$2")
  shift 2
fi
if [[ $# -ne 1 || $1 == -* ]]; then
  echo "arm64-tree.sh: found '$*', expected [--deb FILE] DIR" >&2
  exit 2
fi
tree=$1
here=$(cd "$(dirname "$0")" && pwd)
made=$tree/.made  # says of what, once all is there
"$here/install-packages.sh" --arm64

if [[ -n $deb ]]; then
  packages=("$deb")
  # mmdebstrap wants a file at the same place inside of the folder.
  export deb
  hook=(--setup-hook='mkdir -p "$1$(dirname "$deb")" && ln "$deb" "$1$deb" 2>/dev/null || cp "$deb" "$1$deb"')
else
  mapfile -t packages < <("$here/install-packages.sh" --list-libraries)
  gcc=$(aarch64-linux-gnu-g++ -dumpversion)
  packages+=(libc6-dev "libstdc++-${gcc%%.*}-dev" libgtest-dev)
  [[ ! -e $made || $(<"$made") != "${packages[*]}" ]] || exit 0
fi
if [[ -e $tree && ! -e $made && -n $(ls -A "$tree") ]]; then
  echo "arm64-tree.sh: $tree is not empty and was not made by this script, expected another folder" >&2
  exit 2
fi
rm -rf --one-file-system -- "$tree"
mkdir -p "$(dirname "$tree")"  # in a fresh clone there is no build folder
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
included=$(IFS=, && echo "${packages[*]}")
mmdebstrap --quiet --variant=extract --architectures=arm64 --skip=essential/unlink,cleanup/apt/cache "${hook[@]}" "--include=$included" "$suite" "$tree"

# Symbolic links that begin with / lead to this machine's files.
find "$tree" -path "$tree/dev" -prune -o -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
  [[ ! -e $tree$target ]] || ln -sfr "$tree$target" "$link"
done
# A maintainer script gives HDF5 this name.
pkgconfig=$tree/usr/lib/aarch64-linux-gnu/pkgconfig
[[ ! -e $pkgconfig/hdf5-serial.pc ]] || ln -sf hdf5-serial.pc "$pkgconfig/hdf5.pc"

# What dpkg-shlibdeps reads about libraries that it finds in a folder with this name.
mkdir -p "$tree/DEBIAN"
for file in "$tree"/var/cache/apt/archives/*.deb; do
  for kind in symbols shlibs; do
    dpkg-deb --info "$file" $kind 2>/dev/null >>"$tree/DEBIAN/$kind" || true  # most have none
  done
done
if [[ -n $deb ]]; then
  dpkg-deb --extract "$deb" "$tree"
  rm "$tree$deb"
  (cd "$tree" && rmdir -p --ignore-fail-on-non-empty "$(dirname "${deb#/}")")
fi
rm -rf "$tree/var/cache/apt/archives"
echo "${packages[*]}" >"$made"
