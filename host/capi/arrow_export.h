// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "host/capi/result.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// Columns of a result as a record batch of the Arrow C data interface: a struct with a child a column, in that order.
/// The structs are the caller's, to be released by their callbacks, and keep the result alive.
/// Source: https://arrow.apache.org/docs/format/CDataInterface.html
/// @param columns  BERTH_COLUMN_*, of one length
/// @throws ApiError; then neither struct was written
void export_to_arrow(const std::shared_ptr<const Result>& result, std::span<const std::uint32_t> columns,
                     ArrowSchema& schema, ArrowArray& array);

}  // namespace berth::capi
