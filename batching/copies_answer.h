// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many copies of a pod find a node, one placed after another until one fits nowhere: what engines can tell without
// placing them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace berth {

/// Calls body(begin, end) for blocks that cover [0, count), in any order, perhaps in parallel.
using ForBlocks = std::function<void(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body)>;

struct CopiesLimits {
  const std::vector<bool>* among = nullptr;  ///< as BatchLimits::among
  bool on_nodes = false;                     ///< CopiesAnswer::on_node is wanted
  const ForBlocks* in_blocks = nullptr;      ///< null: in the thread of the call
};

/// The copies of one pod: pods of its spec, labels and owner that are not nominated, each with a uid of its own.
struct CopiesOfPod {
  /// kUnknown: they have to be placed. kAfterFirst: likewise, but once one of them is placed, asking again may tell.
  enum class Kind : std::uint8_t { kUnknown, kAfterFirst, kKnown };
  Kind kind = Kind::kUnknown;
  std::int64_t count = 0;   ///< of kKnown
  std::string error = {};   ///< of kKnown, non-empty: the cycle of the first one ends with this error
  std::size_t same_as = 0;  ///< an earlier pod of the call that is answered alike, or this one
};

struct CopiesAnswer {
  std::vector<CopiesOfPod> pods;  ///< in the order of the call
  /// [pod * slot_count + NodeIndex::value] where it was asked for: the copies on each node, of pods with kKnown that
  /// are not answered like an earlier one; 0 of the others. Whatever the order in which nodes are chosen.
  std::vector<std::int32_t> on_node;
  std::size_t slot_count = 0;
};

}  // namespace berth
