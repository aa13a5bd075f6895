// SPDX-License-Identifier: Apache-2.0
// Cuts JSON text into objects while it is being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/text/byte_source.h"
#include "host/objects/text/item_batch.h"
#include "host/objects/text/json_scan.h"
#include "host/objects/text/json_window.h"
#include "host/objects/text/text_limits.h"

namespace berth {

/// Cuts a text of one or more JSON objects (with or without line breaks between them), lists (an object with an "items"
/// array whose kind, if it has one, ends in "List") and top-level arrays into items. Only what lies between the items
/// is checked; each item may still be malformed inside.
///
/// The window is TextLimits::block_bytes, and grows for an object that is longer, up to item_bytes_max. Items of a list
/// whose kind comes behind them are held back until it is known when the first of them has no kind of its own.
class JsonItemSplitter {
 public:
  /// @param source  number of the file in problems and batches
  JsonItemSplitter(std::shared_ptr<const std::string> source, const TextLimits& limits);
  ~JsonItemSplitter();

  /// Puts what the next window holds into `batch`; false when nothing is left. Call it with the same `input` until it
  /// returns false. Malformed text is a problem in the batch and ends the input.
  /// @throws InputError from `input`, after all that was cut before has been handed out; then call drop_document() and
  ///         go on, or stop.
  bool next(ByteStream& input, ItemBatch& batch);

  /// Forgets the document that was being read; the next one of the source starts on `line`. For sources that can go on
  /// behind an error.
  void drop_document(std::uint64_t line);

  /// Text that is not JSON was met before anything could be cut; unread() holds what was read of it.
  bool failed_at_once() const { return failed_ && documents_ == 0 && list_ == nullptr; }
  /// A YAML document marker "---" follows the JSON documents; unread() begins with it and the rest was not read.
  bool yaml_follows() const { return yaml_follows_; }
  /// What was read but not cut.
  std::string_view unread() const { return window_.unread(); }
  std::uint64_t line() const { return window_.line(); }  ///< of the first byte of unread()
  void set_first_line(std::uint64_t line) { window_.set_line(line); }
  /// Nothing but white space was met up to the end.
  bool found_nothing() const { return !failed_ && !yaml_follows_ && documents_ == 0 && list_ == nullptr; }

 private:
  enum class State { kBetweenDocuments, kFirstItem, kAfterItem, kNextItem, kAfterItems, kNextMember };
  enum class Step { kDone, kNeedMore, kFailed };
  struct Member {
    std::string_view key;
    const char* value;
  };
  struct OpenList;

  const char* at() const { return window_.at(); }
  const char* end() const { return window_.end(); }
  bool make_room();

  // One step each; kNeedMore leaves everything as it was.
  Step cut();
  Step cut_once();
  Step begin_document();
  Step cut_object();
  Step cut_members(const char* byte);
  Step emit_document(const char* object_end);
  Step enter_array();
  Step enter_list(const Member& items);
  Step cut_item();
  Step after_item();
  Step after_items();
  Step cut_member();
  Step read_member(const char* from, Member& member);
  Step fail_at(const char* byte, std::string_view expectation);
  void fail_unless_complete();

  void note_member(const Member& member);
  void hold_back_unless_kind(std::string_view first_item);
  void leave_items();
  void close_list();
  void name_item_kind();
  bool is_skipped(std::string_view json);
  void emit(std::string_view json, const std::shared_ptr<ListContext>& list, std::int64_t index, std::uint64_t line,
            std::size_t depth);
  void emit_nested(std::string_view json, const ObjectShape& shape, const ListContext& outer, std::int64_t index,
                   std::uint64_t line, std::size_t depth);
  void add_problem(const std::string& location, const std::string& message);
  void warn_of_page(std::uint64_t line, const std::string& path);
  void fail(const std::string& location, const std::string& message);
  void release_held_back();
  void flush_current();

  std::shared_ptr<const std::string> source_;
  TextLimits limits_;
  JsonWindow window_;
  bool failed_ = false;
  bool yaml_follows_ = false;

  State state_ = State::kBetweenDocuments;
  std::uint64_t documents_ = 0;
  std::unique_ptr<OpenList> list_;

  ItemBatch current_;
  std::deque<ItemBatch> ready_;
  std::vector<ItemBatch> held_back_;
  std::size_t held_back_bytes_ = 0;
  std::size_t small_items_ = 0;
};

}  // namespace berth
