#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the images of docker/ and tries each: without a daemon (buildah, chroot isolation) and without a registry (the base
# image is made by mmdebstrap from the distribution's packages). Needs root and the packages of the group `images`.
#   scripts/build_images.sh [cpu] [cuda]
# BERTH_WERROR=ON in the environment makes warnings errors. A trial places the example cluster as user 65532, without network,
# on a read-only root file system. The images stay in build/images/storage (buildah --root), logs in build/images. Last
# line: "images: N built, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "build_images: needs root, for chroot and mounts" >&2; exit 1; }

work=$PWD/build/images
base=localhost/berth-debian:12
mkdir -p "$work/ccache"

storage() {
  buildah --root "$work/storage" --runroot "$work/run" "$@"
}

make_base() {
  ! storage inspect --type image "$base" >/dev/null 2>&1 || return 0
  local container
  mmdebstrap --quiet --variant=minbase bookworm "$work/debian.tar"
  container=$(storage from scratch)
  storage add --quiet "$container" "$work/debian.tar" >/dev/null
  storage config --cmd /bin/bash "$container"
  storage commit --quiet --rm "$container" "$base" >/dev/null
  rm "$work/debian.tar"
}

# The compiler's cache is shared by both images, whose objects are equal except for device code. pip, which brings nvcc,
# trusts the certificates that this machine trusts: an index may be behind a proxy with its own. Each mount leaves an empty
# file or folder in the image.
build_image() {
  local certificates=/etc/ssl/certs/ca-certificates.crt
  local volumes=(--volume "$work/ccache:/root/.cache/ccache")
  if [ -e "$certificates" ]; then
    printf '[global]\ncert = /run/machine-certificates.crt\n' > "$work/pip.conf"
    volumes+=(--volume "$certificates:/run/machine-certificates.crt:ro" --volume "$work/pip.conf:/etc/pip.conf:ro")
  fi
  storage build --isolation chroot --layers --pull-never --build-arg "DEBIAN=$base" \
    --build-arg "BERTH_WERROR=${BERTH_WERROR:-OFF}" "${volumes[@]}" \
    --file "docker/$1.Dockerfile" --tag "localhost/berth:$1" .
}

# in_image <root> <arguments of berth ...>: as user 65532, without network, the root read-only. Its files are at $root.
in_image() {
  local root=$1
  shift
  # shellcheck disable=SC2016
  unshare --mount --net --pid --fork --kill-child sh -c '
    root=$1; shift
    mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount -o remount,bind,ro "$root" &&
      exec chroot --userspec=65532:65532 --groups= "$root" "$@"' in_image "$root" "$@"
}

# Everything that an image promises (docker/README.md). Prints what was placed and the size.
try_image() {
  local image=localhost/berth:$1 root config placed
  config=$(storage inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' "$image")
  [ "$config" = "65532:65532 [berth]" ] || { echo "$image: user and entry point are '$config'" >&2; return 1; }
  container=$(storage from --pull-never "$image")
  trap 'storage umount "$container" >/dev/null; storage rm "$container" >/dev/null' EXIT
  root=$(storage mount "$container")
  in_image "$root" berth version
  [ "$(readlink "$root/usr/local/bin/kube-scheduler")" = berth ] || { echo "$image: there is no kube-scheduler" >&2; return 1; }
  in_image "$root" berth generate --spec - --seed 1 < examples/cluster.yaml > "$work/$1-cluster.json"
  in_image "$root" berth schedule -f - < "$work/$1-cluster.json" > "$work/$1-report.txt"
  placed=$(head -n 1 "$work/$1-report.txt")
  [[ "$placed" =~ ^[1-9][0-9,\ ]*pods\ placed ]] || { echo "$image: the report begins with '$placed'" >&2; return 1; }
  if in_image "$root" touch /tmp/written 2>/dev/null; then
    echo "$image: the root file system was not read-only" >&2
    return 1
  fi
  echo "$image: $placed; $(du --summarize --one-file-system --human-readable "$root" | cut -f 1) unpacked," \
    "berth $(du --human-readable --apparent-size "$root/usr/local/bin/berth" | cut -f 1)"
}

# Runs in a subshell of its own, so that the first failing step ends this image alone and the trial's container is removed.
image() {
  build_image "$1" > "$work/$1-build.log" 2>&1 || { tail -n 30 "$work/$1-build.log" >&2; return 1; }
  try_image "$1"
}

[ $# -gt 0 ] || set -- cpu cuda
make_base
built=0
failed=0
for name in "$@"; do
  echo "== $name"
  begin=$SECONDS
  set +e
  (set -e; image "$name")
  status=$?
  set -e
  echo "== $name: $((SECONDS - begin)) s"
  if [ $status -eq 0 ]; then built=$((built + 1)); else failed=$((failed + 1)); fi
done
echo "images: $built built, $failed failed"
[ "$failed" -eq 0 ]
