// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <nanobind/stl/string.h>

#include "call.h"

namespace berth_python {

Pods::Pods(nb::handle sequence) {
  for (const nb::handle item : argument<nb::iterable>(sequence, "pods are a list of Pod objects")) {
    const PodHandle* pod = nullptr;
    if (!nb::try_cast<const PodHandle*>(item, pod) || pod == nullptr)
      throw nb::type_error("pods are Pod objects; cluster.pod() makes one of a manifest");
    kept_.push_back(pod->use());
    raw_.push_back(kept_.back().get());
  }
}

namespace {

std::string c_text(nb::handle item) {
  auto text = argument<std::string>(item, "keys, names and paths are of type str");
  if (text.find('\0') != std::string::npos) throw nb::value_error("a text has a NUL");
  return text;
}

}  // namespace

Texts::Texts(nb::handle sequence) {
  for (const nb::handle item : argument<nb::iterable>(sequence, "texts are a list of str"))
    kept_.push_back(c_text(item));
  for (const std::string& text : kept_) raw_.push_back(text.c_str());
}

struct Shapes::Kept {
  nb::object text;  // bytes
  std::optional<Texts> taints;
  std::optional<Pods> pods;
  std::vector<std::string> resources;
  std::vector<berth_amount> caps;
  berth_shape shape = BERTH_SHAPE_INIT;
};

Shapes::Shapes(nb::handle sequence) {
  for (const nb::handle item : nb::cast<nb::iterable>(sequence)) {
    const auto fields = nb::cast<nb::tuple>(item);
    auto kept = std::make_shared<Kept>();
    berth_shape& shape = kept->shape;
    if (!fields[0].is_none()) {
      kept->text = fields[0];
      const auto text = nb::cast<nb::bytes>(fields[0]);
      shape.node = text.c_str();
      shape.node_size = text.size();
    }
    shape.copy_of = argument<std::uint32_t>(fields[1], "Shape.copy_of is a node's name or number");
    shape.flags = argument<std::uint32_t>(fields[2], "Shape.with_pods_of_node is a bool");
    shape.max_nodes = argument<std::uint32_t>(fields[3], "Shape.max_nodes is a number of nodes");
    kept->taints.emplace(fields[4]);
    shape.startup_taints = kept->taints->data();
    shape.startup_taint_count = kept->taints->size();
    kept->pods.emplace(fields[5]);
    shape.pods = kept->pods->data();
    shape.pod_count = kept->pods->size();
    for (const nb::handle cap : nb::cast<nb::iterable>(fields[6])) {
      const auto pair = nb::cast<nb::tuple>(cap);
      kept->resources.push_back(c_text(pair[0]));
      kept->caps.push_back({nullptr, argument<std::int64_t>(pair[1], "Shape.caps has whole numbers")});
    }
    for (std::size_t i = 0; i < kept->caps.size(); ++i) kept->caps[i].resource = kept->resources[i].c_str();
    shape.caps = kept->caps.data();
    shape.cap_count = kept->caps.size();
    shape.price = argument<std::int64_t>(fields[7], "Shape.price is a whole number");
    raw_.push_back(&shape);
    kept_.push_back(std::move(kept));
  }
}

std::uint32_t node_number(const std::shared_ptr<berth_cluster>& cluster, nb::handle node) {
  if (nb::isinstance<nb::str>(node)) {
    const std::string name = c_text(node);
    std::uint32_t number = 0;
    run([&](berth_error* error) { return berth_cluster_find_node(cluster.get(), name.c_str(), &number, error); });
    return number;
  }
  const nb::object index = nb::steal(PyNumber_Index(node.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw nb::type_error("a node is a number or a name");
  }
  std::uint32_t number = 0;
  if (!nb::try_cast<std::uint32_t>(index, number)) throw nb::value_error("a node number is from 0 to 2**32 - 1");
  return number;
}

std::vector<std::uint32_t> node_numbers(const std::shared_ptr<berth_cluster>& cluster, nb::handle nodes) {
  nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
  if (nb::try_cast(nodes, array, /*convert=*/false)) return {array.data(), array.data() + array.size()};
  std::vector<std::uint32_t> numbers;
  if (nb::isinstance<nb::str>(nodes)) throw nb::type_error("nodes are several: a list of names or numbers");
  for (const nb::handle node : argument<nb::iterable>(nodes, "nodes are a list of names or numbers"))
    numbers.push_back(node_number(cluster, node));
  return numbers;
}

Watched::Watched(const CancelHandle* token, nb::handle progress)
    : token_(token == nullptr ? nullptr : token->use()), progress_(progress) {
  if (progress_.is_none()) return;
  if (PyCallable_Check(progress_.ptr()) == 0) throw nb::type_error("progress is a callable, or None");
  if (token_ != nullptr) return;
  Out<berth_cancel> own;
  run_short([&](berth_error* error) { return berth_cancel_create(own.address(), error); });
  token_ = own.take();
}

void Watched::tell(void* user_data, std::uint64_t done, std::uint64_t total) {
  CallScope* const scope = CallScope::current();
  if (scope == nullptr || scope->has_raised()) return;
  const auto& self = *static_cast<const Watched*>(user_data);
  const nb::gil_scoped_acquire acquired;
  try {
    self.progress_(done, total);
  } catch (nb::python_error& raised) {
    raised.restore();
    scope->keep_raised();
    berth_cancel_trigger(self.token_.get());
  }
}

std::string uid_of(nb::handle pod) {
  if (nb::isinstance<nb::str>(pod)) return nb::cast<std::string>(pod);
  const PodHandle* handle = nullptr;
  if (!nb::try_cast<const PodHandle*>(pod, handle) || handle == nullptr)
    throw nb::type_error("a pod is a Pod or its uid");
  const auto raw = handle->use();
  berth_str uid{};
  run_short([&](berth_error* error) { return berth_pod_uid(raw.get(), &uid, error); });
  return {uid.data, uid.size};
}

}  // namespace berth_python
