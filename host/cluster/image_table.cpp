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

std::size_t count_names(const Node& node) {
  std::size_t count = 0;
  for (const NodeImage& image : node.images) count += image.names.size();
  return count;
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
        table_.index(table_.states_.insert(std::move(image.gone)).position);  // has the room that it had before
      } else if (image.before) {
        image.known->second = *image.before;
      } else {
        table_.extract(table_.states_.find(image.known->first));
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

ImageTable::ImageTable(const ImageTable& other) : states_(other.states_), resizable_count_(other.resizable_count_) {
  by_name_.reserve(states_.size());
  for (auto at = states_.begin(); at != states_.end(); ++at) index(at);
}

ImageTable::States::node_type ImageTable::extract(States::iterator at) {
  by_name_.erase(at->first);
  return states_.extract(at);
}

void ImageTable::add(const Node& node, UndoSteps* undo) {
  const std::size_t mentions = count_names(node);
  Touched* const touched = undo != nullptr ? &undo->add<Touched>(*this, mentions) : nullptr;
  ++reads_;
  for (const NodeImage& image : node.images)
    for (const std::string& name : image.names) {
      auto known = by_name_.find(std::string_view(name));
      const bool is_new = known == by_name_.end();
      if (!is_new && known->second.read_at == reads_) continue;  // named twice
      if (is_new) {
        const auto made = states_.emplace(name, ImageState{.size_bytes = image.size_bytes}).first;
        try {
          known = index(made);
        } catch (...) {
          states_.erase(made);
          throw;
        }
      }
      known.value().read_at = reads_;
      States::value_type& entry = *known->second.at;
      if (touched != nullptr) is_new ? touched->note_added(entry) : touched->note_changed(entry);
      ImageState& state = entry.second;
      resizable_count_ -= may_be_resized(state) ? 1 : 0;
      ++state.node_count;
      state.sizes_differ = state.sizes_differ || state.size_bytes != image.size_bytes;
      resizable_count_ += may_be_resized(state) ? 1 : 0;
    }
}

void ImageTable::drop(const Node& node, UndoSteps* undo) {
  Touched* const touched = undo != nullptr ? &undo->add<Touched>(*this, 2 * count_names(node)) : nullptr;
  ++reads_;
  for (const NodeImage& image : node.images)
    for (const std::string& name : image.names) {
      const auto known = by_name_.find(std::string_view(name));
      if (known == by_name_.end() || known->second.read_at == reads_) continue;
      known.value().read_at = reads_;
      const States::iterator at = known->second.at;
      if (touched != nullptr) touched->note_changed(*at);
      ImageState& state = at->second;
      resizable_count_ -= may_be_resized(state) ? 1 : 0;
      --state.node_count;
      resizable_count_ += may_be_resized(state) ? 1 : 0;
      if (state.node_count != 0) continue;
      States::node_type gone = extract(at);
      if (touched != nullptr) touched->note_gone(std::move(gone));
    }
}

void ImageTable::set_size(std::string_view name, std::int64_t size_bytes) {
  const auto found = states_.find(name);
  if (found == states_.end()) return;
  ImageState& state = found->second;
  resizable_count_ -= may_be_resized(state) ? 1 : 0;
  state.size_bytes = size_bytes;
  state.sizes_differ = true;
  resizable_count_ += may_be_resized(state) ? 1 : 0;
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
  std::uint64_t bytes =
      heap_bytes(states_) + heap_block_bytes(by_name_.bucket_count() * (sizeof(ByName::value_type) + 8));
  for (const auto& [name, state] : states_) bytes += heap_bytes(name);
  return bytes;
}

}  // namespace berth
