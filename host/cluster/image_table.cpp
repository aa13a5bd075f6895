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
    if (found == states_.end())
      found = states_.emplace(std::string(mention.name), ImageState{.size_bytes = mention.size_bytes}).first;
    ImageState& state = found->second;
    resizable_count_ -= may_be_resized(state) ? 1 : 0;
    ++state.node_count;
    state.sizes_differ = state.sizes_differ || state.size_bytes != mention.size_bytes;
    resizable_count_ += may_be_resized(state) ? 1 : 0;
  }
}

void ImageTable::drop(const Node& node) {
  for (const Mention& mention : distinct_names(node)) {
    const auto found = states_.find(mention.name);
    if (found == states_.end()) continue;
    ImageState& state = found->second;
    resizable_count_ -= may_be_resized(state) ? 1 : 0;
    --state.node_count;
    resizable_count_ += may_be_resized(state) ? 1 : 0;
    if (state.node_count == 0) states_.erase(found);
  }
}

bool ImageTable::would_resize(const Node& node) const {
  if (resizable_count_ == 0) return false;
  const std::vector<Mention> mentions = distinct_names(node);
  return std::any_of(mentions.begin(), mentions.end(), [&](const Mention& mention) {
    const auto found = states_.find(mention.name);
    return found != states_.end() && may_be_resized(found->second) && found->second.size_bytes != mention.size_bytes;
  });
}

std::uint64_t ImageTable::memory_bytes() const {
  constexpr std::uint64_t kTreeNodeBytes = 32;  // colour and three links, as the standard libraries lay it out
  std::uint64_t bytes = 0;
  for (const auto& [name, state] : states_) bytes += kTreeNodeBytes + sizeof(States::value_type) + heap_bytes(name);
  return bytes;
}

}  // namespace berth
