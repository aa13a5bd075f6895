#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the distribution's own oneTBB with ThreadSanitizer, once, and links build/tsan-tbb to it. Without it the
# sanitizer does not see how oneTBB passes work between threads, and reports every parallel loop as a race. tbbmalloc
# is left out, since the sanitizer does not see how it passes memory between threads either: oneTBB takes its arenas
# from malloc where no tbbmalloc lies beside it. The source comes through apt, from a separate source list, so that
# the machine's lists do not change. What was built stays in the user's cache, so that another checkout needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
[ ! -e build/tsan-tbb/lib/cmake/TBB/TBBConfig.cmake ] || exit 0

# shellcheck source=/dev/null
. /etc/os-release
prefix=${XDG_CACHE_HOME:-$HOME/.cache}/berth/tsan-tbb-without-malloc-$ID-$VERSION_CODENAME-g++-$(g++ -dumpfullversion)
mkdir -p build "${prefix%/*}"
ln -sfnT "$prefix" build/tsan-tbb
[ ! -e "$prefix" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work" "$prefix.$$"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
if [ "$ID" = ubuntu ]; then
  echo "deb-src http://archive.ubuntu.com/ubuntu $VERSION_CODENAME main universe" > "$work/sources.list"
else
  echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" > "$work/sources.list"
fi
options=(-q -o Acquire::Retries=5 -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
         -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache")
(
  cd "$work"
  apt-get "${options[@]}" update
  apt-get "${options[@]}" source --download-only onetbb
  tar -xf onetbb_*.orig.tar.*
)
cmake -S "$(dirname "$work"/*/CMakeLists.txt)" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=thread" -DTBB_TEST=OFF -DTBBMALLOC_BUILD=OFF -DTBB_STRICT=OFF -DTBB_EXAMPLES=OFF \
  -DCMAKE_INSTALL_PREFIX="$prefix.$$" -DCMAKE_INSTALL_LIBDIR=lib
cmake --build "$work/build" -j "$(nproc)"
cmake --install "$work/build" >/dev/null
mv -T "$prefix.$$" "$prefix"  # the last step, so that an interrupted run leaves nothing that looks whole
