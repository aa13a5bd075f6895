// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "arguments.h"
#include "bind.h"
#include "call.h"
#include "interchange.h"

namespace berth_python {
namespace {

berth_column view_of(const SharedResult& result, std::uint32_t column) {
  berth_column view{};
  run_short([&](berth_error* error) { return berth_result_column(result.get(), column, &view, error); });
  return view;
}

template <class Element>
nb::object array_of_column(const SharedResult& result, const berth_column& view,
                           const std::vector<std::int64_t>& shape) {
  const nb::capsule owner = owner_of(std::make_unique<SharedResult>(result));
  const std::vector<std::size_t> sizes =
      shape.empty() ? std::vector<std::size_t>{view.length} : std::vector<std::size_t>(shape.begin(), shape.end());
  std::vector<std::int64_t> strides(sizes.size());
  auto step = static_cast<std::int64_t>(view.stride / sizeof(Element));
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= static_cast<std::int64_t>(sizes[i]);
  }
  return nb::cast(nb::ndarray<nb::numpy, const Element>(static_cast<const Element*>(view.data), sizes.size(),
                                                        sizes.data(), owner, strides.data()));
}

nb::object column_array(const ResultHandle& self, std::uint32_t column, const std::vector<std::int64_t>& shape) {
  const SharedResult result = self.use();
  const berth_column view = view_of(result, column);
  std::size_t size = 1;
  for (const std::int64_t side : shape) size *= static_cast<std::size_t>(side);
  if (!shape.empty() && size != view.length) throw nb::value_error("the shape is not of the column's length");
  switch (view.type) {
    case BERTH_TYPE_U8:
      return array_of_column<std::uint8_t>(result, view, shape);
    case BERTH_TYPE_U32:
      return array_of_column<std::uint32_t>(result, view, shape);
    case BERTH_TYPE_I32:
      return array_of_column<std::int32_t>(result, view, shape);
    default:
      return array_of_column<std::int64_t>(result, view, shape);
  }
}

nb::str text(const SharedResult& result, std::uint32_t number) {
  berth_str found{};
  run_short([&](berth_error* error) { return berth_result_text(result.get(), number, &found, error); });
  return text_of(found);
}

/// The texts of a column, each made once.
nb::list texts_of_column(const ResultHandle& self, std::uint32_t column) {
  const SharedResult result = self.use();
  const berth_column view = view_of(result, column);
  std::unordered_map<std::uint32_t, nb::str> made;
  nb::list texts;
  for (std::size_t i = 0; i < view.length; ++i) {
    const std::uint32_t number =
        *reinterpret_cast<const std::uint32_t*>(static_cast<const char*>(view.data) + i * view.stride);
    auto found = made.find(number);
    if (found == made.end()) found = made.emplace(number, text(result, number)).first;
    texts.append(found->second);
  }
  return texts;
}

/// Names of node numbers, in order; BERTH_NO_NODE has None.
nb::list node_names(const ResultHandle& self, nb::handle nodes) {
  const auto cluster = self.cluster();
  return names_of(cluster, nodes);
}

nb::tuple origin_of(const ResultHandle& self) {
  const SharedResult result = self.use();
  std::uint64_t version = 0, seed = 0;
  const char *release = nullptr, *backend = nullptr;
  run_short([&](berth_error* error) {
    return berth_result_origin(result.get(), &version, &seed, &release, &backend, error);
  });
  return nb::make_tuple(version, seed, release, backend);
}

using TextOfResult = berth_status (*)(const berth_result*, berth_str*, berth_error*);
berth_str ask_text(const SharedResult& result, TextOfResult function) {
  berth_str found{};
  run_short([&](berth_error* error) { return function(result.get(), &found, error); });
  return found;
}

}  // namespace

nb::list names_of(const std::shared_ptr<berth_cluster>& cluster, nb::handle nodes) {
  std::vector<std::uint32_t> numbers = node_numbers(cluster, nodes);
  std::unordered_map<std::uint32_t, nb::object> made{{BERTH_NO_NODE, nb::none()}};
  nb::list names;
  for (const std::uint32_t number : numbers) {
    auto found = made.find(number);
    if (found == made.end()) {
      berth_str name{};
      run([&](berth_error* error) { return berth_cluster_node_name(cluster.get(), number, &name, error); });
      found = made.emplace(number, text_of(name)).first;
    }
    names.append(found->second);
  }
  return names;
}

void bind_results(nb::module_& module) {
  nb::class_<ResultHandle> type(module, "ResultHandle", "An answer, immutable. Any thread.");
  bind_closing(type);
  bind_memory(type, "Its columns, texts and record, in bytes.");
  type.def("column", &column_array, nb::arg("column"), nb::arg("shape") = std::vector<std::int64_t>{},
           nb::sig("def column(self, column: int, shape: Sequence[int] = ...) -> numpy.typing.NDArray[typing.Any]"),
           "A read-only array of numpy over the column's memory, which it keeps alive.");
  type.def("texts", &texts_of_column, nb::sig("def texts(self, column: int) -> list[str]"), nb::arg("column"),
           "The texts of a column of texts.");
  type.def(
      "text", [](const ResultHandle& self, std::uint32_t number) { return text(self.use(), number); },
      nb::arg("number"), "The text of a number in a column of texts.");
  type.def("node_names", &node_names, nb::sig("def node_names(self, nodes: object) -> list[typing.Any]"),
           nb::arg("nodes"), "Names of node numbers; None of no node.");
  type.def("origin", &origin_of, nb::sig("def origin(self) -> tuple[int, int, str, str]"),
           "Version, seed, release and backend.");
  type.def(
      "json",
      [](const ResultHandle& self) {
        const auto result = self.use();
        return text_of(ask_text(result, berth_result_json));
      },
      "The result as one record.");
  type.def(
      "message",
      [](const ResultHandle& self) {
        const auto result = self.use();
        return text_of(ask_text(result, berth_result_message));
      },
      "Why a preemption has no candidate; empty: it has one.");
  type.def(
      "bytes",
      [](const ResultHandle& self) {
        const auto result = self.use();
        const berth_str bytes = ask_text(result, berth_result_bytes);
        return nb::bytes(bytes.data, bytes.size);
      },
      "The bytes of a snapshot.");
  type.def(
      "next_start",
      [](const ResultHandle& self) {
        const auto result = self.use();
        std::uint32_t start = 0;
        run_short([&](berth_error* error) { return berth_result_next_start(result.get(), &start, error); });
        return start;
      },
      "Where first fit goes on.");
  type.def(
      "arrow_batch",
      [](const ResultHandle& self, const std::vector<std::uint32_t>& columns) {
        return arrow_batch(self.use(), columns);
      },
      nb::sig("def arrow_batch(self, columns: Sequence[int]) -> tuple[typing.Any, typing.Any]"), nb::arg("columns"),
      "Capsules arrow_schema and arrow_array: columns of one length as a record batch.");
  type.def(
      "arrow_schema",
      [](const ResultHandle& self, const std::vector<std::uint32_t>& columns) {
        return arrow_schema(self.use(), columns);
      },
      nb::sig("def arrow_schema(self, columns: Sequence[int]) -> typing.Any"), nb::arg("columns"),
      "Capsule arrow_schema of the same.");
  type.def(
      "arrow_column", [](const ResultHandle& self, std::uint32_t column) { return arrow_column(self.use(), column); },
      nb::sig("def arrow_column(self, column: int) -> tuple[typing.Any, typing.Any]"), nb::arg("column"),
      "Capsules arrow_schema and arrow_array of one column.");
  type.def(
      "arrow_stream",
      [](const ResultHandle& self, const std::vector<std::uint32_t>& columns) {
        return arrow_stream(self.use(), columns);
      },
      nb::arg("columns"), "Capsule arrow_array_stream of the one record batch.");
  type.def(
      "dlpack",
      [](const ResultHandle& self, std::uint32_t column, const std::vector<std::int64_t>& shape) {
        return dlpack_tensor(self.use(), column, shape);
      },
      nb::arg("column"), nb::arg("shape") = std::vector<std::int64_t>{}, "Capsule dltensor_versioned, read-only.");
}

}  // namespace berth_python
