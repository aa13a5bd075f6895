// SPDX-License-Identifier: Apache-2.0
#pragma once

// The text of a watch: one JSON object a line.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/store/stored_object.h"

namespace berth {

/// Cuts a stream into lines. Each has kSlicePaddingBytes readable bytes behind it.
class LineBuffer {
 public:
  static constexpr std::size_t kLineBytesMax = std::size_t{16} << 20;

  /// @param on_line  called with each line that is complete, without its end; false ends the reading
  /// @return false: on_line ended it, or a line is longer than kLineBytesMax
  bool add(std::string_view bytes, const std::function<bool(std::string_view line)>& on_line);
  /// Bytes behind the last line end.
  std::size_t rest_bytes() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

enum class WatchLineType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
/// @return false: there is no type of that name, "ADDED"
bool read_watch_type(std::string_view text, WatchLineType& out);

struct WatchLine {
  WatchLineType type = WatchLineType::kError;
  std::string_view object;  ///< its JSON; points into the line
};

/// What metav1.ObjectMeta says beyond the model.
struct ObjectVersion {
  std::uint64_t resource_version = 0;
  std::int64_t generation = 0;
  bool ends_initial_events = false;  ///< annotation k8s.io/initial-events-end of a bookmark
};

/// metav1.Status, as far as it matters to a client.
struct ApiStatus {
  int code = 0;
  std::string reason;
  std::string message;
  std::int64_t retry_after_s = 0;
};

/// One thread at a time.
class WatchTextReader {
 public:
  WatchTextReader();
  ~WatchTextReader();

  /// @param line  with kSlicePaddingBytes readable bytes behind it
  /// @return false, with the reason in problem(): it is not the event of a watch
  bool read_line(std::string_view line, WatchLine& out);
  /// @param object  likewise; @return false, with the reason in problem()
  bool read_version(std::string_view object, ObjectVersion& out);
  /// Condition PodScheduled of a pod. @param object  likewise; @return nullopt: it has none
  std::optional<PodCondition> read_scheduled_condition(std::string_view object);
  const std::string& problem() const { return problem_; }

 private:
  struct Parser;  // simdjson's, whose layout follows the compiler's options
  std::unique_ptr<Parser> parser_;
  std::string problem_;
};

/// Of any text, or of a Status in protobuf: what is no Status is its own message, cut to 300 bytes.
ApiStatus read_api_status(std::string_view text);

}  // namespace berth
