// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/image_table.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
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

/// What images were before a node came or went.
class ImageTable::Touched : public UndoStep {
 public:
  Touched(ImageTable& table, std::size_t count) : table_(table), resizable_before_(table.resizable_count_) {
    images_.reserve(count);
  }
  void note_added(States::value_type& image) { images_.push_back({&image, std::nullopt, {}}); }
  void note_changed(States::value_type& image) { images_.push_back({&image, image.second, {}}); }
  void note_gone(States::node_type gone) { images_.push_back({nullptr, std::nullopt, std::move(gone)}); }
  void undo() noexcept override {
    for (; !images_.empty(); images_.pop_back()) {
      Image& image = images_.back();
      if (!image.gone.empty()) {
        table_.states_.insert(std::move(image.gone));
      } else if (image.before) {
        image.known->second = *image.before;
      } else {
        table_.states_.erase(table_.states_.find(image.known->first));
      }
    }
    table_.resizable_count_ = resizable_before_;
  }

 private:
  struct Image {
    States::value_type* known;         ///< null: it went
    std::optional<ImageState> before;  ///< absent: it came, or went
    States::node_type gone;
  };
  ImageTable& table_;
  std::int64_t resizable_before_;
  std::vector<Image> images_;  ///< an image that goes was changed before
};

void ImageTable::add(const Node& node, UndoSteps* undo) {
  const std::vector<Mention> mentions = distinct_names(node);
  Touched* const touched = undo != nullptr ? &undo->add<Touched>(*this, mentions.size()) : nullptr;
  for (const Mention& mention : mentions) {
    auto found = states_.find(mention.name);
    const bool is_new = found == states_.end();
    if (is_new) found = states_.emplace(std::string(mention.name), ImageState{.size_bytes = mention.size_bytes}).first;
    if (touched != nullptr) is_new ? touched->note_added(*found) : touched->note_changed(*found);
    ImageState& state = found->second;
    resizable_count_ -= may_be_resized(state) ? 1 : 0;
    ++state.node_count;
    state.sizes_differ = state.sizes_differ || state.size_bytes != mention.size_bytes;
    resizable_count_ += may_be_resized(state) ? 1 : 0;
  }
}

void ImageTable::drop(const Node& node, UndoSteps* undo) {
  const std::vector<Mention> mentions = distinct_names(node);
  Touched* const touched = undo != nullptr ? &undo->add<Touched>(*this, 2 * mentions.size()) : nullptr;
  for (const Mention& mention : mentions) {
    const auto found = states_.find(mention.name);
    if (found == states_.end()) continue;
    if (touched != nullptr) touched->note_changed(*found);
    ImageState& state = found->second;
    resizable_count_ -= may_be_resized(state) ? 1 : 0;
    --state.node_count;
    resizable_count_ += may_be_resized(state) ? 1 : 0;
    if (state.node_count != 0) continue;
    States::node_type gone = states_.extract(found);
    if (touched != nullptr) touched->note_gone(std::move(gone));
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
  std::uint64_t bytes = heap_bytes(states_);
  for (const auto& [name, state] : states_) bytes += heap_bytes(name);
  return bytes;
}

}  // namespace berth
