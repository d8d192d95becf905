#!/usr/bin/env bash
# check_package.sh BUILD WORK: packages a build, and inspects the packages. scripts/package.sh packages the files that users install.
set -euo pipefail
build=$(realpath "$1")
work=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$work"
mkdir -p "$work"
work=$(realpath "$work")

fail() {
  echo "package: $*" >&2
  exit 1
}

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$work/cpack.log" || fail "$(cat "$work/cpack.log")"
deb=$(echo "$work"/dikkat_*.deb)
lintian --allow-root --fail-on error "$deb" || fail "lintian finds errors"

# The installed files work from their place.
dpkg-deb -x "$deb" "$work/unpacked"
usr=$work/unpacked/usr
[ "$(cd "$work" && "$usr/bin/dikkat" --version)" = "$("$build/dikkat" --version)" ] || fail "the program says another version"
(cd "$work" && "$usr/bin/dikkat" plan --config quickstart --set train.batch_size=1 --json) >/dev/null || fail "the recipes are not found"
for file in share/man/man1/dikkat.1.gz share/man/man1/dikkat-train.1.gz share/bash-completion/completions/dikkat share/zsh/vendor-completions/_dikkat \
            share/fish/vendor_completions.d/dikkat.fish share/doc/dikkat/copyright share/doc/dikkat/changelog.gz share/doc/dikkat/docs/TUTORIAL.md; do
  [ -s "$usr/$file" ] || fail "the package has no $file"
done

# The package requires the libraries of the release that it was built on, whose names and versions differ from release to release.
depends=$(dpkg-deb -f "$deb" Depends)
for library in libhdf5 libtbb libfmt libssl libpcre2 libutf8proc libedit libzstd zlib1g libgomp libstdc++ libc6; do
  grep -q "$library" <<<"$depends" || fail "the package does not ask for $library: $depends"
done
for name in $(sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g' <<<"$depends"); do
  dpkg-query -W -f='${Status}' "$name" | grep -q 'ok installed' || fail "the package asks for $name, which is not what it was linked with"
done

# The archive has the files that git has.
cpack --config "$build/CPackSourceConfig.cmake" -G TGZ -B "$work" >"$work/cpack.log" || fail "$(cat "$work/cpack.log")"
archive=$(echo "$work"/dikkat-*-source.tar.gz)
tar -tzf "$archive" | grep -v '/$' | cut -d / -f 2- | sort >"$work/archived"
grep -qx CMakeLists.txt "$work/archived" || fail "the archive has no CMakeLists.txt"
if git -C "$source" rev-parse --show-toplevel 2>/dev/null | grep -qx "$source"; then
  git -C "$source" ls-files -co --exclude-standard | while read -r file; do [ -e "$source/$file" ] && echo "$file"; done | sort >"$work/known"
  diff "$work/known" "$work/archived" || fail "the archive (>) differs from what git knows (<)"
fi
