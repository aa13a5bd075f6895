// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/json_items.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kDocumentMarker = "---";

/// The byte as a message shows it.
std::string shown(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  if (code >= 0x20 && code < 0x7f) return std::string("'") + byte + "'";
  return "byte " + std::to_string(code);
}

/// Where a value should begin. NUL cannot begin one either.
bool is_separator(char byte) { return byte == ',' || byte == ':' || byte == ']' || byte == '}' || byte == '\0'; }

std::string_view string_at(const char* value, const char* end) {
  if (*value != '"') return {};
  const char* value_end = find_string_end(value, end);
  return value_end == nullptr ? std::string_view{} : std::string_view(value + 1, value_end - 1);
}

}  // namespace

/// What is known of the document that is being read.
struct JsonItemSplitter::OpenList {
  std::shared_ptr<ListContext> context = std::make_shared<ListContext>();
  std::string kind;
  std::string api_version;
  bool has_kind = false;
  bool is_array = false;
  bool holds_back = false;
  std::uint64_t page_line = 0;  ///< of the metadata that says is_page(); 0: none does
  std::int64_t next_index = 0;
};

JsonItemSplitter::JsonItemSplitter(std::shared_ptr<const std::string> source, const TextLimits& limits)
    : source_(std::move(source)), limits_(limits) {
  current_.source_ = source_;
}

JsonItemSplitter::~JsonItemSplitter() = default;

bool JsonItemSplitter::next(ByteStream& input, ItemBatch& batch) {
  for (;;) {
    if (!ready_.empty()) {
      batch = std::move(ready_.front());
      ready_.pop_front();
      return true;
    }
    if (failed_ || yaml_follows_) return false;
    const Step step = cut();
    if (step == Step::kNeedMore && window_.at_end()) fail_unless_complete();
    flush_current();
    if (!ready_.empty()) continue;
    if (window_.has_input_error()) {
      release_held_back();
      if (!ready_.empty()) continue;
      window_.rethrow_input_error();
    }
    if (failed_ || yaml_follows_ || window_.at_end() || !make_room()) {
      if (ready_.empty()) return false;
    } else {
      window_.read(input);
    }
  }
}

void JsonItemSplitter::drop_document(std::uint64_t line) {
  release_held_back();
  list_ = nullptr;
  state_ = State::kBetweenDocuments;
  ++documents_;
  window_.drop_unread(line);
}

/// Makes room in the window. False when the object that is being read is too large.
bool JsonItemSplitter::make_room() {
  if (unread().size() <= limits_.item_bytes_max) {
    window_.renew(limits_.block_bytes);
    return true;
  }
  fail(window_.place_of(at()),
       "object is larger than the limit of " + std::to_string(limits_.item_bytes_max) + " bytes");
  flush_current();
  return false;
}

// Cutting ------------------------------------------------------------------------------------------------------------

JsonItemSplitter::Step JsonItemSplitter::cut() {
  Step step = Step::kDone;
  while (step == Step::kDone) step = cut_once();
  return step;
}

JsonItemSplitter::Step JsonItemSplitter::cut_once() {
  window_.advance_to(skip_json_space(at(), end()));
  if (at() == end()) return Step::kNeedMore;
  switch (state_) {
    case State::kBetweenDocuments:
      return begin_document();
    case State::kFirstItem:
      if (*at() != ']') return cut_item();
      leave_items();
      return Step::kDone;
    case State::kAfterItem:
      return after_item();
    case State::kNextItem:
      return cut_item();
    case State::kAfterItems:
      return after_items();
    case State::kNextMember:
      return cut_member();
  }
  return Step::kFailed;
}

/// The text ended while a step wanted more.
void JsonItemSplitter::fail_unless_complete() {
  if (at() == end() && state_ == State::kBetweenDocuments) return;
  const char* what = list_ != nullptr ? "list" : "object";
  fail(window_.place_of(end()), std::string("the text ends in the middle of a JSON ") + what);
}

JsonItemSplitter::Step JsonItemSplitter::begin_document() {
  if (*at() == '{') return cut_object();
  if (*at() == '[') return enter_array();
  const std::string_view rest = unread();
  if (rest.size() < kDocumentMarker.size() && kDocumentMarker.starts_with(rest) && !window_.at_end())
    return Step::kNeedMore;
  if (documents_ > 0 && rest.starts_with(kDocumentMarker)) {
    yaml_follows_ = true;
    return Step::kFailed;
  }
  return fail_at(at(), "an object");
}

/// A document that is an object: whole, or up to the items of a list.
JsonItemSplitter::Step JsonItemSplitter::cut_object() {
  list_ = std::make_unique<OpenList>();
  const char* first = skip_json_space(at() + 1, end());
  const bool is_empty = first != end() && *first == '}';
  const Step step = is_empty ? emit_document(first + 1) : cut_members(first);
  if (state_ == State::kBetweenDocuments) list_ = nullptr;
  return step;
}

JsonItemSplitter::Step JsonItemSplitter::cut_members(const char* byte) {
  for (;; ++byte) {
    Member member{};
    if (const Step read = read_member(byte, member); read != Step::kDone) return read;
    if (member.key == "items" && *member.value == '[' && (!list_->has_kind || list_->kind.ends_with("List"))) {
      return enter_list(member);
    }
    const char* value_end = find_value_end(member.value, end());
    if (value_end == nullptr) return Step::kNeedMore;
    note_member(member);
    byte = skip_json_space(value_end, end());
    if (byte == end()) return Step::kNeedMore;
    if (*byte == '}') return emit_document(byte + 1);
    if (*byte != ',') return fail_at(byte, "',' or '}'");
  }
}

JsonItemSplitter::Step JsonItemSplitter::emit_document(const char* object_end) {
  emit({at(), object_end}, nullptr, -1, line(), 0);
  window_.advance_to(object_end);
  ++documents_;
  ++current_.document_count_;
  return Step::kDone;
}

/// `from`: where a key should stand. Puts the key and the first byte of its value.
JsonItemSplitter::Step JsonItemSplitter::read_member(const char* from, Member& member) {
  const char* key = skip_json_space(from, end());
  if (key == end()) return Step::kNeedMore;
  if (*key != '"') return fail_at(key, "'\"' of a field name");
  const char* key_end = find_string_end(key, end());
  if (key_end == nullptr) return Step::kNeedMore;
  const char* colon = skip_json_space(key_end, end());
  if (colon == end()) return Step::kNeedMore;
  if (*colon != ':') return fail_at(colon, "':' behind a field name");
  member.key = std::string_view(key + 1, key_end - 1);
  member.value = skip_json_space(colon + 1, end());
  if (member.value == end()) return Step::kNeedMore;
  if (is_separator(*member.value)) return fail_at(member.value, "a value");
  return Step::kDone;
}

void JsonItemSplitter::note_member(const Member& member) {
  if (member.key == "kind") {
    list_->has_kind = true;
    list_->kind = string_at(member.value, end());
  } else if (member.key == "apiVersion") {
    list_->api_version = string_at(member.value, end());
  } else if (member.key == "metadata" && is_page({member.value, end()})) {
    list_->page_line = line() + count_newlines(at(), member.value);
  }
}

JsonItemSplitter::Step JsonItemSplitter::enter_array() {
  list_ = std::make_unique<OpenList>();
  list_->is_array = true;
  state_ = State::kFirstItem;
  window_.advance_to(at() + 1);
  return Step::kDone;
}

JsonItemSplitter::Step JsonItemSplitter::enter_list(const Member& items) {
  if (list_->has_kind) name_item_kind();
  state_ = State::kFirstItem;
  window_.advance_to(items.value + 1);
  return Step::kDone;
}

JsonItemSplitter::Step JsonItemSplitter::cut_item() {
  if (is_separator(*at())) return fail_at(at(), "an item");
  const char* item_end = find_value_end(at(), end());
  if (item_end == nullptr) return Step::kNeedMore;
  const std::string_view json(at(), item_end);
  if (list_->next_index == 0 && !list_->has_kind && !list_->is_array) hold_back_unless_kind(json);
  emit(json, list_->context, list_->next_index, line(), 0);
  ++list_->next_index;
  window_.advance_to(item_end);
  state_ = State::kAfterItem;
  return Step::kDone;
}

JsonItemSplitter::Step JsonItemSplitter::after_item() {
  if (*at() == ']') {
    leave_items();
    return Step::kDone;
  }
  if (*at() != ',') return fail_at(at(), "',' or ']' behind an item");
  window_.advance_to(at() + 1);
  state_ = State::kNextItem;
  return Step::kDone;
}

JsonItemSplitter::Step JsonItemSplitter::after_items() {
  if (*at() == '}') {
    window_.advance_to(at() + 1);
    close_list();
    return Step::kDone;
  }
  if (*at() != ',') return fail_at(at(), "',' or '}' behind the items");
  window_.advance_to(at() + 1);
  state_ = State::kNextMember;
  return Step::kDone;
}

JsonItemSplitter::Step JsonItemSplitter::cut_member() {
  Member member;
  if (const Step read = read_member(at(), member); read != Step::kDone) return read;
  if (member.key == "items") return fail_at(at(), "one \"items\" in a list");
  const char* value_end = find_value_end(member.value, end());
  if (value_end == nullptr) return Step::kNeedMore;
  note_member(member);
  window_.advance_to(value_end);
  state_ = State::kAfterItems;
  return Step::kDone;
}

JsonItemSplitter::Step JsonItemSplitter::fail_at(const char* byte, std::string_view expectation) {
  fail(window_.place_of(byte), "malformed JSON: got " + shown(*byte) + ", expected " + std::string(expectation));
  return Step::kFailed;
}

// Lists --------------------------------------------------------------------------------------------------------------

void JsonItemSplitter::leave_items() {
  window_.advance_to(at() + 1);
  if (list_->is_array) {
    close_list();
  } else {
    state_ = State::kAfterItems;
  }
}

void JsonItemSplitter::hold_back_unless_kind(std::string_view first_item) {
  const ObjectShape shape = inspect_object(first_item);
  if (!shape.is_object || shape.has_kind) return;
  flush_current();
  list_->holds_back = true;
}

void JsonItemSplitter::close_list() {
  if (list_->has_kind && !list_->kind.ends_with("List")) {
    add_problem("line " + std::to_string(line()),
                "got \"items\" in an object of kind \"" + list_->kind + "\", expected a kind that ends in \"List\"");
  }
  if (list_->page_line > 0) warn_of_page(list_->page_line, "");
  if (!list_->is_array && list_->next_index == 0) ++current_.empty_list_count_;
  if (list_->holds_back) name_item_kind();
  release_held_back();
  list_ = nullptr;
  ++documents_;
  ++current_.document_count_;
  state_ = State::kBetweenDocuments;
}

/// Only while no item of the list was handed out.
void JsonItemSplitter::name_item_kind() {
  constexpr std::string_view kSuffix = "List";
  const std::string_view kind = list_->kind;
  if (kind.size() <= kSuffix.size() || !kind.ends_with(kSuffix)) return;
  list_->context->item_kind = kind.substr(0, kind.size() - kSuffix.size());
  list_->context->item_api_version = list_->api_version;
}

/// Items too short to be objects cost more memory than they bring; the first ones are handed out to be reported.
bool JsonItemSplitter::is_skipped(std::string_view json) {
  if (json.size() >= limits_.small_item_bytes || ++small_items_ <= limits_.small_items_max) return false;
  ++current_.skipped_count_;
  return true;
}

void JsonItemSplitter::emit(std::string_view json, const std::shared_ptr<ListContext>& list, std::int64_t index,
                            std::uint64_t line, std::size_t depth) {
  if (is_skipped(json)) return;
  if (list != nullptr && (list->item_kind.empty() || list->item_kind.ends_with("List")) && may_be_list(json)) {
    const ObjectShape shape = inspect_object(json);
    if (shape.items != nullptr && shape.kind.ends_with("List")) {
      emit_nested(json, shape, *list, index, line, depth + 1);
      return;
    }
  }
  ItemSlice item;
  item.json = json;
  item.list = list.get();
  item.item_index = index;
  item.line = line;
  if (json.size() > limits_.item_bytes_max) {
    add_problem(item_location(item),
                "object is larger than the limit of " + std::to_string(limits_.item_bytes_max) + " bytes");
    return;
  }
  if (list != nullptr && (current_.lists_.empty() || current_.lists_.back() != list)) current_.lists_.push_back(list);
  current_.items_.push_back(item);
}

/// Items of a list that is itself an item. The brackets of `json` are known to be balanced.
void JsonItemSplitter::emit_nested(std::string_view json, const ObjectShape& shape, const ListContext& outer,
                                   std::int64_t index, std::uint64_t line, std::size_t depth) {
  auto list = std::make_shared<ListContext>();
  list->path = outer.path + "items[" + std::to_string(index) + "].";
  if (shape.kind != "List") {
    list->item_kind = shape.kind.substr(0, shape.kind.size() - 4);
    list->item_api_version = shape.api_version;
  }
  if (depth > limits_.list_depth_max) {
    add_problem("line " + std::to_string(line) + ", " + list->path + "items",
                "lists lie more than " + std::to_string(limits_.list_depth_max) + " deep");
    return;
  }
  if (shape.is_page) warn_of_page(line, ", " + outer.path + "items[" + std::to_string(index) + "]");
  const char* const json_end = json.data() + json.size();
  const char* counted = json.data();
  std::int64_t nested_index = 0;
  for (const char* byte = skip_json_space(shape.items, json_end); byte != json_end && *byte != ']'; ++nested_index) {
    const char* value_end = find_value_end(byte, json_end);
    if (value_end == nullptr || value_end == byte) {
      add_problem("line " + std::to_string(line) + ", " + list->path + "items[" + std::to_string(nested_index) + "]",
                  "malformed JSON: expected an item");
      return;
    }
    line += count_newlines(counted, byte);
    counted = byte;
    emit({byte, value_end}, list, nested_index, line, depth);
    byte = skip_json_space(value_end, json_end);
    if (byte != json_end && *byte == ',') byte = skip_json_space(byte + 1, json_end);
  }
  if (nested_index == 0) ++current_.empty_list_count_;
}

// Batches ------------------------------------------------------------------------------------------------------------

void JsonItemSplitter::add_problem(const std::string& location, const std::string& message) {
  current_.problems_.push_back({*source_, location, message});
}

void JsonItemSplitter::warn_of_page(std::uint64_t line, const std::string& path) {
  current_.warnings_.push_back({*source_, "line " + std::to_string(line) + path,
                                "is one page of a list (metadata.continue), expected the other pages in the input too; "
                                "kubectl get without --raw writes a list as a whole"});
}

/// Nothing behind this place is read; what was cut before it stays.
void JsonItemSplitter::fail(const std::string& location, const std::string& message) {
  release_held_back();
  add_problem(location, message);
  failed_ = true;
}

void JsonItemSplitter::release_held_back() {
  if (list_ == nullptr || !list_->holds_back) return;
  flush_current();
  list_->holds_back = false;
  std::move(held_back_.begin(), held_back_.end(), std::back_inserter(ready_));
  held_back_.clear();
  held_back_bytes_ = 0;
}

/// What was cut is ready, or waits for the kind of its list.
void JsonItemSplitter::flush_current() {
  if (current_.empty()) return;
  current_.blocks_.push_back(window_.block());
  ItemBatch batch = std::exchange(current_, ItemBatch());
  current_.source_ = source_;
  if (list_ == nullptr || !list_->holds_back) {
    ready_.push_back(std::move(batch));
    return;
  }
  held_back_bytes_ += window_.block()->capacity + batch.items_.size() * sizeof(ItemSlice);
  held_back_.push_back(std::move(batch));
  if (held_back_bytes_ <= limits_.deferred_bytes_max) return;
  list_->holds_back = false;
  held_back_.clear();
  fail(window_.place_of(at()),
       "items without a kind come before the kind of their list and take more than the limit of " +
           std::to_string(limits_.deferred_bytes_max) + " bytes; put the kind first");
  flush_current();
}

}  // namespace berth
