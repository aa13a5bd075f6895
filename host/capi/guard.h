// SPDX-License-Identifier: Apache-2.0
#pragma once

// The edge between C and C++: every function of berth.h runs its body here.

#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/engine.h"
#include "host/capi/plugin_turns.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// Messages of one call, which are logged when it has released its locks.
class CallLog {
 public:
  explicit CallLog(const Log& log) : log_(log) {}
  void note(std::int32_t level, std::string text) {
    if (log_.wants(level)) notes_.emplace_back(level, std::move(text));
  }
  /// Adds the notes of another one, which has none then.
  void take(CallLog& other) {
    notes_.insert(notes_.end(), std::make_move_iterator(other.notes_.begin()),
                  std::make_move_iterator(other.notes_.end()));
    other.notes_.clear();
  }
  void say_all(Log& log) noexcept {
    if (!notes_.empty()) CallScope::leave_all();
    for (const auto& [level, text] : notes_) log.say(level, text);
  }

 private:
  const Log& log_;
  std::vector<std::pair<std::int32_t, std::string>> notes_;
};

/// @return BERTH_OK, or why `error` cannot be written
berth_status check_error_struct(const berth_error* error) noexcept;
/// Writes the failure that is being handled. @param error  null: nobody asks
berth_status report_exception(berth_error* error) noexcept;
void report(berth_status code, const char* object, const char* text, berth_error* error) noexcept;

/// Runs `body()`, which returns a status or nothing.
template <class Body>
berth_status guarded(berth_error* error, Body&& body) noexcept {
  if (const berth_status status = check_error_struct(error); status != BERTH_OK) return status;
  const CallScope scope;
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      std::forward<Body>(body)();
      return BERTH_OK;
    } else {
      return std::forward<Body>(body)();
    }
  } catch (...) {
    return report_exception(error);
  }
}

/// The same for calls on handles of an engine.
/// Until the call ends, the versions of the engine's plugins stay.
/// @throws ApiError after fork(2), and in a callback or a plugin of the engine
void check_callable(const Engine& engine);

/// The options of a call: those given, as far as the caller knows them, and zeros. @param given  null: all zeros
/// @throws ApiError when struct_size is no size, or fields behind those of this library are set
template <class Options>
Options read_options(const Options* given) {
  Options options{};
  options.struct_size = sizeof(Options);
  if (given == nullptr) return options;
  const std::uint32_t size = given->struct_size;
  if (size < sizeof given->struct_size || size > 4096)
    throw ApiError(BERTH_E_STRUCT_SIZE, "struct_size", "is " + std::to_string(size));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Options); i < size; ++i)
    if (bytes[i] != 0)
      throw ApiError(BERTH_E_STRUCT_SIZE, "struct_size", "a field is set that this library does not know");
  std::memcpy(&options, given, size < sizeof(Options) ? size : sizeof(Options));
  options.struct_size = sizeof(Options);
  return options;
}

}  // namespace berth::capi
