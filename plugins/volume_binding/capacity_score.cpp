// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/capacity_score.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include "plugins/utilization_shape.h"

namespace berth {
namespace {

// Sums and products wrap as Go's do.
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Of one class, in bytes.
struct Use {
  std::int64_t requested = 0;
  std::int64_t capacity = 0;

  std::int64_t percent() const {
    constexpr std::int64_t kFull = 100;
    if (capacity == 0 || requested > capacity) return kFull;
    const auto product = static_cast<std::int64_t>(static_cast<std::uint64_t>(requested) * kFull);
    return product / capacity;
  }
};
using UseOfClass = std::map<std::string_view, Use>;

std::int64_t bytes(const std::optional<Quantity>& quantity) { return quantity ? quantity->value() : 0; }

UseOfClass use_of_classes(const ClaimsOnNode& found) {
  UseOfClass uses;
  for (const auto& [claim, volume] : found.matches) {
    Use& use = uses[volume->class_name];
    use.requested = wrapping_add(use.requested, bytes(claim->request));
    use.capacity = wrapping_add(use.capacity, volume->capacity.value());
  }
  if (!found.matches.empty()) return uses;
  for (std::size_t i = 0; i < found.provisions.size(); ++i) {
    if (found.capacities[i] == nullptr) continue;
    Use& use = uses[found.provisions[i]->class_name];
    use.requested = wrapping_add(use.requested, bytes(found.provisions[i]->request));
    // Not a sum: the claims share it. Without the field upstream crashes.
    use.capacity = bytes(found.capacities[i]->capacity);
  }
  return uses;
}

}  // namespace

std::int64_t capacity_score(const ClaimsOnNode& found, const std::vector<ShapePoint>& shape) {
  const UseOfClass uses = use_of_classes(found);
  if (uses.empty()) return 0;
  std::int64_t sum = 0;
  for (const auto& [name, use] : uses) sum += shape_score(shape, use.percent());
  return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(uses.size())));
}

}  // namespace berth
