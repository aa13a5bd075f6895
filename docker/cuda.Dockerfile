# SPDX-License-Identifier: Apache-2.0
# The program with the CUDA backend, and what it is built, tested and measured with. docker/README.md has the commands.
# The CUDA runtime is linked statically; the driver's library comes from the host (NVIDIA Container Toolkit). So the program
# needs no image of NVIDIA's, and runs on its CPU backend where there is no GPU.
ARG DEBIAN=debian:12-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241

FROM ${DEBIAN} AS tools
COPY scripts/install_dependencies.sh scripts/install_cuda.sh scripts/cuda_requirements.txt /src/scripts/
WORKDIR /src
# hadolint ignore=DL3008
RUN scripts/install_dependencies.sh build \
 && apt-get install -q -y --no-install-recommends python3-pip \
 && scripts/install_cuda.sh \
 && rm -rf /var/lib/apt/lists/*
ENV LANG=C.UTF-8

# Builds, tests and measures on the GPU of the machine that runs it. The commit is an argument because .git is not here.
FROM tools AS device
RUN scripts/install_dependencies.sh test \
 && rm -rf /var/lib/apt/lists/* \
 && chown -R 65534:65534 /src
COPY --chown=65534:65534 . /src
ARG BERTH_COMMIT=unknown
ENV BERTH_COMMIT=${BERTH_COMMIT} NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility CCACHE_DISABLE=1
USER 65534:65534
ENTRYPOINT ["tests/device.sh"]

FROM tools AS build
ARG BERTH_WERROR=OFF
COPY . /src
RUN cmake --preset cuda -DBERTH_TESTS=OFF -DBERTH_WERROR=${BERTH_WERROR} -DBERTH_UNITY=8 \
 && cmake --build --preset cuda \
 && cmake --install build/cuda --prefix /opt/berth --strip

FROM ${DEBIAN}
# The list of docker/cpu.Dockerfile.
# hadolint ignore=DL3008
RUN apt-get update -q \
 && apt-get install -q -y --no-install-recommends libcpp-httplib0.11 libcurl4 libfmt9 libmimalloc2.0 libprometheus-cpp-core1.0 libsimdjson14 \
      libspdlog1.10 libsqlite3-0 libssl3 libtbb12 libutf8proc2 libxxhash0 libyaml-0-2 libzstd1 zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/berth /usr/local
# Called by that name, the program is `berth scheduler`. The last command fails when a library is missing.
RUN ln -s berth /usr/local/bin/kube-scheduler \
 && berth version
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 65532:65532
ENTRYPOINT ["berth"]
