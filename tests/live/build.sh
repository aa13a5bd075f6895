#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs of a cluster from their Go modules: tests/live/build.sh [1.35|1.36|both]
#   1.35  kube-apiserver, kube-scheduler, kube-controller-manager, kubectl and etcd: build/live/bin
#   1.36  kube-apiserver alone, for the run against a newer server: build/live/bin-1.36
# go.mod and go.sum pin every module. A program that is already there from the same pins is not built again.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)

# build RELEASE MODFILE FOLDER PACKAGE...: the versions that programs report are set as upstream's build does it.
build() {
  local modfile=$1 bin=$2 version flags package name pins
  shift 2
  mkdir -p "$bin"
  pins=$(sha256sum <"${modfile%.mod}.sum" | cut -d " " -f 1)
  version=$(go list -modfile "$modfile" -m -f '{{.Version}}' k8s.io/kubernetes)
  flags="-s -w -X k8s.io/component-base/version.gitVersion=$version"
  flags+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d . -f 2 <<<"$version")"
  for package in "$@"; do
    name=${package##*/}
    [ "$name" != v3 ] || name=etcd
    if [ -x "$bin/$name" ] && [ "$(cat "$bin/$name.pins" 2>/dev/null)" = "$pins" ]; then
      continue
    fi
    echo "live-build: $name of $package, $version"
    GOFLAGS=-buildvcs=false nice -n 10 go build -modfile "$modfile" -trimpath -ldflags "$flags" -o "$bin/$name" "$package"
    echo "$pins" >"$bin/$name.pins"
  done
}

release=${1:-1.35}
case $release in 1.35 | 1.36 | both) ;; *) echo "build.sh: no release $release (1.35, 1.36, both)" >&2; exit 2 ;; esac
if [ "$release" != 1.36 ]; then
  build go.mod "$root/build/live/bin" go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kube-scheduler \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl
fi
if [ "$release" != 1.35 ]; then
  build v1.36/go.mod "$root/build/live/bin-1.36" k8s.io/kubernetes/cmd/kube-apiserver
fi
