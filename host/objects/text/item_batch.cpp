// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/item_batch.h"

#include "host/objects/text/yaml_items.h"

namespace berth {

std::string item_location(const ItemSlice& item) {
  std::string line = item.is_first_document ? "" : "line " + std::to_string(item.line);
  if (item.list == nullptr) return line;
  const std::string path = item.list->path + "items[" + std::to_string(item.item_index) + "]";
  return line.empty() ? path : line + ", " + path;
}

TextBlock::TextBlock(std::size_t capacity_bytes)
    : data(std::make_unique_for_overwrite<char[]>(capacity_bytes + kSlicePaddingBytes)), capacity(capacity_bytes) {}

ItemBatch::ItemBatch() : source_(std::make_shared<const std::string>()) {}
ItemBatch::~ItemBatch() = default;
ItemBatch::ItemBatch(ItemBatch&&) noexcept = default;
ItemBatch& ItemBatch::operator=(ItemBatch&&) noexcept = default;

void ItemBatch::convert() {
  if (yaml_text_.empty()) return;
  const std::string text = std::move(yaml_text_);
  yaml_text_.clear();
  MemoryStream input(text);
  YamlItemReader reader(source_, input, yaml_limits_, yaml_first_line_, yaml_is_first_);
  for (ItemBatch part; reader.next(part);) append(std::move(part));
}

void ItemBatch::append(ItemBatch&& other) {
  items_.insert(items_.end(), other.items_.begin(), other.items_.end());
  problems_.insert(problems_.end(), std::make_move_iterator(other.problems_.begin()),
                   std::make_move_iterator(other.problems_.end()));
  blocks_.insert(blocks_.end(), other.blocks_.begin(), other.blocks_.end());
  lists_.insert(lists_.end(), other.lists_.begin(), other.lists_.end());
}

}  // namespace berth
