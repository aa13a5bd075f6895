// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/item_batch.h"

#include "host/objects/text/json_scan.h"
#include "host/objects/text/yaml_items.h"

namespace berth {

std::string item_location(const ItemSlice& item) { return field_location(item, {}); }

std::string field_location(const ItemSlice& item, std::string_view path) {
  const char* const begin = item.json.data();
  std::string location = "line " + std::to_string(item.line + count_newlines(begin, find_field(item.json, path)));
  if (item.list != nullptr) {
    location += ", " + item.list->path + "items[" + std::to_string(item.item_index) + "]";
    if (!path.empty() && !path.starts_with('[')) location += '.';
  } else if (!path.empty()) {
    location += ", ";
  }
  return location.append(path);
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
  YamlItemReader reader(source_, input, yaml_limits_, yaml_first_line_);
  for (ItemBatch part; reader.next(part);) append(std::move(part));
}

std::size_t ItemBatch::text_bytes() const {
  std::size_t bytes = yaml_text_.size();
  for (const std::shared_ptr<TextBlock>& block : blocks_) bytes += block->capacity;
  return bytes;
}

bool ItemBatch::empty() const {
  return items_.empty() && problems_.empty() && warnings_.empty() && document_count_ == 0 && skipped_count_ == 0;
}

void ItemBatch::append(ItemBatch&& other) {
  items_.insert(items_.end(), other.items_.begin(), other.items_.end());
  problems_.insert(problems_.end(), std::make_move_iterator(other.problems_.begin()),
                   std::make_move_iterator(other.problems_.end()));
  warnings_.insert(warnings_.end(), std::make_move_iterator(other.warnings_.begin()),
                   std::make_move_iterator(other.warnings_.end()));
  blocks_.insert(blocks_.end(), other.blocks_.begin(), other.blocks_.end());
  lists_.insert(lists_.end(), other.lists_.begin(), other.lists_.end());
  document_count_ += other.document_count_;
  empty_list_count_ += other.empty_list_count_;
  skipped_count_ += other.skipped_count_;
}

}  // namespace berth
