// SPDX-License-Identifier: Apache-2.0
#include "host/capi/dlpack_export.h"

#include "host/capi/cluster.h"
#include "host/capi/dlpack_abi.h"

namespace berth::capi {
namespace {

struct OwnedTensor {
  std::shared_ptr<const Result> result;
  std::int64_t shape = 0;
  std::int64_t stride = 1;
  DLManagedTensorVersioned tensor{};
};

DLDataType data_type_of(const berth_column& view) {
  const bool is_signed = view.type == BERTH_TYPE_I32 || view.type == BERTH_TYPE_I64;
  return {is_signed ? kDlpackInt : kDlpackUint, static_cast<std::uint8_t>(8 * view.stride), 1};
}

/// In a child of the process that made the result nothing is freed, as by free_handle().
void free_tensor(DLManagedTensorVersioned* tensor) {
  auto* const owned = static_cast<OwnedTensor*>(tensor->manager_ctx);
  if (owned->result->cluster().engine().process.is_here()) delete owned;
}

}  // namespace

DLManagedTensorVersioned* export_to_dlpack(const std::shared_ptr<const Result>& result, std::uint32_t column) {
  const berth_column view = result->view(column);
  auto owned = std::make_unique<OwnedTensor>();
  owned->result = result;
  owned->shape = static_cast<std::int64_t>(view.length);
  DLManagedTensorVersioned& tensor = owned->tensor;
  tensor.version = kDlpackVersion;
  tensor.manager_ctx = owned.get();
  tensor.deleter = free_tensor;
  tensor.flags = kDlpackReadOnly;
  // The interface has no pointer to constant data; the flag above says that it is not to be written.
  tensor.dl_tensor.data = const_cast<void*>(view.data);
  tensor.dl_tensor.device = {kDlpackCpu, 0};
  tensor.dl_tensor.ndim = 1;
  tensor.dl_tensor.dtype = data_type_of(view);
  tensor.dl_tensor.shape = &owned->shape;
  tensor.dl_tensor.strides = &owned->stride;
  return &owned.release()->tensor;
}

}  // namespace berth::capi
