// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "batching/backend.h"

namespace berth {

/// Which nodes take pods of a class and priority, with what the answers follow from.
struct KeptNodes {
  AnswerBasis basis;
  std::vector<std::uint8_t> accepts;  ///< [slot] 1: the node takes them; 0: it does not, or there is none
  std::uint64_t last_used = 0;

  /// @param out [out] the answers of the nodes
  void write(std::span<const NodeIndex> nodes, std::span<std::uint8_t> out) const;
};

/// Each node has the slot behind that of the node before.
bool are_consecutive(std::span<const NodeIndex> nodes);

/// What a what-if keeps of such answers, so that a question about pods of a class that was asked about before costs
/// what has changed since. Dropping one changes no answer.
class AcceptingNodes {
 public:
  /// null: nothing is kept of pods of this class and priority. Valid until the next keep() or clear().
  KeptNodes* find(const PodToPlace& pod);
  /// Takes the place of what was kept. Where all of them together would be larger than kBytesMax, those go that were
  /// used longest ago.
  KeptNodes& keep(const PodToPlace& pod, KeptNodes kept);
  void clear() { kept_.clear(); }
  std::uint64_t bytes() const;

 private:
  /// 64 classes of 1,000 nodes; so little that thousands of what-ifs may have as much.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 16;
  static std::uint64_t key_of(const PodToPlace& pod);
  void drop_oldest();

  std::unordered_map<std::uint64_t, KeptNodes> kept_;
  std::uint64_t clock_ = 0;
};

}  // namespace berth
