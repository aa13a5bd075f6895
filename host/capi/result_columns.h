// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth::capi {

/// What every result means by a column's number: BERTH_COLUMN_*.
struct ResultColumn {
  std::uint32_t id;
  const char* name;      ///< the constant's, in small letters
  bool is_text = false;  ///< elements are numbers of the result's texts
};

/// null: no column has the number
const ResultColumn* find_result_column(std::uint32_t id) noexcept;

}  // namespace berth::capi
