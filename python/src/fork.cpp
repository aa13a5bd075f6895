// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "questions.h"

namespace berth_python {
namespace {

Answer schedule(const ForkHandle& self, nb::handle pods, std::uint32_t flags, std::uint32_t choice, std::uint32_t start,
                const NodeSetHandle* nodes, nb::handle order, std::uint64_t deadline_us, const CancelHandle* cancel,
                nb::handle progress) {
  const Pods placed(pods);
  const Nodes among(nodes);
  Watched watched(cancel, progress);
  std::vector<std::uint32_t> ordered;
  if (!order.is_none()) ordered = node_numbers(self.cluster(), order);
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  options.flags = flags;
  options.choice = choice;
  options.start = start;
  options.nodes = among.get();
  options.order = ordered.data();
  options.order_count = ordered.size();
  options.deadline_us = deadline_us;
  watched.set(options);
  return ask(self, [&](berth_fork* raw, berth_result** result, berth_error* error) {
    return berth_fork_schedule(raw, placed.data(), placed.size(), &options, result, error);
  });
}

Answer schedule_group(const ForkHandle& self, nb::handle pods, nb::handle keys, std::uint32_t domain,
                      std::size_t minimum, const NodeSetHandle* nodes, std::uint32_t flags, std::uint64_t deadline_us,
                      const CancelHandle* cancel) {
  const Pods placed(pods);
  const Texts tried(keys);
  const Nodes among(nodes);
  const Cancel token(cancel);
  berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
  options.flags = flags;
  options.nodes = among.get();
  options.keys = tried.data();
  options.key_count = tried.size();
  options.domain = domain;
  options.minimum = minimum;
  options.deadline_us = deadline_us;
  options.cancel = token.get();
  return ask(self, [&](berth_fork* raw, berth_result** result, berth_error* error) {
    return berth_fork_schedule_group(raw, placed.data(), placed.size(), &options, result, error);
  });
}

using ByteArray = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AmountArray = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_length(std::size_t has, std::size_t wants) {
  if (has != wants)
    throw nb::value_error(
        ("the array has " + std::to_string(has) + " entries, and the answer " + std::to_string(wants)).c_str());
}

/// berth_fork_mask(). @param out  None: the length alone
std::size_t mask(const ForkHandle& self, const PodHandle& pod, const NodeSetHandle* nodes, std::uint32_t flags,
                 nb::handle out) {
  const auto fork = self.use();
  const auto asked = pod.use();
  const Nodes among(nodes);
  std::size_t length = 0;
  const auto fill = [&](std::uint8_t* fits, std::size_t capacity) {
    run([&](berth_error* error) {
      return berth_fork_mask(fork.get(), asked.get(), among.get(), flags, fits, capacity, &length, error);
    });
  };
  fill(nullptr, 0);
  if (out.is_none()) return length;
  const auto fits = argument<ByteArray>(out, "a mask is a writable, C-contiguous array of uint8", false);
  check_length(fits.size(), length);
  if (length > 0) fill(fits.data(), length);
  return length;
}

/// berth_fork_use(). @param requested, allocatable  None: the length alone
std::size_t use_of(const ForkHandle& self, nb::handle resources, nb::handle requested, nb::handle allocatable) {
  const auto fork = self.use();
  const Texts names(resources);
  std::size_t length = 0;
  const auto fill = [&](std::int64_t* requests, std::int64_t* offers, std::size_t capacity) {
    run([&](berth_error* error) {
      return berth_fork_use(fork.get(), names.data(), names.size(), requests, offers, capacity, &length, error);
    });
  };
  fill(nullptr, nullptr, 0);
  if (requested.is_none()) return length;
  const char* const what = "amounts are writable, C-contiguous arrays of int64, [resources, nodes]";
  const auto requests = argument<AmountArray>(requested, what, false);
  const auto offers = argument<AmountArray>(allocatable, what, false);
  check_length(requests.size(), length);
  check_length(offers.size(), length);
  if (length > 0) fill(requests.data(), offers.data(), length);
  return length;
}

template <class Raw>
void open_fork(ForkHandle* self, const Handle<Raw>& parent) {
  const auto raw = parent.use();
  const auto cluster = parent.cluster();
  Out<berth_fork> fork;
  run([&](berth_error* error) { return Calls<Raw>::fork(raw.get(), fork.address(), error); });
  new (self) ForkHandle(fork.take(), cluster);
}

void bind_nodes(nb::class_<ForkHandle>& type) {
  type.def(
      "_add_node",
      [](const ForkHandle& self, const nb::bytes& text) {
        const auto fork = self.use();
        std::uint32_t node = 0;
        run([&](berth_error* error) {
          return berth_fork_add_node(fork.get(), text.c_str(), text.size(), &node, error);
        });
        return node;
      },
      nb::arg("text"));
  type.def(
      "_update_node",
      [](const ForkHandle& self, const nb::bytes& text) {
        const auto fork = self.use();
        run([&](berth_error* error) { return berth_fork_update_node(fork.get(), text.c_str(), text.size(), error); });
      },
      nb::arg("text"));
  type.def(
      "remove_node",
      [](const ForkHandle& self, nb::handle node) {
        const auto fork = self.use();
        const std::uint32_t number = node_number(self.cluster(), node);
        run([&](berth_error* error) { return berth_fork_remove_node(fork.get(), number, error); });
      },
      nb::arg("node"),
      "Removes a node. Pods on it stand nowhere that counts, until a node has the name again. Raises NotFoundError.");
}

void bind_pods(nb::class_<ForkHandle>& type) {
  type.def(
      "add_pod",
      [](const ForkHandle& self, const PodHandle& pod, nb::handle node) {
        const auto fork = self.use();
        const auto placed = pod.use();
        const std::uint32_t number = node_number(self.cluster(), node);
        run([&](berth_error* error) { return berth_fork_add_pod(fork.get(), placed.get(), number, error); });
      },
      nb::arg("pod"), nb::arg("node"),
      "Puts a pod on a node without asking any rule. One that stands elsewhere moves. Raises NotFoundError.");
  type.def(
      "remove_pod",
      [](const ForkHandle& self, nb::handle pod) {
        const auto fork = self.use();
        const std::string uid = uid_of(pod);
        run([&](berth_error* error) { return berth_fork_remove_pod(fork.get(), uid.c_str(), error); });
      },
      nb::arg("pod"), "Takes a pod off its node: a Pod or a uid. Raises NotFoundError: it stands on none.");
  type.def(
      "unschedule",
      [](const ForkHandle& self, const PodHandle& pod) {
        const auto fork = self.use();
        const auto placed = pod.use();
        run([&](berth_error* error) { return berth_fork_unschedule(fork.get(), placed.get(), error); });
      },
      nb::arg("pod"), "Takes a pod off its node; it is pending then and may be scheduled again. Raises NotFoundError.");
  type.def(
      "node_of",
      [](const ForkHandle& self, nb::handle pod) -> nb::object {
        const auto fork = self.use();
        const std::string uid = uid_of(pod);
        std::uint32_t node = BERTH_NO_NODE;
        run([&](berth_error* error) { return berth_fork_node_of_pod(fork.get(), uid.c_str(), &node, error); });
        if (node == BERTH_NO_NODE) return nb::none();
        return nb::int_(node);
      },
      nb::arg("pod"), nb::sig("def node_of(self, pod: Pod | str) -> int | None"),
      "The number of the node that a pod, given as Pod or uid, stands on; None: on none.");
}

}  // namespace

void bind_forks(nb::module_& module) {
  nb::class_<ForkHandle> type(module, "ForkHandle", "A what-if on a snapshot or a fork. One thread at a time.");
  bind_closing(type);
  bind_memory(type,
              "What was done to the fork, and where it differs from what it was opened on, in bytes. Objects are not "
              "counted.");
  type.def("__init__", &open_fork<berth_snapshot>, nb::arg("parent"));
  type.def("__init__", &open_fork<berth_fork>, nb::arg("parent"));
  bind_questions(type);
  bind_nodes(type);
  bind_pods(type);
  type.def("_schedule", &schedule, nb::arg("pods"), nb::arg("flags"), nb::arg("choice"), nb::arg("start"),
           nb::arg("nodes").none(), nb::arg("order").none(), nb::arg("deadline_us"), nb::arg("cancel").none(),
           nb::arg("progress").none());
  type.def("_mask", &mask, nb::arg("pod"), nb::arg("nodes").none(), nb::arg("flags"), nb::arg("out").none());
  type.def("_use", &use_of, nb::arg("resources"), nb::arg("requested").none(), nb::arg("allocatable").none());
  type.def("_schedule_group", &schedule_group, nb::arg("pods"), nb::arg("keys"), nb::arg("domain"), nb::arg("minimum"),
           nb::arg("nodes").none(), nb::arg("flags"), nb::arg("deadline_us"), nb::arg("cancel").none());
  type.def(
      "revert",
      [](const ForkHandle& self) {
        const auto fork = self.use();
        run([&](berth_error* error) { return berth_fork_revert(fork.get(), error); });
      },
      "The fork becomes what it was when it was opened. Raises StaleError: its parent, a fork, has changed since.");
  type.def("_commit", [](const ForkHandle& self) {
    const auto fork = self.use();
    std::uint64_t version = 0;
    run([&](berth_error* error) { return berth_fork_commit(fork.get(), &version, error); });
    return version;
  });
}

}  // namespace berth_python
