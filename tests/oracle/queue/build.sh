#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the queue's oracle of one release over a copy of upstream's module with a few functions exported.
#     tests/oracle/queue/build.sh 1.35|1.36
set -euo pipefail
cd "$(dirname "$0")/.."
release=$1
out=$PWD/../../build/oracle
case $release in
  1.35) mod=go.mod tags=berth_queue ;;
  1.36) mod=v1.36/go.mod tags=berth_queue,v1_36 ;;
  *) echo "build.sh: \"$release\" is no release; 1.35 or 1.36" >&2; exit 2 ;;
esac
go mod download -modfile "$mod" k8s.io/kubernetes 2>/dev/null || go mod download k8s.io/kubernetes
source=$(go list -modfile "$mod" -m -f '{{.Dir}}' k8s.io/kubernetes)
copy=$out/$(basename "$source")
if [ ! -e "$copy/complete" ]; then
  rm -rf "$copy"
  mkdir -p "$copy"
  cp -r --no-preserve=mode "$source"/{go.mod,pkg,cmd,third_party,plugin} "$copy/"
  touch "$copy/complete"
fi
cp queue/patch/queue_export.go.txt "$copy/pkg/scheduler/backend/queue/berth_export.go"
cp queue/patch/scheduler_export.go.txt "$copy/pkg/scheduler/berth_export.go"
mkdir -p "$out/queue-$release"
cp "$mod" "$out/queue-$release/go.mod"
cp "${mod%.mod}.sum" "$out/queue-$release/go.sum"
go mod edit -replace "k8s.io/kubernetes=$copy" "$out/queue-$release/go.mod"
go build -modfile "$out/queue-$release/go.mod" -tags "$tags" -o "$out/oracle-queue-$release" ./queue
