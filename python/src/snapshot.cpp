// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "questions.h"

namespace berth_python {
namespace {

/// What berth_snapshot_open() gives, until Cluster and Snapshot of Python take it.
struct Opened {
  std::shared_ptr<berth_cluster> cluster;
  std::shared_ptr<berth_snapshot> snapshot;
};

Opened open_path(const EngineHandle& engine, const std::string& path, std::uint64_t deadline_us,
                 const CancelHandle* cancel) {
  const auto raw = engine.use();
  const LoadLimits limits(deadline_us, cancel);
  Out<berth_cluster> cluster;
  Out<berth_snapshot> snapshot;
  run_load([&](berth_error* error) {
    return berth_snapshot_open_until(raw.get(), path.c_str(), limits.get(), cluster.address(), snapshot.address(),
                                     error);
  });
  return {cluster.take(), snapshot.take()};
}

Opened open_bytes(const EngineHandle& engine, const nb::bytes& bytes, std::uint64_t deadline_us,
                  const CancelHandle* cancel) {
  const auto raw = engine.use();
  const LoadLimits limits(deadline_us, cancel);
  Out<berth_cluster> cluster;
  Out<berth_snapshot> snapshot;
  run_load([&](berth_error* error) {
    return berth_snapshot_open_memory_until(raw.get(), bytes.c_str(), bytes.size(), limits.get(), cluster.address(),
                                            snapshot.address(), error);
  });
  return {cluster.take(), snapshot.take()};
}

Answer write_memory(const SnapshotHandle& self, std::uint64_t deadline_us, const CancelHandle* cancel) {
  const auto raw = self.use();
  const LoadLimits limits(deadline_us, cancel);
  Out<berth_result> result;
  const berth_status status = run_load([&](berth_error* error) {
    return berth_snapshot_write_memory_until(raw.get(), limits.get(), result.address(), error);
  });
  return answer(result, self.cluster(), status);
}

}  // namespace

void bind_snapshots(nb::module_& module) {
  nb::class_<Opened> opened(module, "Opened", "A cluster and a snapshot of a file.");
  opened.def(
      "cluster", [](const Opened& self) { return std::make_unique<ClusterHandle>(self.cluster); },
      "A handle of the cluster.");
  module.def("_open_path", &open_path, nb::arg("engine"), nb::arg("path"), nb::arg("deadline_us"),
             nb::arg("cancel").none());
  module.def("_open_bytes", &open_bytes, nb::arg("engine"), nb::arg("data"), nb::arg("deadline_us"),
             nb::arg("cancel").none());
  // Cluster of Python is made of what was opened by its own __init__.
  nb::cast<nb::class_<ClusterHandle>>(module.attr("ClusterHandle"))
      .def(
          "__init__", [](ClusterHandle* self, const Opened& made) { new (self) ClusterHandle(made.cluster); },
          nb::arg("opened"));

  nb::class_<SnapshotHandle> type(module, "SnapshotHandle", "A cluster at one version. Immutable; any thread.");
  bind_closing(type);
  bind_memory(
      type,
      "What goes with the snapshot: where it differs from its cluster by now, in bytes. Objects are not counted.");
  type.def(
      "__init__",
      [](SnapshotHandle* self, const ClusterHandle& cluster) {
        const auto raw = cluster.use();
        Out<berth_snapshot> snapshot;
        run([&](berth_error* error) { return berth_snapshot_create(raw.get(), snapshot.address(), error); });
        new (self) SnapshotHandle(snapshot.take(), raw);
      },
      nb::arg("cluster"));
  type.def(
      "__init__",
      [](SnapshotHandle* self, const Opened& made) { new (self) SnapshotHandle(made.snapshot, made.cluster); },
      nb::arg("opened"));
  bind_questions(type);
  type.def_prop_ro(
      "version",
      [](const SnapshotHandle& self) {
        const auto raw = self.use();
        std::uint64_t version = 0;
        run_short([&](berth_error* error) { return berth_snapshot_version(raw.get(), &version, error); });
        return version;
      },
      "The version of the cluster that it shows.");
  type.def(
      "_write",
      [](const SnapshotHandle& self, const std::string& path, std::uint64_t deadline_us, const CancelHandle* cancel) {
        const auto raw = self.use();
        const LoadLimits limits(deadline_us, cancel);
        run_load([&](berth_error* error) {
          return berth_snapshot_write_until(raw.get(), path.c_str(), limits.get(), error);
        });
      },
      nb::arg("path"), nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def("_write_memory", &write_memory, nb::arg("deadline_us"), nb::arg("cancel").none());
}

}  // namespace berth_python
