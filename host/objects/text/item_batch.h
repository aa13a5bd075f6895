// SPDX-License-Identifier: Apache-2.0
// Pieces of JSON text, one per object, and the memory they lie in. See text_reader.h for who makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/errors.h"
#include "host/objects/text/text_limits.h"

namespace berth {

/// The list that items were cut from. Immutable once a batch with one of its items was handed out.
struct ListContext {
  std::string path;              ///< "" or the path of a list within a list, "items[3]."
  std::string item_kind;         ///< kind of items that name none: "Pod" from a PodList; "" from a plain List
  std::string item_api_version;  ///< apiVersion of such items; "" from a plain List
};

/// The JSON text of one object. kSlicePaddingBytes bytes behind `json` are readable (their content is not JSON's).
struct ItemSlice {
  std::string_view json;
  const ListContext* list = nullptr;  ///< null: an object of its own; owned by the batch
  std::int64_t item_index = -1;       ///< position in the "items" of its list; -1: an object of its own
  std::uint64_t line = 1;             ///< line of the source (of the YAML, too) on which the text begins

  const char* readable_end() const { return json.data() + json.size() + kSlicePaddingBytes; }
  std::string_view kind_hint() const { return list == nullptr ? std::string_view{} : list->item_kind; }
  std::string_view api_version_hint() const { return list == nullptr ? std::string_view{} : list->item_api_version; }
};

/// The location of an item in an InputProblem: "line 40" for an object of its own, "line 40, items[17]" or
/// "line 40, items[3].items[0]" for an item of a list.
std::string item_location(const ItemSlice& item);

/// The location of a field of an item: "line 43, items[17].spec.priority". The line is that of the field's name or,
/// when the field is absent, of the innermost object around it that is there.
/// @param path  as JsonValue::path() writes it, relative to the item; "" is the item itself
std::string field_location(const ItemSlice& item, std::string_view path);

/// Bytes that slices point into; kSlicePaddingBytes zero bytes follow `size`.
struct TextBlock {
  explicit TextBlock(std::size_t capacity);

  std::unique_ptr<char[]> data;
  std::size_t size = 0;
  std::size_t capacity;
};

/// Items that follow one another in one source, with the memory they lie in. Movable; may be given to another thread.
class ItemBatch {
 public:
  ItemBatch();
  ~ItemBatch();
  ItemBatch(ItemBatch&&) noexcept;
  ItemBatch& operator=(ItemBatch&&) noexcept;

  /// Turns YAML that came as text into items; does nothing for the rest. Call it once, before items(), from any
  /// thread: it is the expensive part of reading YAML and is left to the caller for that reason. Never throws on bad
  /// input: see problems().
  void convert();

  const std::string& source() const { return *source_; }          ///< file name, "-" for standard input
  const std::vector<ItemSlice>& items() const { return items_; }  ///< in input order
  /// What could not be read at this place of the input, in order. There may be items too.
  const std::vector<InputProblem>& problems() const { return problems_; }
  /// What was read and looks incomplete.
  const std::vector<InputProblem>& warnings() const { return warnings_; }
  /// Documents that end in this batch: objects and lists, empty lists among them.
  std::size_t document_count() const { return document_count_; }
  /// Of these, lists whose "items" is an empty array.
  std::size_t empty_list_count() const { return empty_list_count_; }
  /// Items that are too short to be objects and were not handed out (TextLimits::small_items_max).
  std::size_t skipped_count() const { return skipped_count_; }
  /// Bytes of text that the batch keeps.
  std::size_t text_bytes() const;

 private:
  friend class JsonItemSplitter;
  friend class TextReader;
  friend class YamlItemReader;

  bool empty() const;
  void append(ItemBatch&& other);

  std::shared_ptr<const std::string> source_;
  std::vector<ItemSlice> items_;
  std::vector<InputProblem> problems_;
  std::vector<InputProblem> warnings_;
  std::vector<std::shared_ptr<TextBlock>> blocks_;
  std::vector<std::shared_ptr<ListContext>> lists_;
  std::size_t document_count_ = 0;
  std::size_t empty_list_count_ = 0;
  std::size_t skipped_count_ = 0;

  // YAML text still to be converted: whole documents; empty when there is none.
  std::string yaml_text_;
  std::uint64_t yaml_first_line_ = 1;
  TextLimits yaml_limits_;
};

}  // namespace berth
