// SPDX-License-Identifier: Apache-2.0
/// Results for other libraries: capsules of the Arrow C data interface and of DLPack.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "handle.h"

namespace berth_python {

using SharedResult = std::shared_ptr<berth_result>;

/// (arrow_schema, arrow_array): columns of one length as a record batch.
nb::tuple arrow_batch(const SharedResult& result, const std::vector<std::uint32_t>& columns);
/// arrow_schema alone.
nb::object arrow_schema(const SharedResult& result, const std::vector<std::uint32_t>& columns);
/// The same of one column, which is no struct then.
nb::tuple arrow_column(const SharedResult& result, std::uint32_t column);
/// arrow_array_stream: a stream of the one batch.
nb::object arrow_stream(const SharedResult& result, const std::vector<std::uint32_t>& columns);
/// dltensor_versioned: read-only. With `shape` of two numbers, whose product is the length, a matrix.
nb::object dlpack_tensor(const SharedResult& result, std::uint32_t column, const std::vector<std::int64_t>& shape);

}  // namespace berth_python
