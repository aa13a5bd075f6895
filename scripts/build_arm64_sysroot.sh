#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the distribution's arm64 libraries into build/arm64-sysroot, for the preset arm64: the -dev packages of the groups
# build and test of scripts/install_dependencies.sh, and what they depend on. Does nothing when that is there already.
# They are unpacked, not installed beside the machine's own, because Debian's libsimdjson-dev exists for one architecture
# at a time: installing the arm64 one removes the one that the other presets need. apt gets lists and a status file of its
# own, so that the machine's stay as they are; root is not needed.
set -euo pipefail
cd "$(dirname "$0")/.."
sysroot=$PWD/build/arm64-sysroot
wanted=$(scripts/install_dependencies.sh --list build test | grep -e '-dev$')
stamp=$sysroot/unpacked_packages.txt  # written last: an interrupted run starts again
! cmp -s <(echo "$wanted") "$stamp" || exit 0

# shellcheck source=/dev/null
. /etc/os-release
mkdir -p build
work=$(mktemp -d "$PWD/build/arm64-sysroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/sysroot"
: > "$work/status"
if [ "$ID" = ubuntu ]; then
  mirror=http://ports.ubuntu.com/ubuntu-ports
  printf 'deb %s %s main universe\n' "$mirror" "$VERSION_CODENAME" "$mirror" "$VERSION_CODENAME-updates" > "$work/sources.list"
else
  printf 'deb http://deb.debian.org/debian %s main\n' "$VERSION_CODENAME" > "$work/sources.list"
fi
options=(-q -y -o Acquire::Retries=5 -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=false
         -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Debug::NoLocking=true
         -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache"
         -o APT::Sandbox::User="$(id -un)")
apt-get "${options[@]}" update
# shellcheck disable=SC2086
apt-get "${options[@]}" install --download-only $wanted
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb --extract "$package" "$work/sysroot"
done
# Absolute links would lead out of the folder.
find "$work/sysroot" -type l -lname '/*' | while read -r link; do
  ln -sfnr "$work/sysroot$(readlink "$link")" "$link"
done
echo "$wanted" > "$work/sysroot/${stamp##*/}"
rm -rf "$sysroot"
mv "$work/sysroot" "$sysroot"
echo "build_arm64_sysroot: $(find "$work/cache/archives" -name '*.deb' | wc -l) packages in build/arm64-sysroot"
