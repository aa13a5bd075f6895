// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/capi/memory_account.h"
#include "host/capi/plugin_turns.h"
#include "host/capi/process_mark.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// Where messages go. One for each engine.
class Log {
 public:
  Log() = default;
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Takes over the callback of the options.
  void open(const berth_engine_options& options) noexcept;
  bool wants(std::int32_t level) const { return callback_ != nullptr && level <= level_; }
  /// Call without a lock. Meanwhile is_calling() is true for this thread.
  void say(std::int32_t level, const std::string& text) noexcept;
  /// This thread is in the callback, or in another one of the engine.
  bool is_calling() const noexcept;
  /// Marks a callback of the engine, which may not be called meanwhile by this thread.
  class Calling {
   public:
    explicit Calling(const Log& log) noexcept;
    ~Calling();
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    const Log* outer_;
  };

 private:
  berth_log_fn callback_ = nullptr;
  void* user_data_ = nullptr;
  void (*free_)(void*) = nullptr;
  std::int32_t level_ = BERTH_LOG_WARNING;
};

/// A configuration that was read, with what all handles made of it share. Immutable but for what the log and
/// the account of memory do.
struct Engine {
  ProcessMark process;
  SchedulerConfig config;
  EngineConfig engine;
  mutable Log log;
  mutable MemoryAccount memory;
  PluginTurns plugins;                ///< those of engine.host_plugins
  DeclaredPathsPtr declared;          ///< what plugins read of objects beyond the model; null: nothing
  std::vector<std::string> warnings;  ///< of reading the configuration
  /// Behind the profiles of the configuration stand as many again, without the plugins that may be ignored. 0: none may
  std::int32_t ignoring_profiles_at = 0;

  /// @throws InputError, ApiError
  explicit Engine(const berth_engine_options& options);
  /// The profile without the plugins that may be ignored; `profile` itself where it has none of them.
  /// @throws ApiError  none may
  std::int32_t ignoring(std::int32_t profile) const;

 private:
  void add_ignoring_profiles(const berth_engine_options& options);
};

}  // namespace berth::capi
