// SPDX-License-Identifier: Apache-2.0
// Snapshots in files and in memory, of berth.h: convert, call, convert.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/capi/handles.h"
#include "host/capi/saved_bytes.h"
#include "host/capi/saved_snapshot.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

std::string bytes_of(const berth_snapshot& snapshot) {
  return snapshot.snapshot->read([](const State& state) { return save(state); });
}

void open_saved(const berth_engine& engine, std::string_view bytes, berth_cluster** cluster, berth_snapshot** snapshot,
                CallLog& log) {
  needed(cluster, "cluster");
  berth::WorkArena& arena = *engine.engine->engine.arena;
  // What is opened of a cluster that is interrupted goes before these, so that they free its pods.
  const auto pods = berth::freed_later<std::vector<berth::PodPtr>>(arena);
  auto opened = std::make_unique<berth_cluster>();
  opened->cluster = std::make_shared<Cluster>(engine.engine);
  const auto saved = berth::freed_later<SavedSnapshot>(arena);
  read_saved(bytes, opened->cluster->release(), arena, *saved);
  opened->cluster->restore(*saved, log, *pods);
  if (snapshot != nullptr) {
    auto taken = std::make_unique<berth_snapshot>();
    taken->snapshot = std::make_shared<const Snapshot>(opened->cluster);
    *snapshot = taken.release();
  }
  *cluster = opened.release();
}

}  // namespace

extern "C" {

berth_status berth_snapshot_write(const berth_snapshot* snapshot, const char* path, berth_error* error) {
  return berth_snapshot_write_until(snapshot, path, nullptr, error);
}

berth_status berth_snapshot_write_until(const berth_snapshot* snapshot, const char* path,
                                        const berth_load_options* options, berth_error* error) {
  return guarded(error, [&] {
    callable(snapshot, "snapshot");
    const std::string to = &needed(path, "path");
    return until(options, [&] { write_file(to, bytes_of(*snapshot)); });
  });
}

berth_status berth_snapshot_write_memory(const berth_snapshot* snapshot, berth_result** result, berth_error* error) {
  return berth_snapshot_write_memory_until(snapshot, nullptr, result, error);
}

berth_status berth_snapshot_write_memory_until(const berth_snapshot* snapshot, const berth_load_options* options,
                                               berth_result** result, berth_error* error) {
  return guarded(error, [&] {
    callable(snapshot, "snapshot");
    needed(result, "result");
    return until(options, [&] {
      const Snapshot& of = *snapshot->snapshot;
      auto written = std::make_unique<Result>(of.cluster(), of.facts().version);
      written->bytes = bytes_of(*snapshot);
      auto handle = std::make_unique<berth_result>();
      fill(*handle, std::move(written));
      *result = handle.release();
    });
  });
}

berth_status berth_snapshot_open(const berth_engine* engine, const char* path, berth_cluster** cluster,
                                 berth_snapshot** snapshot, berth_error* error) {
  return berth_snapshot_open_until(engine, path, nullptr, cluster, snapshot, error);
}

berth_status berth_snapshot_open_until(const berth_engine* engine, const char* path, const berth_load_options* options,
                                       berth_cluster** cluster, berth_snapshot** snapshot, berth_error* error) {
  return guarded_with_log(engine, "engine", error, [&](CallLog& log) {
    const std::string from = &needed(path, "path");
    return until(options, [&] { open_saved(*engine, read_file(from), cluster, snapshot, log); });
  });
}

berth_status berth_snapshot_open_memory(const berth_engine* engine, const void* bytes, size_t size,
                                        berth_cluster** cluster, berth_snapshot** snapshot, berth_error* error) {
  return berth_snapshot_open_memory_until(engine, bytes, size, nullptr, cluster, snapshot, error);
}

berth_status berth_snapshot_open_memory_until(const berth_engine* engine, const void* bytes, size_t size,
                                              const berth_load_options* options, berth_cluster** cluster,
                                              berth_snapshot** snapshot, berth_error* error) {
  return guarded_with_log(engine, "engine", error, [&](CallLog& log) {
    const std::string_view from = text_of(static_cast<const char*>(bytes), size, "bytes");
    return until(options, [&] { open_saved(*engine, from, cluster, snapshot, log); });
  });
}

}  // extern "C"
