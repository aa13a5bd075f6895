// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_to_json.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/objects/text/json_scan.h"
#include "host/objects/text/yaml_documents.h"
#include "host/objects/text/yaml_events.h"
#include "host/objects/text/yaml_scalars.h"

namespace berth {
namespace {

constexpr std::size_t kCompactBytes = std::size_t{64} << 10;
/// What is charged for a text that is kept, beside its bytes: about what it takes in memory.
constexpr std::size_t kKeptTextBytes = 256;

/// The field names of one mapping, as they are written in JSON. Reused for the next mapping on its level.
class KeySet {
 public:
  void clear() {
    count_ = 0;
    many_.clear();
  }
  /// False when the key is there already.
  bool insert(std::string_view key) {
    if (count_ < kFew) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (few_[i] == key) return false;
      }
      if (few_.size() == count_) few_.emplace_back();
      few_[count_++] = key;
      return true;
    }
    if (many_.empty()) many_.insert(few_.begin(), few_.end());
    return many_.emplace(key).second;
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<std::string> few_;
  std::size_t count_ = 0;
  std::unordered_set<std::string> many_;
};

/// JSON text of a node without line breaks, with the padding that scanning needs.
class NodeText {
 public:
  explicit NodeText(std::string_view written) {
    text_.reserve(written.size() + kSlicePaddingBytes);
    std::copy_if(written.begin(), written.end(), std::back_inserter(text_), [](char c) { return c != '\n'; });
    size_ = text_.size();
    text_.append(kSlicePaddingBytes, '\0');
  }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::string text_;
  std::size_t size_ = 0;
};

struct Anchor {
  NodeText text;
  std::optional<std::string> key;  ///< of a scalar: the field name it makes
};

/// An open mapping or sequence.
struct Level {
  bool is_mapping = false;
  bool is_flow = false;        ///< written with brackets
  bool value_is_next = false;  ///< in a mapping: a key was written
  bool value_is_merged = false;
  std::size_t count = 0;
  std::optional<std::string> anchor;
  KeySet keys;
  std::vector<NodeText> merges;

  void reset(bool mapping, bool flow, std::string_view anchor_name) {
    is_mapping = mapping;
    is_flow = flow;
    value_is_next = false;
    value_is_merged = false;
    count = 0;
    anchor = anchor_name.empty() ? std::nullopt : std::optional<std::string>(anchor_name);
    keys.clear();
    merges.clear();
  }
};

}  // namespace

class YamlJsonStream::Converter {
 public:
  Converter(ByteStream& yaml, std::string source, const TextLimits& limits, std::uint64_t first_line)
      : limits_(limits), source_(std::move(source)), cutter_(yaml, first_line), line_(first_line) {}

  std::size_t read(char* out, std::size_t capacity) {
    if (capacity == 0) return 0;
    while (available() == 0) {
      if (failure_ != nullptr) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
      }
      if (ended_ || !convert_more()) return 0;
    }
    const std::size_t count = std::min(capacity, available());
    std::copy_n(text_.data() + given_, count, out);
    given_ += count;
    return count;
  }

  std::uint64_t line() const { return line_; }

 private:
  /// What is finished: text of an open anchor or merge may still be needed here.
  std::size_t available() const { return (captures_.empty() ? text_.size() : captures_.front()) - given_; }

  bool convert_more() {
    compact();
    try {
      if (events_ == nullptr && !begin_document()) return false;
      while (events_ != nullptr && available() < kCompactBytes) convert_event();
    } catch (const YamlProblem& problem) {
      drop_document(std::make_exception_ptr(
          InputError(InputProblem{source_, "line " + std::to_string(problem.line), problem.message})));
    } catch (const InputError&) {
      ended_ = true;
      drop_document(std::current_exception());
    }
    return true;
  }

  bool begin_document() {
    if (!cutter_.next_document()) {
      ended_ = true;
      return false;
    }
    events_ = std::make_unique<YamlEventSource>(cutter_, limits_);
    return true;
  }

  /// What is open cannot be finished; what was finished before stays to be read.
  void drop_document(std::exception_ptr why) {
    if (!captures_.empty()) truncate(captures_.front());
    captures_.clear();
    anchors_.clear();
    depth_ = 0;
    events_ = nullptr;
    failure_ = std::move(why);
  }

  void compact() {
    if (!captures_.empty() || given_ < kCompactBytes) return;
    text_.erase(0, given_);
    given_ = 0;
  }

  void convert_event() {
    YamlEvent next;
    events_->next(next);
    const yaml_event_t& event = next.event;
    event_line_ = cutter_.first_line() + event.start_mark.line;
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        anchors_.clear();
        alias_bytes_ = 0;
        break;
      case YAML_DOCUMENT_END_EVENT:
        text_ += ' ';
        break;
      case YAML_STREAM_END_EVENT:
        events_ = nullptr;
        break;
      case YAML_SCALAR_EVENT:
        add_scalar(event);
        break;
      case YAML_ALIAS_EVENT:
        add_alias(std::string(yaml_text(event.data.alias.anchor)));
        break;
      case YAML_SEQUENCE_START_EVENT:
        open(false, event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
             yaml_text(event.data.sequence_start.anchor));
        break;
      case YAML_MAPPING_START_EVENT:
        open(true, event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
             yaml_text(event.data.mapping_start.anchor));
        break;
      case YAML_SEQUENCE_END_EVENT:
        close(']');
        break;
      case YAML_MAPPING_END_EVENT:
        add_merged();
        close('}');
        break;
      default:
        break;
    }
  }

  [[noreturn]] void fail(const std::string& message) const { throw YamlProblem{event_line_, message}; }

  Level& level() { return levels_[depth_ - 1]; }
  bool key_is_next() { return depth_ > 0 && level().is_mapping && !level().value_is_next; }

  // Nodes -------------------------------------------------------------------------------------------------------------

  void add_scalar(const yaml_event_t& event) {
    const auto& data = event.data.scalar;
    const std::string_view value = yaml_text(data.value, data.length);
    const std::string_view tag = yaml_text(data.tag);
    const bool plain = data.plain_implicit != 0;
    const std::string_view anchor = yaml_text(data.anchor);
    if (key_is_next() && is_yaml_merge_key(tag, value, plain)) {
      level().value_is_next = true;
      level().value_is_merged = true;
      return;
    }
    YamlScalar scalar;
    try {
      scalar = resolve_yaml_scalar(tag, value, plain);
      if (key_is_next()) {
        add_key(yaml_key_text(scalar, value), anchor);
        return;
      }
      if (depth_ == 0) {
        if (scalar.kind == YamlScalar::Kind::kNull) return;
        fail("got a lone scalar, expected a mapping or a list");
      }
      begin_node(!anchor.empty());
      append_json_scalar(text_, scalar, value);
    } catch (const std::invalid_argument& error) {
      fail(error.what());
    }
    std::optional<std::string> key;
    if (!anchor.empty() && scalar.kind != YamlScalar::Kind::kNull) key = yaml_key_text(scalar, value);
    end_node(anchor, std::move(key));
  }

  void add_key(const std::string& key, std::string_view anchor) {
    sync_line();
    if (level().count++ > 0) text_ += ',';
    const std::size_t begin = text_.size();
    append_json_string(text_, key);
    const std::string_view written(text_.data() + begin, text_.size() - begin);
    const bool has_to_be_new = limits_.yaml_keys_once || !captures_.empty();
    if (!level().keys.insert(written) && has_to_be_new) fail("duplicate key \"" + key + "\"");
    if (!anchor.empty()) keep_anchor(anchor, written, key);
    text_ += ':';
    level().value_is_next = true;
  }

  void add_alias(const std::string& name) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) fail("unknown alias \"" + name + "\" (an anchor cannot contain itself)");
    const Anchor& anchor = found->second;
    if (key_is_next()) {
      if (!anchor.key) fail("alias \"" + name + "\" is not a scalar and cannot be a field name");
      add_key(*anchor.key, {});
      return;
    }
    spend(anchor.text.view().size());
    begin_node(false);
    text_ += anchor.text.view();
    end_node({}, std::nullopt);
  }

  void open(bool mapping, bool flow, std::string_view anchor) {
    if (key_is_next()) {
      const bool is_template = mapping && flow && level().is_flow;  // "{{" of a placeholder
      fail(std::string("a mapping or a list cannot be a field name") +
           (is_template ? " (a template with {{ }} has to be rendered first)" : ""));
    }
    if (depth_ >= limits_.yaml_depth_max) {
      fail("nested deeper than the limit of " + std::to_string(limits_.yaml_depth_max));
    }
    begin_node(!anchor.empty());
    text_ += mapping ? '{' : '[';
    if (levels_.size() == depth_) levels_.emplace_back();
    levels_[depth_++].reset(mapping, flow, anchor);
  }

  void close(char bracket) {
    sync_line();
    text_ += bracket;
    const std::optional<std::string> anchor = level().anchor;
    --depth_;
    end_node(anchor ? std::string_view(*anchor) : std::string_view{}, std::nullopt);
  }

  /// Before a value: the comma of a sequence, and where the text begins if it has to be kept.
  void begin_node(bool has_anchor) {
    const bool merged = depth_ > 0 && level().value_is_merged;
    if (merged) captures_.push_back(text_.size());
    sync_line();
    if (depth_ > 0 && !level().is_mapping && level().count++ > 0) text_ += ',';
    if (has_anchor) captures_.push_back(text_.size());
  }

  void end_node(std::string_view anchor, std::optional<std::string> key) {
    check_captured();
    if (!anchor.empty()) {
      const std::size_t begin = captures_.back();
      captures_.pop_back();
      keep_anchor(anchor, std::string_view(text_).substr(begin), std::move(key));
    }
    if (depth_ == 0 || !level().is_mapping) return;
    level().value_is_next = false;
    if (!std::exchange(level().value_is_merged, false)) return;
    const std::size_t begin = captures_.back();
    captures_.pop_back();
    level().merges.emplace_back(std::string_view(text_).substr(begin));
    spend(text_.size() - begin + kKeptTextBytes);
    truncate(begin);
  }

  void keep_anchor(std::string_view name, std::string_view text, std::optional<std::string> key) {
    spend(text.size() + kKeptTextBytes);
    anchors_.insert_or_assign(std::string(name), Anchor{NodeText(text), std::move(key)});
  }

  // Merge keys --------------------------------------------------------------------------------------------------------

  void add_merged() {
    // Of several merge keys the later one wins, as it does where each overwrites what stands.
    auto& merges = level().merges;
    for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge) {
      const std::string_view text = merge->view();
      if (text.starts_with('{')) {
        add_members(text);
      } else if (text.starts_with('[')) {
        add_members_of_each(text);
      } else {
        fail_merge();
      }
    }
  }

  void add_members_of_each(std::string_view list) {
    const char* const end = list.data() + list.size();
    for (const char* at = list.data() + 1; *at != ']'; at += *at == ',' ? 1 : 0) {
      const char* const value_end = find_value_end(at, end);
      if (*at != '{') fail_merge();
      add_members({at, value_end});
      at = value_end;
    }
  }

  /// `object` is text of this converter: compact and well formed.
  void add_members(std::string_view object) {
    const char* const end = object.data() + object.size();
    for (const char* at = object.data() + 1; *at != '}'; at += *at == ',' ? 1 : 0) {
      const char* const key_end = find_string_end(at, end);
      const char* const value_end = find_value_end(key_end + 1, end);
      if (level().keys.insert({at, key_end})) {
        if (level().count++ > 0) text_ += ',';
        spend(static_cast<std::size_t>(value_end - at));
        text_.append(at, value_end);
      }
      at = value_end;
    }
  }

  [[noreturn]] void fail_merge() const { fail("a merge key (<<) needs a mapping or a list of mappings"); }

  // Text --------------------------------------------------------------------------------------------------------------

  /// JSON tokens are on the lines of their YAML, so that later errors name the right one.
  void sync_line() {
    if (event_line_ <= line_) return;
    text_.append(event_line_ - line_, '\n');
    line_ = event_line_;
  }

  void truncate(std::size_t size) {
    line_ -=
        static_cast<std::uint64_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(size), text_.end(), '\n'));
    text_.resize(size);
  }

  /// A small document may not expand to much: otherwise many of them would keep a reader busy for hours.
  void spend(std::size_t bytes) {
    alias_bytes_ += bytes;
    const std::size_t allowed = limits_.yaml_alias_bytes_free + limits_.yaml_alias_ratio_max * events_->bytes_read();
    const std::size_t bytes_max = std::min(allowed, limits_.yaml_alias_bytes_max);
    if (alias_bytes_ > bytes_max) {
      fail("anchors and aliases expand to more than the limit of " + std::to_string(bytes_max) +
           " bytes for a document of this size");
    }
  }

  void check_captured() const {
    if (captures_.empty() || text_.size() - captures_.front() <= limits_.yaml_alias_bytes_max) return;
    fail("a node with an anchor is larger than the limit of " + std::to_string(limits_.yaml_alias_bytes_max) +
         " bytes");
  }

  TextLimits limits_;
  std::string source_;
  YamlDocumentCutter cutter_;
  std::unique_ptr<YamlEventSource> events_;
  std::exception_ptr failure_;
  bool ended_ = false;

  std::string text_;
  std::size_t given_ = 0;
  std::uint64_t line_;  ///< of the end of text_
  std::uint64_t event_line_ = 1;
  std::vector<std::size_t> captures_;  ///< where open anchored and merged nodes begin in text_, outermost first

  std::vector<Level> levels_;
  std::size_t depth_ = 0;
  std::unordered_map<std::string, Anchor> anchors_;
  std::size_t alias_bytes_ = 0;
};

YamlJsonStream::YamlJsonStream(ByteStream& yaml, std::string source, const TextLimits& limits, std::uint64_t first_line)
    : converter_(std::make_unique<Converter>(yaml, std::move(source), limits, first_line)) {}

YamlJsonStream::~YamlJsonStream() = default;

std::size_t YamlJsonStream::read(char* out, std::size_t capacity) { return converter_->read(out, capacity); }

std::uint64_t YamlJsonStream::line() const { return converter_->line(); }

}  // namespace berth
