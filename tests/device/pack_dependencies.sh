#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collects the libraries for building and testing Berth into a folder that can be copied to a machine without a network,
# for tests/device.sh --deps. Needs apt and a network, not root; changes nothing on this machine.
#   tests/device/pack_dependencies.sh DIR
# The packages are those of scripts/install_dependencies.sh, without compilers and tools that a device machine has, plus
# their dependencies by an exact version: the shared library of each -dev package, and nothing of the system's C and C++
# libraries. DIR must be empty or made by this script.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
mark=berth-dependencies.txt  # the packages and versions in DIR; says that DIR is ours
largest_mib=64

say_and_fail() {
  echo "pack_dependencies: $1" >&2
  exit 1
}

# pkg-config is an empty package that leads to two others, though not by an exact version.
wanted_packages() {
  "$repository/scripts/install_dependencies.sh" --list build test |
    grep -vxE 'g\+\+|cmake|ccache|mold|python3|zstd' | sed 's/^pkg-config$/pkgconf-bin\nlibpkgconf3/'
}

# The named packages and their dependencies by an exact version, recursively.
with_exact_dependencies() {
  local known=() queue=("$@") package
  while [ ${#queue[@]} -gt 0 ]; do
    package=${queue[0]}
    queue=("${queue[@]:1}")
    [[ " ${known[*]} " != *" $package "* ]] || continue
    known+=("$package")
    mapfile -t -O ${#queue[@]} queue < <(apt-cache show --no-all-versions "$package" |
      sed -n 's/^Depends: //p' | tr ',' '\n' | sed -nE 's/^ *([^ :]+)(:any)? \(= .*/\1/p')
  done
  printf '%s\n' "${known[@]}"
}

# Debian spreads one prefix over / and /usr; make it one, with links that stay inside.
gather_under_usr() {
  local folder link target
  for folder in lib lib64; do
    if [ -d "$1/$folder" ]; then
      mkdir -p "$1/usr/$folder"
      cp -a "$1/$folder/." "$1/usr/$folder/"
      rm -r "${1:?}/$folder"
    fi
  done
  find "$1" -type l -lname '/*' | while read -r link; do
    target=$(readlink "$link")
    [[ $target == /usr/* ]] || target=/usr$target
    ln -sfnr "$1$target" "$link"
  done
}

# pkg-config files name /usr; replace it by the folder above their own.
make_pkg_config_relocatable() {
  local file up libdir
  find "$1/usr" -path '*/pkgconfig/*.pc' | while read -r file; do
    up=$(realpath --relative-to "$(dirname "$file")" "$1/usr")
    libdir=$(realpath --relative-to "$1/usr" "$(dirname "$file")/..")
    sed -i -e "s|^prefix=.*|prefix=\${pcfiledir}/$up|" -e "s|^libdir=.*|libdir=\${prefix}/$libdir|" \
      -e "s|^includedir=/usr/|includedir=\${prefix}/|" "$file"
  done
  mkdir -p "$1/bin"
  cat > "$1/bin/pkg-config" <<'WRAPPER'
#!/bin/sh
# pkg-config with its packed library.
here=$(dirname "$(readlink -f "$0")")
for folder in "$here"/../usr/lib/*-linux-*/pkgconfig; do libraries=$(dirname "$folder"); done
LD_LIBRARY_PATH=$libraries exec "$here/../usr/bin/pkgconf" "$@"
WRAPPER
  chmod +x "$1/bin/pkg-config"
}

[ $# -eq 1 ] || say_and_fail "usage: tests/device/pack_dependencies.sh DIR"
for tool in apt-get apt-cache dpkg-deb; do
  command -v "$tool" >/dev/null || say_and_fail "this needs $tool"
done
destination=$1
if [ -e "$destination" ] && [ ! -e "$destination/$mark" ] && [ -n "$(ls -A "$destination")" ]; then
  say_and_fail "$destination is not empty and was not made by this script"
fi
mkdir -p "$(dirname "$destination")"
work=$(mktemp -d "$(dirname "$destination")/pack.XXXXXX")  # beside the target, so that the last step is a rename
trap 'rm -rf "$work"' EXIT

mapfile -t wanted < <(wanted_packages)
mapfile -t packages < <(with_exact_dependencies "${wanted[@]}")
mkdir "$work/archives" "$work/prefix"
(cd "$work/archives" && apt-get download -q "${packages[@]}" >"$work/log" 2>&1) || {
  cat "$work/log" >&2
  say_and_fail "apt-get download failed; has 'apt-get update' been run?"
}
for archive in "$work"/archives/*.deb; do
  dpkg-deb -x "$archive" "$work/prefix"
  dpkg-deb --show "$archive" >> "$work/prefix/$mark"
done
rm -rf "$work"/prefix/usr/share/{doc,man,lintian,bug} "$work/prefix/usr/src"
gather_under_usr "$work/prefix"
make_pkg_config_relocatable "$work/prefix"

mib=$(du -sm "$work/prefix" | cut -f1)
[ "$mib" -le "$largest_mib" ] || say_and_fail "the packages come to $mib MiB, more than $largest_mib"
rm -rf "$destination"
mv "$work/prefix" "$destination"
echo "pack_dependencies: ${#packages[@]} packages, $mib MiB, in $destination"
