// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "bind.h"
#include "call.h"

namespace berth_python {
namespace {

using Text = std::optional<std::string>;
using Offsets = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

berth_bulk bulk_of(const nb::bytes& data, const Offsets& offsets) {
  berth_bulk bulk = BERTH_BULK_INIT;
  bulk.data = data.c_str();
  bulk.offsets = offsets.data();
  bulk.count = offsets.size() - 1;
  return bulk;
}

/// The statuses, or raises where none are wanted.
nb::object upsert_bulk(const ClusterHandle& self, const nb::bytes& data, const Offsets& offsets, bool each,
                       std::uint64_t deadline_us, const CancelHandle* cancel) {
  const auto cluster = self.use();
  const LoadLimits limits(deadline_us, cancel);
  const berth_bulk bulk = bulk_of(data, offsets);
  std::vector<berth_status> statuses(bulk.count);
  berth_error first = BERTH_ERROR_INIT;
  run_load([&](berth_error* error) {
    const berth_status status =
        berth_cluster_upsert_bulk_until(cluster.get(), &bulk, each ? statuses.data() : nullptr, limits.get(), error);
    if (status == BERTH_PARTIAL) first = *error;
    return status;
  });
  if (!each) return nb::none();
  nb::list given;
  for (const berth_status status : statuses) given.append(status);
  return nb::make_tuple(given, text_of(first.object, std::char_traits<char>::length(first.object)),
                        text_of(first.text, std::char_traits<char>::length(first.text)));
}

nb::object create_pod(const ClusterHandle& self, const nb::bytes& text, std::uint32_t ignore) {
  const auto cluster = self.use();
  berth_pod_options options = BERTH_POD_OPTIONS_INIT;
  options.ignore = ignore;
  Out<berth_pod> pod;
  run([&](berth_error* error) {
    return berth_pod_create(cluster.get(), text.c_str(), text.size(), &options, pod.address(), error);
  });
  return nb::cast(std::make_unique<PodHandle>(pod.take()));
}

nb::list create_pods(const ClusterHandle& self, const nb::bytes& data, const Offsets& offsets, std::uint32_t ignore,
                     std::uint64_t deadline_us, const CancelHandle* cancel) {
  const auto cluster = self.use();
  const LoadLimits limits(deadline_us, cancel);
  const berth_bulk bulk = bulk_of(data, offsets);
  berth_pod_options options = BERTH_POD_OPTIONS_INIT;
  options.ignore = ignore;
  std::vector<berth_pod*> raw(bulk.count, nullptr);
  std::vector<Out<berth_pod>> outs(bulk.count);
  std::vector<std::shared_ptr<berth_pod>> made;
  made.reserve(bulk.count);
  const auto keep = [&] {  // owners first: no pod is lost where memory runs out
    for (std::size_t i = 0; i < raw.size(); ++i) *outs[i].address() = raw[i];
    for (Out<berth_pod>& out : outs) made.push_back(out.take());
  };
  run_load([&](berth_error* error) {
    const berth_status status =
        berth_pod_create_bulk_until(cluster.get(), &bulk, &options, limits.get(), raw.data(), error);
    if (status == BERTH_OK) keep();
    return status;
  });
  nb::list pods;
  for (auto& pod : made) pods.append(nb::cast(std::make_unique<PodHandle>(std::move(pod))));
  return pods;
}

Answer reserve(const ClusterHandle& self, const std::string& owner, const PodHandle& pod, std::size_t count,
               const NodeSetHandle* nodes, const Text& key, const Text& value, std::uint32_t flags) {
  const auto cluster = self.use();
  const auto copied = pod.use();
  const Nodes among(nodes);
  berth_reserve_options options = BERTH_RESERVE_OPTIONS_INIT;
  options.flags = flags;
  options.nodes = among.get();
  options.key = c_str(key);
  options.value = c_str(value);
  Out<berth_result> result;
  const berth_status status = run([&](berth_error* error) {
    return berth_cluster_reserve(cluster.get(), owner.c_str(), copied.get(), count, &options, result.address(), error);
  });
  return answer(result, cluster, status);
}

std::size_t unreserve(const ClusterHandle& self, const std::string& owner, std::size_t count,
                      const NodeSetHandle* nodes, const Text& key, const Text& value, const PodHandle* pod) {
  const auto cluster = self.use();
  const Nodes among(nodes);
  const auto copied = pod == nullptr ? nullptr : pod->use();
  berth_unreserve_options options = BERTH_UNRESERVE_OPTIONS_INIT;
  options.count = count;
  options.nodes = among.get();
  options.key = c_str(key);
  options.value = c_str(value);
  options.pod = copied.get();
  std::size_t removed = 0;
  run([&](berth_error* error) {
    return berth_cluster_unreserve(cluster.get(), owner.c_str(), &options, &removed, error);
  });
  return removed;
}

void bind_objects(nb::class_<ClusterHandle>& type) {
  type.def(
      "_upsert",
      [](const ClusterHandle& self, const nb::bytes& text, std::uint64_t deadline_us, const CancelHandle* cancel) {
        const auto cluster = self.use();
        const LoadLimits limits(deadline_us, cancel);
        run_load([&](berth_error* error) {
          return berth_cluster_upsert_until(cluster.get(), text.c_str(), text.size(), limits.get(), error);
        });
      },
      nb::arg("text"), nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def("_upsert_bulk", &upsert_bulk,
           nb::sig("def _upsert_bulk(self, data: bytes, offsets: object, each: bool, deadline_us: int, "
                   "cancel: CancelToken | None) -> typing.Any"),
           nb::arg("data"), nb::arg("offsets"), nb::arg("each"), nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def(
      "_replace",
      [](const ClusterHandle& self, const std::string& kind, const nb::bytes& text, std::uint64_t deadline_us,
         const CancelHandle* cancel) {
        const auto cluster = self.use();
        const LoadLimits limits(deadline_us, cancel);
        run_load([&](berth_error* error) {
          return berth_cluster_replace_until(cluster.get(), kind.c_str(), text.c_str(), text.size(), limits.get(),
                                             error);
        });
      },
      nb::arg("kind"), nb::arg("text"), nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def(
      "_delete",
      [](const ClusterHandle& self, const std::string& kind, const Text& name_space, const Text& name,
         const Text& uid) {
        const auto cluster = self.use();
        run([&](berth_error* error) {
          return berth_cluster_delete(cluster.get(), kind.c_str(), c_str(name_space), c_str(name), c_str(uid), error);
        });
      },
      nb::arg("kind"), nb::arg("name_space").none(), nb::arg("name").none(), nb::arg("uid").none());
  type.def("_create_pod", &create_pod, nb::sig("def _create_pod(self, text: bytes, ignore: int) -> Pod"),
           nb::arg("text"), nb::arg("ignore"));
  type.def("_create_pods", &create_pods,
           nb::sig("def _create_pods(self, data: bytes, offsets: object, ignore: int, deadline_us: int, "
                   "cancel: CancelToken | None) -> list[Pod]"),
           nb::arg("data"), nb::arg("offsets"), nb::arg("ignore"), nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def(
      "assume",
      [](const ClusterHandle& self, const PodHandle& pod, nb::handle node) {
        const auto cluster = self.use();
        const auto placed = pod.use();
        const std::uint32_t number = node_number(cluster, node);
        run([&](berth_error* error) { return berth_cluster_assume(cluster.get(), placed.get(), number, error); });
      },
      nb::arg("pod"), nb::arg("node"),
      "Places the pod on the node without asking any rule, as kube-scheduler does between decision and binding.\n\n"
      "Raises NotFoundError (no such node), ExistsError (the pod stands on a node), UnsupportedError (Berth cannot "
      "judge the pod).");
  type.def(
      "forget",
      [](const ClusterHandle& self, const PodHandle& pod) {
        const auto cluster = self.use();
        const auto placed = pod.use();
        run([&](berth_error* error) { return berth_cluster_forget(cluster.get(), placed.get(), error); });
      },
      nb::arg("pod"),
      "Takes back what assume() or the commit of a fork placed and no upsert confirmed. Raises NotFoundError.");
}

void bind_pods(nb::module_& module) {
  nb::class_<PodHandle> type(module, "Pod",
                             "A pod as it is to be placed, prepared once by Cluster.pod(). Immutable; any thread.");
  bind_closing(type);
  bind_memory(type, "What goes with the pod, in bytes. What pods of one class share is the cluster's.");
  bind_immutable(type, "a Pod belongs to its cluster and cannot be pickled; pickle its manifest");
  type.def_prop_ro(
      "uid",
      [](const PodHandle& self) {
        const auto pod = self.use();
        berth_str uid{};
        run_short([&](berth_error* error) { return berth_pod_uid(pod.get(), &uid, error); });
        return text_of(uid);
      },
      "metadata.uid, or \"namespace/name\" of a pod without one.");
  type.def_prop_ro(
      "priority",
      [](const PodHandle& self) {
        const auto pod = self.use();
        std::int32_t priority = 0;
        run_short([&](berth_error* error) { return berth_pod_priority(pod.get(), &priority, error); });
        return priority;
      },
      "spec.priority, or 0: by it kube-scheduler's queue orders pods, and preemption says who may evict whom.");
  type.def_prop_ro(
      "pod_class",
      [](const PodHandle& self) {
        const auto pod = self.use();
        std::uint64_t number = 0;
        run([&](berth_error* error) { return berth_pod_class(pod.get(), &number, error); });
        return number;
      },
      "The number of the pod's class: pods that no rule can tell apart have the same, as of now.");
  type.def_prop_ro(
      "is_node_local",
      [](const PodHandle& self) {
        const auto pod = self.use();
        std::int32_t local = 0;
        run([&](berth_error* error) { return berth_pod_is_node_local(pod.get(), &local, error); });
        return local != 0;
      },
      "Whether a placed copy of the pod changes the verdict and the score of no other node for the next copy, as of "
      "now.");
}

}  // namespace

std::unique_ptr<NodeSetHandle> node_set_of(const std::shared_ptr<berth_cluster>& cluster, nb::handle nodes) {
  const std::vector<std::uint32_t> numbers = node_numbers(cluster, nodes);
  Out<berth_node_set> set;
  run([&](berth_error* error) {
    return berth_node_set_create(cluster.get(), numbers.data(), numbers.size(), set.address(), error);
  });
  return std::make_unique<NodeSetHandle>(set.take());
}

Answer answer(Out<berth_result>& result, const std::shared_ptr<berth_cluster>& cluster, berth_status status) {
  return {std::make_unique<ResultHandle>(result.take(), cluster), status};
}

void bind_cluster(nb::module_& module) {
  bind_pods(module);
  nb::class_<NodeSetHandle> sets(
      module, "NodeSet",
      "A set of nodes, made once by node_set(), of use with every snapshot and fork of the cluster. Any thread.");
  bind_closing(sets);
  bind_memory(sets, "What the set holds, in bytes.");
  bind_immutable(sets, "a NodeSet belongs to its cluster and cannot be pickled");
  nb::class_<ClusterHandle> type(module, "ClusterHandle", "Nodes, running pods, and what rules read beside them.");
  bind_closing(type);
  bind_memory(
      type,
      "What the cluster holds, in bytes: an estimate, which looks at every pod. Calls that change the cluster wait "
      "meanwhile.");
  type.def(
      "__init__",
      [](ClusterHandle* self, const EngineHandle& engine) {
        const auto raw = engine.use();
        Out<berth_cluster> cluster;
        run([&](berth_error* error) { return berth_cluster_create(raw.get(), cluster.address(), error); });
        new (self) ClusterHandle(cluster.take());
      },
      nb::arg("engine"));
  bind_objects(type);
  type.def("_reserve", &reserve, nb::arg("owner"), nb::arg("pod"), nb::arg("count"), nb::arg("nodes").none(),
           nb::arg("key").none(), nb::arg("value").none(), nb::arg("flags"));
  type.def("_unreserve", &unreserve, nb::arg("owner"), nb::arg("count"), nb::arg("nodes").none(), nb::arg("key").none(),
           nb::arg("value").none(), nb::arg("pod").none());
  type.def(
      "_reservations",
      [](const ClusterHandle& self, const Text& owner) {
        const auto cluster = self.use();
        Out<berth_result> result;
        const berth_status status = run([&](berth_error* error) {
          return berth_cluster_reservations(cluster.get(), c_str(owner), result.address(), error);
        });
        return answer(result, cluster, status);
      },
      nb::arg("owner").none());
  type.def(
      "node_set", [](const ClusterHandle& self, nb::handle nodes) { return node_set_of(self.use(), nodes); },
      nb::arg("nodes"), kNodeSetDoc);
  type.def_prop_ro(
      "version",
      [](const ClusterHandle& self) {
        const auto cluster = self.use();
        std::uint64_t version = 0;
        run([&](berth_error* error) { return berth_cluster_version(cluster.get(), &version, error); });
        return version;
      },
      "Moves with every call that changes something; heartbeats do not move it.");
  type.def_prop_ro(
      "backend",
      [](const ClusterHandle& self) {
        const auto cluster = self.use();
        const char* name = nullptr;
        run([&](berth_error* error) { return berth_cluster_backend(cluster.get(), &name, error); });
        return nb::str(name);
      },
      "The backend that answers: \"cpu\", \"cuda\" or \"reference\".");
  type.def(
      "node_number",
      [](const ClusterHandle& self, const std::string& name) { return node_number(self.use(), nb::cast(name)); },
      nb::arg("name"),
      "The number of a node name, in the cluster and all its snapshots and forks. Raises NotFoundError.");
  type.def(
      "node_name",
      [](const ClusterHandle& self, std::uint32_t number) {
        const auto cluster = self.use();
        berth_str name{};
        run([&](berth_error* error) { return berth_cluster_node_name(cluster.get(), number, &name, error); });
        return text_of(name);
      },
      nb::arg("number"), "The name of a node number. Raises NotFoundError.");
  type.def(
      "node_names", [](const ClusterHandle& self, nb::handle numbers) { return names_of(self.use(), numbers); },
      nb::sig("def node_names(self, numbers: object) -> list[typing.Any]"), nb::arg("numbers"),
      "Names of node numbers; None of no node.");
}

}  // namespace berth_python
