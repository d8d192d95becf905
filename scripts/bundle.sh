#!/usr/bin/env bash
# Makes an archive of a built program that runs on any Linux with glibc 2.36 or newer, without installing anything: the program, the libraries
# that it needs (all but glibc's), its recipes, texts, manual and README. scripts/package.sh --portable builds the program and calls this.
#   scripts/bundle.sh BUILD [TREE]         makes BUILD/dikkat-VERSION-linux-ARCH.tar.gz; the libraries come from TREE, by default this system
#   scripts/bundle.sh --try ARCHIVE SUITE  runs the archive in a minimal tree of a Debian suite, for example trixie (root, mmdebstrap)
set -euo pipefail

newest_glibc=2.36  # Debian 12's
repository=$(cd "$(dirname "$0")/.." && pwd)
die() { echo "bundle.sh: $*" >&2; exit 1; }
usage() { echo "bundle.sh: found '$*', expected BUILD [TREE], or --try ARCHIVE SUITE" >&2; exit 2; }

# The names of the libraries that an ELF file asks for.
needed_by() { objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'; }

# Whether glibc brings a library. It must come from the system, since it belongs to the system's loader.
is_glibc() {
  case $1 in
    ld-linux*.so.* | libc.so.6 | libm.so.6 | libmvec.so.1 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libresolv.so.2 | libutil.so.1 | libanl.so.1) return 0 ;;
    *) return 1 ;;
  esac
}

# Copies the libraries that the file $1 needs, directly or not, to the folder $2. They are searched for in the folders after it.
copy_libraries() {
  local to=$2 pending=("$1") file name folder found
  shift 2
  while [[ ${#pending[@]} -gt 0 ]]; do
    file=${pending[0]}
    pending=("${pending[@]:1}")
    for name in $(needed_by "$file"); do
      if is_glibc "$name" || [[ -e $to/$name ]]; then
        continue
      fi
      found=''
      for folder in "$@"; do
        if [[ -e $folder/$name ]]; then
          found=$folder/$name
          break
        fi
      done
      [[ -n $found ]] || die "$(basename "$file") needs $name, which is in none of: $*"
      install -m 644 "$(realpath "$found")" "$to/$name"
      pending+=("$to/$name")
    done
  done
}

# Refuses a file that needs a newer glibc than the archive promises.
check_glibc() {
  local needs
  needs=$({ objdump -T "$1" | grep -o 'GLIBC_2\.[0-9.]*' || true; } | sed 's/GLIBC_//' | sort -uV | tail -1)
  [[ "$(printf '%s\n' "${needs:-2.0}" "$newest_glibc" | sort -V | tail -1)" == "$newest_glibc" ]] ||
    die "$(basename "$1") needs glibc $needs, expected $newest_glibc at most: build on Debian 12"
}

make_archive() {
  local build=$1 tree=${2:-} machine triplet version name stage file
  [[ -x $build/dikkat ]] || die "$build/dikkat not found: scripts/package.sh --portable builds it"
  command -v patchelf >/dev/null || die "patchelf not found: apt-get install patchelf"
  case $(readelf -h "$build/dikkat") in  # objdump knows only the names of its own system's processors
    *X86-64*) machine=x86_64 ;;
    *AArch64*) machine=aarch64 ;;
    *) die "$build/dikkat is neither for x86-64 nor for arm64" ;;
  esac
  triplet=$machine-linux-gnu
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
  name=dikkat-$version-linux-$machine

  # Install, and leave out what is only for C++ programs.
  stage=$build/bundle
  rm -rf "$stage"
  cmake --install "$build" --prefix "$stage/$name" --strip >/dev/null
  rm -rf "$stage/$name"/{lib,include}
  install -m 644 "$repository/LICENSE" "$stage/$name/"

  # Put the libraries beside the program, and let it and them look only there. RPATH, unlike RUNPATH, also holds for what a library needs.
  mkdir "$stage/$name/lib"
  copy_libraries "$stage/$name/bin/dikkat" "$stage/$name/lib" "$tree/usr/lib/$triplet" "$tree/lib/$triplet" "$tree/usr/lib/$triplet/hdf5/serial"
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$stage/$name/bin/dikkat"
  for file in "$stage/$name/lib/"*; do
    patchelf --force-rpath --set-rpath '$ORIGIN' "$file"
  done
  for file in "$stage/$name/bin/dikkat" "$stage/$name/lib/"*; do
    check_glibc "$file"
  done
  copy_licenses "$stage/$name/share/doc/dikkat/licenses" "$tree" "$stage/$name/lib/"*

  # The same files give the same archive.
  tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git -C "$repository" log -1 --format=%ct)" \
    --directory "$stage" --file "$build/$name.tar.gz" "$name"
  rm -rf "$stage"
  echo "$build/$name.tar.gz"
}

# Prints the packages that the libraries with these names come from. A tree that was only unpacked has no database of packages, but
# arm64-tree.sh keeps what its packages say about their libraries ("libz.so.1 zlib1g ..." and "libz 1 zlib1g ...").
packages_of() {
  local tree=$1 library
  shift
  for library in "$@"; do
    if [[ -n $tree ]]; then
      awk -v library="$library" '$1 == library { print $2 } $1 ".so." $2 == library { print $3 }' "$tree"/DEBIAN/{symbols,shlibs}
    else
      { dpkg-query -S "*/$library" 2>/dev/null || true; } | sed -n '1s/:.*//p'
    fi
  done
}

# Copies the licenses of the Debian packages from which the libraries came.
copy_licenses() {
  local to=$1 tree=$2 package packages
  shift 2
  mkdir -p "$to"
  packages=$(packages_of "$tree" "${@##*/}" | sort -u)
  for package in $packages; do
    if [[ -e $tree/usr/share/doc/$package/copyright ]]; then
      install -m 644 "$tree/usr/share/doc/$package/copyright" "$to/$package"
    fi
  done
}

# Trains, resumes and samples by the archive in a tree in which nothing is installed.
try_archive() {
  local archive=$1 suite=$2
  [[ -e $archive ]] || die "$archive not found"
  [[ $(id -u) -eq 0 ]] || die "found user $(id -un), expected root, which is needed to make a tree and enter it with chroot"
  command -v mmdebstrap >/dev/null || die "mmdebstrap not found: apt-get install mmdebstrap"
  tree=$(mktemp -d "${TMPDIR:-/var/tmp}/bundle-$suite-XXXXXX")
  trap 'rm -rf --one-file-system -- "$tree"' EXIT
  mmdebstrap --quiet --variant=essential "$suite" "$tree"
  tar -C "$tree/opt" -xzf "$archive"
  cat >"$tree/opt/try.sh" <<'SCRIPT'
set -eu
cd /opt/dikkat-*
export HOME=/tmp LC_ALL=C.UTF-8
run=/tmp/run
bin/dikkat --version --verbose
bin/dikkat train --config quickstart --out "$run" --set train.max_steps=20 --set train.eval_interval=10 --set train.checkpoint_interval=10
bin/dikkat resume "$run" --set train.max_steps=30
bin/dikkat sample "$run" --max-new-tokens 40 --seed 1
bin/dikkat verify "$run"
SCRIPT
  unshare --mount bash -ec 'mount -t proc proc "$1/proc"; mount --bind /dev "$1/dev"; exec chroot "$1" sh /opt/try.sh' try "$tree"
}

if [[ ${1:-} == --try && $# -eq 3 ]]; then
  try_archive "$2" "$3"
elif [[ $# -ge 1 && $# -le 2 && $1 != -* ]]; then
  make_archive "$@"
else
  usage "$@"
fi
