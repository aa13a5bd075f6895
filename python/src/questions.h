// SPDX-License-Identifier: Apache-2.0
/// What snapshots and forks are both asked. The functions of berth.h differ in their first parameter alone.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "bind.h"
#include "call.h"

namespace berth_python {

template <class Raw>
struct Calls;
#define BERTH_PYTHON_CALLS(kind)                                         \
  template <>                                                            \
  struct Calls<berth_##kind> {                                           \
    static constexpr auto check = berth_##kind##_check;                  \
    static constexpr auto check_until = berth_##kind##_check_bulk_until; \
    static constexpr auto explain = berth_##kind##_explain_until;        \
    static constexpr auto preempt = berth_##kind##_preempt_until;        \
    static constexpr auto max_replicas = berth_##kind##_max_replicas;    \
    static constexpr auto scale_up = berth_##kind##_scale_up;            \
    static constexpr auto drain = berth_##kind##_drain;                  \
    static constexpr auto replace = berth_##kind##_replace;              \
    static constexpr auto nodes = berth_##kind##_nodes;                  \
    static constexpr auto fork = berth_##kind##_fork;                    \
  };
BERTH_PYTHON_CALLS(snapshot)
BERTH_PYTHON_CALLS(fork)
#undef BERTH_PYTHON_CALLS

/// Runs a call that gives a result: `call(raw, result address, error)`.
template <class Raw, class Call>
Answer ask(const Handle<Raw>& self, Call&& call) {
  const auto raw = self.use();
  const auto cluster = self.cluster();
  Out<berth_result> result;
  const berth_status status = run([&](berth_error* error) { return call(raw.get(), result.address(), error); });
  return answer(result, cluster, status);
}

template <class Raw>
bool check_one(const Handle<Raw>& self, const PodHandle& pod, nb::handle node, bool skip_cordoned, bool as_moved) {
  const auto raw = self.use();
  const auto asked = pod.use();
  const std::uint32_t number = node_number(self.cluster(), node);
  std::uint32_t flags = 0;
  if (skip_cordoned) flags |= BERTH_SKIP_CORDONED;
  if (as_moved) flags |= BERTH_AS_MOVED;
  std::int32_t fits = 0;
  run([&](berth_error* error) {
    return Calls<Raw>::check(raw.get(), asked.get(), number, flags, &fits, nullptr, error);
  });
  return fits != 0;
}

template <class Raw>
Answer check_details(const Handle<Raw>& self, const PodHandle& pod, nb::handle node, std::uint32_t flags) {
  const auto asked = pod.use();
  const std::uint32_t number = node_number(self.cluster(), node);
  return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
    std::int32_t fits = 0;
    return Calls<Raw>::check(raw, asked.get(), number, flags, &fits, result, error);
  });
}

template <class Raw>
Answer check_bulk(const Handle<Raw>& self, nb::handle pods, const NodeSetHandle* nodes, std::uint32_t flags,
                  std::uint64_t deadline_us, const CancelHandle* cancel) {
  const Pods asked(pods);
  const Nodes among(nodes);
  const Cancel token(cancel);
  berth_check_options options = BERTH_CHECK_OPTIONS_INIT;
  options.flags = flags;
  options.nodes = among.get();
  options.deadline_us = deadline_us;
  options.cancel = token.get();
  return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
    return Calls<Raw>::check_until(raw, asked.data(), asked.size(), &options, result, error);
  });
}

/// A question about one pod with berth_ask_options.
template <class Raw, class Call>
Answer ask_about(const Handle<Raw>& self, const PodHandle& pod, std::uint32_t flags, std::uint64_t deadline_us,
                 const CancelHandle* cancel, Call&& call) {
  const auto asked = pod.use();
  const Cancel token(cancel);
  berth_ask_options options = BERTH_ASK_OPTIONS_INIT;
  options.flags = flags;
  options.deadline_us = deadline_us;
  options.cancel = token.get();
  return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
    return call(raw, asked.get(), &options, result, error);
  });
}

template <class Raw>
Answer explain(const Handle<Raw>& self, const PodHandle& pod, std::uint32_t flags, std::uint64_t deadline_us,
               const CancelHandle* cancel) {
  return ask_about(self, pod, flags, deadline_us, cancel, Calls<Raw>::explain);
}

template <class Raw>
Answer preempt(const Handle<Raw>& self, const PodHandle& pod, std::uint32_t flags, std::uint64_t deadline_us,
               const CancelHandle* cancel) {
  return ask_about(self, pod, flags, deadline_us, cancel, Calls<Raw>::preempt);
}

template <class Raw>
Answer max_replicas(const Handle<Raw>& self, nb::handle shapes, const NodeSetHandle* nodes, nb::handle keys,
                    bool per_node, std::uint32_t flags, std::uint64_t deadline_us, const CancelHandle* cancel,
                    nb::handle progress) {
  const Pods asked(shapes);
  const Nodes among(nodes);
  const Texts summed(keys);
  Watched watched(cancel, progress);
  berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
  options.flags = flags;
  options.nodes = among.get();
  options.keys = summed.data();
  options.key_count = summed.size();
  options.per_node = per_node ? 1 : 0;
  options.deadline_us = deadline_us;
  watched.set(options);
  return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
    return Calls<Raw>::max_replicas(raw, asked.data(), asked.size(), &options, result, error);
  });
}

template <class Raw>
Answer scale_up(const Handle<Raw>& self, nb::handle pods, nb::handle shapes, const NodeSetHandle* nodes,
                std::uint32_t flags, std::uint64_t deadline_us, const CancelHandle* cancel, nb::handle progress) {
  const Pods asked(pods);
  const Shapes offered(shapes);
  const Nodes among(nodes);
  Watched watched(cancel, progress);
  berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
  options.flags = flags;
  options.nodes = among.get();
  options.deadline_us = deadline_us;
  watched.set(options);
  return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
    return Calls<Raw>::scale_up(raw, asked.data(), asked.size(), offered.data(), offered.size(), &options, result,
                                error);
  });
}

/// drain() where `shapes` is None, otherwise replace().
template <class Raw>
Answer drain(const Handle<Raw>& self, nb::handle drained, std::uint32_t preset, std::uint32_t rules_on,
             std::uint32_t rules_off, std::int32_t min_replicas, const NodeSetHandle* nodes, std::uint32_t flags,
             std::uint64_t deadline_us, const CancelHandle* cancel, nb::handle progress, nb::handle shapes,
             std::uint32_t max_nodes) {
  const std::vector<std::uint32_t> numbers = node_numbers(self.cluster(), drained);
  const Nodes among(nodes);
  Watched watched(cancel, progress);
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.flags = flags;
  options.preset = preset;
  options.rules_on = rules_on;
  options.rules_off = rules_off;
  options.min_replicas = min_replicas;
  options.nodes = among.get();
  options.deadline_us = deadline_us;
  watched.set(options);
  if (shapes.is_none())
    return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
      return Calls<Raw>::drain(raw, numbers.data(), numbers.size(), &options, result, error);
    });
  const Shapes offered(shapes);
  return ask(self, [&](Raw* raw, berth_result** result, berth_error* error) {
    return Calls<Raw>::replace(raw, numbers.data(), numbers.size(), &options, offered.data(), offered.size(), max_nodes,
                               result, error);
  });
}

template <class Raw>
NodeArray nodes_of(const Handle<Raw>& self) {
  const auto raw = self.use();
  std::vector<std::uint32_t> numbers;
  run([&](berth_error* error) {
    // A fork is asked by one thread, and a snapshot does not change: the second call finds as many.
    std::size_t count = 0;
    const berth_status status = Calls<Raw>::nodes(raw.get(), nullptr, 0, &count, error);
    if (status < 0) return status;
    numbers.resize(count);
    return Calls<Raw>::nodes(raw.get(), numbers.data(), numbers.size(), &count, error);
  });
  return array_of(std::move(numbers));
}

template <class Raw>
void bind_questions(nb::class_<Handle<Raw>>& type) {
  type.def("check", &check_one<Raw>, nb::arg("pod"), nb::arg("node"), nb::kw_only(), nb::arg("skip_cordoned") = false,
           nb::arg("as_moved") = false,
           "Whether the pod fits on the node: the Filter plugins, pods nominated to the node included. A pod that is "
           "not judged does not fit; verdict() says why.");
  type.def("_check_details", &check_details<Raw>, nb::arg("pod"), nb::arg("node"), nb::arg("flags"));
  type.def("_check_bulk", &check_bulk<Raw>, nb::arg("pods"), nb::arg("nodes").none(), nb::arg("flags"),
           nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def("_explain", &explain<Raw>, nb::arg("pod"), nb::arg("flags"), nb::arg("deadline_us"),
           nb::arg("cancel").none());
  type.def("_preempt", &preempt<Raw>, nb::arg("pod"), nb::arg("flags"), nb::arg("deadline_us"),
           nb::arg("cancel").none());
  type.def("_max_replicas", &max_replicas<Raw>, nb::arg("shapes"), nb::arg("nodes").none(), nb::arg("keys"),
           nb::arg("per_node"), nb::arg("flags"), nb::arg("deadline_us"), nb::arg("cancel").none(),
           nb::arg("progress").none());
  type.def("_scale_up", &scale_up<Raw>, nb::arg("pods"), nb::arg("shapes"), nb::arg("nodes").none(), nb::arg("flags"),
           nb::arg("deadline_us"), nb::arg("cancel").none(), nb::arg("progress").none());
  type.def("_drain", &drain<Raw>, nb::arg("drained"), nb::arg("preset"), nb::arg("rules_on"), nb::arg("rules_off"),
           nb::arg("min_replicas"), nb::arg("nodes").none(), nb::arg("flags"), nb::arg("deadline_us"),
           nb::arg("cancel").none(), nb::arg("progress").none(), nb::arg("shapes").none(), nb::arg("max_nodes"));
  type.def(
      "node_set", [](const Handle<Raw>& self, nb::handle nodes) { return node_set_of(self.cluster(), nodes); },
      nb::arg("nodes"), kNodeSetDoc);
  type.def("nodes", &nodes_of<Raw>, "The numbers of the nodes, ascending, as an array of uint32.");
  type.def(
      "node_names",
      [](const Handle<Raw>& self, nb::handle numbers) {
        self.use();
        if (!numbers.is_none()) return names_of(self.cluster(), numbers);
        return names_of(self.cluster(), nb::cast(nodes_of(self)));
      },
      nb::sig("def node_names(self, numbers: object | None = None) -> list[typing.Any]"),
      nb::arg("numbers").none() = nb::none(), "Names of node numbers, None of no node; without numbers, of all nodes.");
  type.def(
      "node_number",
      [](const Handle<Raw>& self, const std::string& name) { return node_number(self.cluster(), nb::cast(name)); },
      nb::arg("name"), "The number of a node name. Raises NotFoundError.");
}

}  // namespace berth_python
