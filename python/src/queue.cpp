// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <string>

#include "arguments.h"
#include "bind.h"
#include "call.h"

namespace berth_python {
namespace {

/// A call about a pod: berth_queue_add() and so on.
template <auto kCall>
void about_pod(const QueueHandle& self, const PodHandle& pod) {
  const auto queue = self.use();
  const auto asked = pod.use();
  run([&](berth_error* error) { return kCall(queue.get(), asked.get(), error); });
}
/// The same about a pod in a fork.
template <auto kCall>
void in_fork(const QueueHandle& self, const ForkHandle& fork, nb::handle pod) {
  const auto queue = self.use();
  const auto where = fork.use();
  const std::string uid = uid_of(pod);
  run([&](berth_error* error) { return kCall(queue.get(), where.get(), uid.c_str(), error); });
}

/// The uid of the pod that is tried now; None: no pod is ready.
nb::object pop(const QueueHandle& self) {
  const auto queue = self.use();
  Out<berth_pod> popped;
  run([&](berth_error* error) { return berth_queue_pop(queue.get(), popped.address(), error); });
  if (*popped.address() == nullptr) return nb::none();
  berth_str uid{};
  run_short([&](berth_error* error) { return berth_pod_uid(*popped.address(), &uid, error); });
  return text_of(uid);
}

nb::tuple times(const QueueHandle& self) {
  const auto queue = self.use();
  std::int64_t now_us = 0;
  std::int64_t next_us = 0;
  run([&](berth_error* error) { return berth_queue_times(queue.get(), &now_us, &next_us, error); });
  return nb::make_tuple(now_us, next_us == INT64_MAX ? nb::none() : nb::object(nb::int_(next_us)));
}

}  // namespace

void bind_queues(nb::module_& module) {
  nb::class_<QueueHandle> type(module, "QueueHandle", "kube-scheduler's queue. One thread at a time.");
  bind_closing(type);
  bind_memory(type, "What the queue holds, in bytes: an estimate. Pods are not counted.");
  type.def(
      "__init__",
      [](QueueHandle* self, const ClusterHandle& cluster, std::int64_t now_us) {
        const auto of = cluster.use();
        berth_queue_options options = BERTH_QUEUE_OPTIONS_INIT;
        options.now_us = now_us;
        Out<berth_queue> queue;
        run([&](berth_error* error) { return berth_queue_create(of.get(), &options, queue.address(), error); });
        new (self) QueueHandle(queue.take());
      },
      nb::arg("cluster"), nb::arg("now_us"));
  type.def("_add", &about_pod<berth_queue_add>, nb::arg("pod"));
  type.def("_remove", &about_pod<berth_queue_remove>, nb::arg("pod"));
  type.def("_done", &about_pod<berth_queue_done>, nb::arg("pod"));
  type.def("_pop", &pop, nb::sig("def _pop(self) -> str | None"));
  type.def(
      "_fail",
      [](const QueueHandle& self, const PodHandle& pod, const std::string& rejectors, const std::string& pending) {
        const auto queue = self.use();
        const auto tried = pod.use();
        run([&](berth_error* error) {
          return berth_queue_fail(queue.get(), tried.get(), rejectors.c_str(), pending.c_str(), error);
        });
      },
      nb::arg("pod"), nb::arg("rejectors"), nb::arg("pending"));
  type.def(
      "_advance",
      [](const QueueHandle& self, std::int64_t now_us) {
        const auto queue = self.use();
        run([&](berth_error* error) { return berth_queue_advance(queue.get(), now_us, error); });
      },
      nb::arg("now_us"));
  type.def("_times", &times, nb::sig("def _times(self) -> tuple[int, int | None]"));
  type.def("pod_came", &in_fork<berth_queue_pod_came>, nb::arg("fork"), nb::arg("pod"),
           "A pod, given as Pod or uid, came to the node on which it stands in the fork. Raises NotFoundError.");
  type.def(
      "pod_leaves", &in_fork<berth_queue_pod_leaves>, nb::arg("fork"), nb::arg("pod"),
      "A pod is about to leave the node on which it stands in the fork: call before it does. Raises NotFoundError.");
  type.def(
      "_node_changed",
      [](const QueueHandle& self, const nb::bytes& before, const nb::bytes& after) {
        const auto queue = self.use();
        run([&](berth_error* error) {
          return berth_queue_node_changed(queue.get(), before.c_str(), before.size(), after.c_str(), after.size(),
                                          error);
        });
      },
      nb::arg("before"), nb::arg("after"));
  type.def(
      "_size",
      [](const QueueHandle& self, std::uint32_t place) {
        const auto queue = self.use();
        std::uint64_t count = 0;
        run([&](berth_error* error) { return berth_queue_size(queue.get(), place, &count, error); });
        return count;
      },
      nb::arg("place"));
}

}  // namespace berth_python
