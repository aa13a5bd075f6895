// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth::capi {

/// What every result means by a column's number: BERTH_COLUMN_*.
struct ResultColumn {
  /// What its elements are.
  enum class Kind : std::uint8_t {
    kNumber,
    kText,      ///< numbers of the result's texts
    kFlag,      ///< 1 or 0
    kNode,      ///< numbers of nodes, or BERTH_NO_NODE
    kPosition,  ///< in another list, or BERTH_NO_NODE, which is BERTH_NO_POD, too
    kScore,     ///< or BERTH_NO_SCORE
  };
  std::uint32_t id;
  const char* name;  ///< the constant's, in small letters
  Kind kind = Kind::kNumber;
};

/// null: no column has the number
const ResultColumn* find_result_column(std::uint32_t id) noexcept;

}  // namespace berth::capi
