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

Opened open_path(const EngineHandle& engine, const std::string& path) {
  const auto raw = engine.use();
  Out<berth_cluster> cluster;
  Out<berth_snapshot> snapshot;
  run([&](berth_error* error) {
    return berth_snapshot_open(raw.get(), path.c_str(), cluster.address(), snapshot.address(), error);
  });
  return {cluster.take(), snapshot.take()};
}

Opened open_bytes(const EngineHandle& engine, const nb::bytes& bytes) {
  const auto raw = engine.use();
  Out<berth_cluster> cluster;
  Out<berth_snapshot> snapshot;
  run([&](berth_error* error) {
    return berth_snapshot_open_memory(raw.get(), bytes.c_str(), bytes.size(), cluster.address(), snapshot.address(),
                                      error);
  });
  return {cluster.take(), snapshot.take()};
}

}  // namespace

void bind_snapshots(nb::module_& module) {
  nb::class_<Opened> opened(module, "Opened", "A cluster and a snapshot of a file.");
  opened.def(
      "cluster", [](const Opened& self) { return std::make_unique<ClusterHandle>(self.cluster); },
      "A handle of the cluster.");
  module.def("_open_path", &open_path, nb::arg("engine"), nb::arg("path"));
  module.def("_open_bytes", &open_bytes, nb::arg("engine"), nb::arg("data"));
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
      [](const SnapshotHandle& self, const std::string& path) {
        const auto raw = self.use();
        run([&](berth_error* error) { return berth_snapshot_write(raw.get(), path.c_str(), error); });
      },
      nb::arg("path"));
  type.def("_write_memory", [](const SnapshotHandle& self) {
    return ask(self, [](berth_snapshot* raw, berth_result** result, berth_error* error) {
      return berth_snapshot_write_memory(raw, result, error);
    });
  });
}

}  // namespace berth_python
