// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "host/capi/result.h"

struct DLManagedTensorVersioned;

namespace berth::capi {

/// A column of a result as a read-only tensor of one dimension in host memory, which keeps the result alive until its
/// deleter is called. Source: https://dmlc.github.io/dlpack/latest/c_api.html
/// @throws ApiError
DLManagedTensorVersioned* export_to_dlpack(const std::shared_ptr<const Result>& result, std::uint32_t column);

}  // namespace berth::capi
