// SPDX-License-Identifier: Apache-2.0
#include "interchange.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "call.h"

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE  // NOLINT(readability-identifier-naming): the name that all share
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif

// Of dlpack.h, version 1.0, whose layout is a published interface.
struct DLTensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensorVersioned {
  std::uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor tensor;
};

namespace berth_python {
namespace {

template <class Struct>
void release(Struct& released) {
  if (released.release != nullptr) released.release(&released);
}

/// A struct of Arrow that is released and freed unless somebody has taken it.
template <class Struct>
struct Released {
  std::unique_ptr<Struct> made = std::make_unique<Struct>();
  Released() { *made = Struct{}; }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    if (made) release(*made);
  }
};

template <class Struct>
nb::object capsule_of(Released<Struct>& made, const char* name) {
  PyObject* const capsule = PyCapsule_New(made.made.get(), name, [](PyObject* object) {
    auto* const owned = static_cast<Struct*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
    release(*owned);
    delete owned;
  });
  if (capsule == nullptr) throw nb::python_error();
  made.made.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it
  return nb::steal(capsule);
}

void export_batch(const SharedResult& result, const std::vector<std::uint32_t>& columns, ArrowSchema& schema,
                  ArrowArray& array) {
  run_short([&](berth_error* error) {
    return berth_result_arrow(result.get(), columns.data(), columns.size(), &schema, &array, error);
  });
}

/// What a consumer of the stream holds.
struct Batch {
  SharedResult result;
  std::vector<std::uint32_t> columns;
  bool is_given = false;
  berth_error error = BERTH_ERROR_INIT;
};

/// The batch is made for each question: a consumer may ask for the schema several times. Called without the GIL.
int ask(ArrowArrayStream* stream, ArrowSchema& schema, ArrowArray& array) {
  auto& batch = *static_cast<Batch*>(stream->private_data);
  const berth_status status =
      berth_result_arrow(batch.result.get(), batch.columns.data(), batch.columns.size(), &schema, &array, &batch.error);
  if (status == BERTH_E_MEMORY) return ENOMEM;
  return status < 0 ? EINVAL : 0;
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  ArrowArray array{};
  const int failure = ask(stream, *out, array);
  if (failure == 0) release(array);
  return failure;
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& batch = *static_cast<Batch*>(stream->private_data);
  if (batch.is_given) {
    *out = ArrowArray{};
    return 0;
  }
  ArrowSchema schema{};
  const int failure = ask(stream, schema, *out);
  if (failure == 0) release(schema);
  batch.is_given = failure == 0;
  return failure;
}

const char* stream_error(ArrowArrayStream* stream) { return static_cast<Batch*>(stream->private_data)->error.text; }

void stream_release(ArrowArrayStream* stream) {
  delete static_cast<Batch*>(stream->private_data);
  stream->release = nullptr;
}

/// A tensor of the library with a shape of its own.
struct Shaped {
  DLManagedTensorVersioned tensor{};
  DLManagedTensorVersioned* inner = nullptr;
  std::vector<std::int64_t> shape, strides;
};

DLManagedTensorVersioned* shaped(DLManagedTensorVersioned* inner, const std::vector<std::int64_t>& shape) {
  auto made = std::make_unique<Shaped>();
  made->inner = inner;
  made->shape = shape;
  made->strides = {shape[1], 1};
  made->tensor = *inner;
  made->tensor.manager_ctx = made.get();
  made->tensor.deleter = [](DLManagedTensorVersioned* tensor) {
    auto* const owned = static_cast<Shaped*>(tensor->manager_ctx);
    owned->inner->deleter(owned->inner);
    delete owned;
  };
  made->tensor.tensor.ndim = 2;
  made->tensor.tensor.shape = made->shape.data();
  made->tensor.tensor.strides = made->strides.data();
  return &made.release()->tensor;
}

constexpr const char* kTensorName = "dltensor_versioned";

}  // namespace

nb::tuple arrow_batch(const SharedResult& result, const std::vector<std::uint32_t>& columns) {
  Released<ArrowSchema> schema;
  Released<ArrowArray> array;
  export_batch(result, columns, *schema.made, *array.made);
  const nb::object first = capsule_of(schema, "arrow_schema");
  return nb::make_tuple(first, capsule_of(array, "arrow_array"));
}

nb::object arrow_schema(const SharedResult& result, const std::vector<std::uint32_t>& columns) {
  return arrow_batch(result, columns)[0];
}

nb::tuple arrow_column(const SharedResult& result, std::uint32_t column) {
  Released<ArrowSchema> schemas, schema;
  Released<ArrowArray> arrays, array;
  export_batch(result, {column}, *schemas.made, *arrays.made);
  // A child that is moved out lives on when its parent is released.
  *schema.made = std::exchange(*schemas.made->children[0], ArrowSchema{});
  *array.made = std::exchange(*arrays.made->children[0], ArrowArray{});
  const nb::object first = capsule_of(schema, "arrow_schema");
  return nb::make_tuple(first, capsule_of(array, "arrow_array"));
}

nb::object arrow_stream(const SharedResult& result, const std::vector<std::uint32_t>& columns) {
  Released<ArrowArrayStream> stream;
  *stream.made = {stream_schema, stream_next, stream_error, stream_release, new Batch{result, columns}};
  return capsule_of(stream, "arrow_array_stream");
}

nb::object dlpack_tensor(const SharedResult& result, std::uint32_t column, const std::vector<std::int64_t>& shape) {
  DLManagedTensorVersioned* made = nullptr;
  run_short([&](berth_error* error) { return berth_result_dlpack(result.get(), column, &made, error); });
  std::unique_ptr<DLManagedTensorVersioned, void (*)(DLManagedTensorVersioned*)> tensor(made, made->deleter);
  if (shape.size() == 2) {
    DLManagedTensorVersioned* const matrix = shaped(tensor.get(), shape);
    tensor.release();  // NOLINT(bugprone-unused-return-value): the matrix owns it
    tensor = {matrix, matrix->deleter};
  }
  PyObject* const capsule = PyCapsule_New(tensor.get(), kTensorName, [](PyObject* object) {
    // A consumer that took the tensor has renamed the capsule.
    if (PyCapsule_IsValid(object, kTensorName) == 0) return;
    auto* const owned = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(object, kTensorName));
    owned->deleter(owned);
  });
  if (capsule == nullptr) throw nb::python_error();
  tensor.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it
  return nb::steal(capsule);
}

}  // namespace berth_python
