// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/image_table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

struct Mention {
  std::string_view name;
  std::size_t position;  ///< in the node's lists, so that the first of equal names stays first
  std::int64_t size_bytes;
};

/// Each name of the node once, with the size of its first mention.
std::vector<Mention> distinct_names(const Node& node) {
  std::vector<Mention> names;
  for (const NodeImage& image : node.images) {
    for (const std::string& name : image.names) names.push_back({name, names.size(), image.size_bytes});
  }
  std::sort(names.begin(), names.end(), [](const Mention& a, const Mention& b) {
    return a.name != b.name ? a.name < b.name : a.position < b.position;
  });
  const auto same_name = [](const Mention& a, const Mention& b) { return a.name == b.name; };
  names.erase(std::unique(names.begin(), names.end(), same_name), names.end());
  return names;
}

}  // namespace

void ImageTable::add(const Node& node) {
  for (const Mention& mention : distinct_names(node)) {
    auto found = states_.find(mention.name);
    if (found == states_.end()) {
      found = states_.emplace(std::string(mention.name), ImageState{mention.size_bytes, 0}).first;
    }
    ++found->second.node_count;
  }
}

void ImageTable::drop(const Node& node) {
  for (const Mention& mention : distinct_names(node)) {
    const auto found = states_.find(mention.name);
    if (found != states_.end() && --found->second.node_count == 0) states_.erase(found);
  }
}

std::uint64_t ImageTable::memory_bytes() const {
  constexpr std::uint64_t kTreeNodeBytes = 32;  // colour and three links, as the standard libraries lay it out
  std::uint64_t bytes = 0;
  for (const auto& [name, state] : states_) bytes += kTreeNodeBytes + sizeof(States::value_type) + heap_bytes(name);
  return bytes;
}

}  // namespace berth
