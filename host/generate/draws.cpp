// SPDX-License-Identifier: Apache-2.0
#include "host/generate/draws.h"

#include <cstdint>

namespace berth {
namespace {

std::size_t draw_index(Random& random, std::size_t count, const std::vector<std::int32_t>& weights) {
  if (weights.empty()) return random.below(count);
  std::uint64_t sum = 0;
  for (const std::int32_t weight : weights) sum += static_cast<std::uint64_t>(weight);
  std::uint64_t left = random.below(sum);
  std::size_t index = 0;
  for (; left >= static_cast<std::uint64_t>(weights[index]); ++index)
    left -= static_cast<std::uint64_t>(weights[index]);
  return index;
}

Quantity draw(const QuantityDraw& from, Random& random, std::size_t variant) {
  switch (from.kind) {
    case QuantityDraw::Kind::kFixed:
      return from.values.front();
    case QuantityDraw::Kind::kChoice:
      return from.values[draw_index(random, from.values.size(), from.weights)];
    case QuantityDraw::Kind::kRange: {
      const std::uint64_t steps = random.below(static_cast<std::uint64_t>(from.step_count));
      return Quantity{from.start.nano + from.step.nano * static_cast<__int128>(steps)};
    }
    case QuantityDraw::Kind::kSequence:
      break;
  }
  const __int128 offset = from.step.nano * static_cast<__int128>(variant);
  return Quantity{from.start.nano + (from.modulo.nano > 0 ? offset % from.modulo.nano : offset)};
}

}  // namespace

std::string draw(const TextDraw& from, Random& random, std::size_t variant) {
  if (from.sequence_count > 0)
    return from.values.front() + std::to_string(variant % static_cast<std::size_t>(from.sequence_count));
  return from.values.size() == 1 ? from.values.front()
                                 : from.values[draw_index(random, from.values.size(), from.weights)];
}

ResourceList draw(const ResourceDraws& from, Random& random, std::size_t variant) {
  ResourceList list;
  list.reserve(from.size());
  for (const auto& [name, amount] : from) list.emplace_back(name, draw(amount, random, variant));
  return list;
}

void draw_into(LabelEntries& entries, const TextDraws& from, Random& random, std::size_t variant) {
  for (const auto& [key, value] : from) entries.emplace_back(key, draw(value, random, variant));
}

LabelMap draw(const TextDraws& from, Random& random, std::size_t variant) {
  if (from.empty()) return LabelMap();
  LabelEntries entries;
  draw_into(entries, from, random, variant);
  return LabelMap(std::move(entries));
}

}  // namespace berth
