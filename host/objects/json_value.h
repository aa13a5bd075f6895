// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thin typed reader over one parsed JSON text that knows where each value lies, so that an error can name it:
// `items[17].spec.priority: got "high", expected an integer`. Nothing throws at the first error: problems are
// collected.

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/errors.h"

namespace berth {

enum class ValidationCheck : std::uint8_t;  // validation.h

/// The first problems of one source, and the number of those behind them that say the same (group_of()). Comparing
/// them takes time, so it begins where the first ones end.
class FirstProblems {
 public:
  explicit FirstProblems(std::size_t limit) : limit_(limit) {}
  void add(InputProblem problem);
  const std::vector<InputProblem>& list() const { return list_; }
  std::vector<InputProblem> take() {
    groups_.clear();
    return std::exchange(list_, {});
  }

 private:
  std::size_t limit_;
  std::vector<InputProblem> list_;
  std::vector<std::uint64_t> groups_;  ///< of list_; empty until the list is full
};

/// Collects what is wrong with the values of one source. One thread at a time.
class ProblemSink {
 public:
  /// @param is_strict  findings become problems, as --strict has it
  explicit ProblemSink(std::string source, std::size_t limit = kProblemLimit, bool is_strict = false)
      : source_(std::move(source)), is_strict_(is_strict), problems_(limit), findings_(limit) {}

  /// A problem that is there already, with the same location and message, is not added again.
  void add(std::string location, std::string message);
  void add_finding(ValidationCheck check, std::string location, std::string message);
  std::size_t finding_count() const { return finding_count_; }  ///< including those beyond the limit
  /// Values that can be read and that an API server would refuse; messages end with the id of the check in brackets.
  std::vector<InputProblem> take_findings() {
    finding_count_ = 0;
    return findings_.take();
  }
  std::size_t count() const { return count_; }  ///< including those beyond the limit
  bool empty() const { return count_ == 0; }
  const std::vector<InputProblem>& problems() const { return problems_.list(); }
  std::vector<InputProblem> take() { return problems_.take(); }
  /// @throws InputError with all problems; does nothing when there are none.
  void throw_if_any() const;

 private:
  std::string source_;
  bool is_strict_;
  std::size_t count_ = 0;
  FirstProblems problems_;
  std::size_t finding_count_ = 0;
  FirstProblems findings_;
};

/// Longest string (also map key) that a value may hold; a longer one is a problem.
inline constexpr std::size_t kStringBytesMax = std::size_t{1} << 20;

/// One value with its path. Lives on the stack only: a child points at its parent, so it cannot be copied or moved, and
/// field() cannot be called on a temporary. Text and elements belong to the parser: valid until its next parse.
/// JSON null reads as absent everywhere.
class JsonValue {
 public:
  /// @param root_path  path of the document itself, "items[17]" or empty; read during the life of this value
  JsonValue(simdjson::dom::element element, ProblemSink& sink, std::string_view root_path = {})
      : element_(element), present_(!element.is_null()), sink_(&sink), key_(root_path) {}
  JsonValue(const JsonValue&) = delete;
  JsonValue& operator=(const JsonValue&) = delete;

  bool present() const { return present_; }
  bool is_object() const { return present_ && element_.is_object(); }
  bool is_array() const { return present_ && element_.is_array(); }
  bool is_string() const { return present_ && element_.is_string(); }
  simdjson::dom::element element() const { return element_; }  ///< only when present()

  /// "items[17].spec.containers[0].resources.requests[nvidia.com/gpu]"
  std::string path() const;
  /// The value as an error names it: `"high"`, `12`, `an object`.
  std::string describe() const;

  void problem(std::string message) const { sink_->add(path(), std::move(message)); }
  /// `check` failed here: the value is read as it stands, and refused with --strict.
  void finding(ValidationCheck check, std::string message) const {
    sink_->add_finding(check, path(), std::move(message));
  }
  ProblemSink& sink() const { return *sink_; }
  /// Problem "got <value>, expected <expectation>".
  void mismatch(std::string_view expectation) const;

  /// Each returns true when a value of the right kind was stored in `out`. An absent value leaves `out` alone and is no
  /// problem; a value of another kind or range leaves it alone and is one. Integers must be written without a fraction.
  bool read(std::string_view& out) const;
  bool read(std::string& out) const;
  bool read(bool& out) const;
  bool read(std::int32_t& out) const;
  bool read(std::int64_t& out) const;
  bool read(double& out) const;
  /// Array of strings; null elements read as "".
  bool read(std::vector<std::string>& out) const;
  template <class T>
  bool read(std::optional<T>& out) const {
    T value{};
    if (!read(value)) return false;
    out = std::move(value);
    return true;
  }

  /// True when the value is present and of that kind; a present value of another kind is a problem.
  bool expect_object() const { return present_ && expect(element_.is_object(), "an object"); }
  bool expect_array() const { return present_ && expect(element_.is_array(), "an array"); }

  /// A field of an object; absent when there is none or when this is absent. Of equal keys the last one is found, as
  /// Kubernetes' reader does. A present value that is no object is a problem.
  JsonValue field(std::string_view key) const&;
  /// The same for a field that was found before; see find_fields().
  JsonValue field(std::string_view key, const std::optional<simdjson::dom::element>& found) const& {
    return found ? JsonValue(*this, *found, key) : JsonValue(*this, key);
  }
  JsonValue field(std::string_view key) const&& = delete;

  /// Looks several keys up in one pass; of equal keys the last one is found. A present value that is no object is a
  /// problem.
  template <std::size_t N>
  std::array<std::optional<simdjson::dom::element>, N> find_fields(const std::array<std::string_view, N>& keys) const {
    std::array<std::optional<simdjson::dom::element>, N> found;
    if (!expect_object()) return found;
    for (auto [key, element] : simdjson::dom::object(element_)) {
      for (std::size_t i = 0; i < N; ++i) {
        if (keys[i] == key) found[i] = element;
      }
    }
    return found;
  }

  /// Calls visit(std::string_view key, const JsonValue& value) for each field that is not null, in input order.
  template <class Visit>
  void for_each_field(Visit&& visit) const {
    if (!present_ || !expect_object()) return;
    for (auto [key, element] : simdjson::dom::object(element_)) {
      if (!element.is_null()) visit(key, JsonValue(*this, element, key));
    }
  }

  /// For maps what for_each_field is for objects: an entry with a null value is an entry: nulls are visited as absent
  /// values.
  template <class Visit>
  void for_each_entry(Visit&& visit) const {
    if (!present_ || !expect_object()) return;
    for (auto [key, element] : simdjson::dom::object(element_)) {
      const JsonValue value(*this, element, key);
      if (key.size() <= kStringBytesMax) {
        visit(key, value);
      } else {
        value.problem(too_long(key.size()));
      }
    }
  }

  /// Strict form: visit returns whether the key is one of the type. It is called for nulls too (as absent values). A
  /// key that is not known, or that stands twice, is a problem.
  template <class Visit>
  void for_each_field_strict(Visit&& visit) const {
    if (!present_ || !expect_object()) return;
    std::set<std::string_view> seen;
    for (auto [key, element] : simdjson::dom::object(element_)) {
      const JsonValue value(*this, element, key);
      if (!seen.insert(key).second) {
        value.problem("duplicate field");
      } else if (!visit(key, value)) {
        value.problem("unknown field");
      }
    }
  }

  /// Calls visit(const JsonValue& element) for each element of an array, nulls included (as absent values).
  template <class Visit>
  void for_each_element(Visit&& visit) const {
    if (!present_ || !expect_array()) return;
    std::int64_t index = 0;
    for (simdjson::dom::element element : simdjson::dom::array(element_)) {
      visit(JsonValue(*this, element, index++));
    }
  }

 private:
  JsonValue(const JsonValue& parent, simdjson::dom::element element, std::string_view key)
      : element_(element), present_(!element.is_null()), sink_(parent.sink_), parent_(&parent), key_(key) {}
  JsonValue(const JsonValue& parent, simdjson::dom::element element, std::int64_t index)
      : element_(element), present_(!element.is_null()), sink_(parent.sink_), parent_(&parent), index_(index) {}
  JsonValue(const JsonValue& parent, std::string_view absent_key)
      : sink_(parent.sink_), parent_(&parent), key_(absent_key) {}

  bool expect(bool right_kind, std::string_view expectation) const {
    if (!right_kind) mismatch(expectation);
    return right_kind;
  }
  void append_path(std::string& out) const;
  static std::string too_long(std::size_t bytes);
  bool is_beyond_64_bits() const;

  simdjson::dom::element element_;
  bool present_ = false;
  ProblemSink* sink_;
  const JsonValue* parent_ = nullptr;
  std::string_view key_;
  std::int64_t index_ = -1;
};

/// Parses one JSON text after the other, reusing its buffers. One thread at a time.
class JsonParser {
 public:
  /// A text (one object) may be at most this long; nested at most kMaxDepth deep.
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxDepth = 256;

  JsonParser();
  ~JsonParser();

  /// @param readable_end  bytes up to here may be read; when fewer than simdjson's padding lie behind `json`, or when
  /// it
  ///                      is null, the text is copied first
  /// @return nullopt when the text is malformed, too long or too deep; error() says why. @throws std::bad_alloc
  /// The element and all it gives are valid until the next call.
  std::optional<simdjson::dom::element> parse(std::string_view json, const char* readable_end = nullptr);
  const std::string& error() const { return error_; }

 private:
  // Behind a pointer: simdjson's parser has another size where its thread support is compiled in.
  std::unique_ptr<simdjson::dom::parser> parser_;
  std::string padded_;
  std::string error_;
};

}  // namespace berth
