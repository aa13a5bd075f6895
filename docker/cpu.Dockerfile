# SPDX-License-Identifier: Apache-2.0
# The program without CUDA, and what it is built and tested with. docker/README.md has the commands.
# The digest is that of an index for several architectures; docker/README.md says where it is from and how to renew it.
ARG DEBIAN=debian:12-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241

FROM ${DEBIAN} AS tools
COPY scripts/install_dependencies.sh /src/scripts/
WORKDIR /src
RUN scripts/install_dependencies.sh build \
 && rm -rf /var/lib/apt/lists/*
ENV LANG=C.UTF-8

# For work on Berth: the tree is mounted at /src, not copied.
FROM tools AS development
# hadolint ignore=DL3008
RUN scripts/install_dependencies.sh test bench lint fuzz \
 && apt-get install -q -y --no-install-recommends ca-certificates git make \
 && rm -rf /var/lib/apt/lists/*

FROM tools AS build
ARG BERTH_WERROR=OFF
COPY . /src
RUN cmake --preset host -DBERTH_TESTS=OFF -DBERTH_CUDA=OFF -DBERTH_WERROR=${BERTH_WERROR} -DBERTH_UNITY=8 \
 && cmake --build --preset host \
 && cmake --install build/host --prefix /opt/berth --strip

FROM ${DEBIAN} AS program
# What `ldd` says the program needs beyond the C and C++ libraries; the distribution's own versions, as in the stage above.
# hadolint ignore=DL3008
RUN apt-get update -q \
 && apt-get install -q -y --no-install-recommends libcpp-httplib0.11 libcurl4 libfmt9 libmimalloc2.0 libprometheus-cpp-core1.0 libsimdjson14 \
      libspdlog1.10 libsqlite3-0 libssl3 libtbb12 libutf8proc2 libxxhash0 libyaml-0-2 libzstd1 zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/berth /usr/local
# Called by that name, the program is `berth scheduler`. The last command fails when a library is missing.
RUN ln -s berth /usr/local/bin/kube-scheduler \
 && berth version

# For kubeadm's static pod, which names no user and whose scheduler.conf is readable for root alone, as upstream's image.
FROM program AS static-pod
# hadolint ignore=DL3002
USER 0:0
ENTRYPOINT ["kube-scheduler"]

FROM program
USER 65532:65532
ENTRYPOINT ["berth"]
