# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What tests/device.sh does where it builds: finds tools and libraries, builds, and packs. Sourced by it; uses its step(),
# record() and options.
# shellcheck disable=SC2154  # assigned there

find_nvcc() {
  local candidate
  if [ -n "${CUDACXX:-}" ]; then
    command -v "$CUDACXX" && return
    echo "no nvcc: CUDACXX is $CUDACXX" >&2
    return 1
  fi
  for candidate in nvcc /usr/local/cuda/bin/nvcc "$PWD/build/cuda-toolkit/nvidia/cu13/bin/nvcc"; do
    command -v "$candidate" && return
  done
  echo "no nvcc: not in CUDACXX, on the PATH, in /usr/local/cuda or in build/cuda-toolkit" >&2
  return 1
}

find_tools() {
  local tool compiler
  CUDACXX=$(find_nvcc 2> "$run/tools.log") || { record tools failed 0 0 "$(cat "$run/tools.log")"; return 1; }
  export CUDACXX
  for tool in cmake ctest "${CXX:-g++}"; do
    command -v "$tool" >/dev/null || { record tools failed 0 0 "no $tool on the PATH"; return 1; }
  done
  compiler=$("${CXX:-g++}" --version | head -n 1)
  {
    printf 'nvcc\t%s\n' "$("$CUDACXX" --version | sed -n 's/.*release.*, V//p')"
    printf 'compiler\t%s\n' "$compiler"
    printf 'cmake\t%s\n' "$(cmake --version | sed -n 's/^cmake version //p')"
    printf 'driver\t%s\n' "$(driver_version)"
  } > "$run/versions.tsv"
  sed 's/\t/: /' "$run/versions.tsv"
  record tools passed 0 0 ""
}

# What nvcc is told of --arch, for the probe.
arch_of_nvcc() {
  [ -z "$arch" ] || echo "-gencode=arch=compute_$arch,code=sm_$arch"
}

build_probe() {
  # shellcheck disable=SC2046  # one word or none
  step probe-build 180 "$CUDACXX" -std=c++17 -O1 $(arch_of_nvcc) -o "$1" tests/device/probe.cu
}

# Sets configure_options and the environment for packed libraries, or names those that the system lacks.
find_dependencies() {
  local package missing=() libraries mark
  configure_options=()
  if [ -n "$deps" ]; then
    if [ -f "$deps" ]; then
      rm -rf "$build/deps" && mkdir -p "$build/deps"
      tar -xf "$deps" -C "$build/deps" || { record dependencies failed 0 0 "tar cannot read $deps"; return 1; }
      deps=$build/deps
    fi
    mark=$(find "$deps" -maxdepth 3 -name berth-dependencies.txt -print -quit)
    [ -n "$mark" ] || { record dependencies failed 0 0 "$deps was not made by --pack-deps"; return 1; }
    deps=$(dirname "$(readlink -f "$mark")")
    libraries=$(find "$deps/usr/lib" -maxdepth 1 -name '*-linux-*' -print -quit)
    # Old tags: the path to packed libraries also applies to the libraries that they need.
    configure_options=("-DCMAKE_PREFIX_PATH=$deps/usr" "-DCMAKE_LIBRARY_PATH=$libraries"
                       "-DPKG_CONFIG_EXECUTABLE=$deps/bin/pkg-config"
                       "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags")
    export PKG_CONFIG_PATH=$libraries/pkgconfig:$deps/usr/lib/pkgconfig:$deps/usr/share/pkgconfig
    export PATH=$PATH:$deps/usr/bin  # ninja, where the system has none
  elif command -v dpkg-query >/dev/null; then
    for package in $(scripts/install_dependencies.sh --list build test | grep -E -- '(-dev|^pkg-config)$'); do
      [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
      record dependencies failed 0 0 "not installed (--deps DIR brings them without a network): ${missing[*]}"
      return 1
    fi
  fi
  command -v ninja >/dev/null || configure_options+=(-G "Unix Makefiles")
  record dependencies passed 0 0 ""
}

# Only what runs on a device.
build_all() {
  local targets options=()
  mapfile -t targets < <(python3 tests/device/programs.py targets)
  [ -z "$arch" ] || options=("-DCMAKE_CUDA_ARCHITECTURES=$arch-real")
  find_dependencies &&
    step configure 300 cmake --preset cuda -B "$build" -DBERTH_TESTS=ON "${options[@]}" "${configure_options[@]}" &&
    step build 3600 cmake --build "$build" -j "$jobs" --target "${targets[@]}" && programs=$build
}

# Whether $programs is a build folder of this checkout.
is_built_here() {
  [ "$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$programs/CMakeCache.txt" 2>/dev/null)" = "$PWD" ]
}

# Builds without a GPU, and packs. Programs of another checkout are of nobody knows which commit.
make_bundle() {
  local targets changed
  changed=$(dirty)
  find_tools || return 1
  if [ -z "$programs" ]; then
    build_all || return 1
  elif is_built_here; then
    mapfile -t targets < <(python3 tests/device/programs.py targets)
    step build 3600 cmake --build "$programs" -j "$jobs" --target "${targets[@]}" || return 1
  else
    changed=yes
  fi
  build_probe "$run/probe" &&
    step pack 600 python3 tests/device/bundle.py pack "$pack" --programs "$programs" --probe "$run/probe" \
      --facts "commit=$(commit)" --facts "dirty=$changed" --facts "source=$PWD" --facts "arch=${arch:-default}" \
      --facts "nvcc=$(version_of nvcc)" --facts "compiler=$(version_of compiler)" --facts "cmake=$(version_of cmake)" &&
    cat "$run/pack.log"
}

version_of() {
  sed -n "s/^$1\t//p" "$run/versions.tsv"
}
