// SPDX-License-Identifier: Apache-2.0
#include "host/capi/engine.h"

#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "host/capi/api_error.h"
#include "host/config/unbuilt_gates.h"
#include "host/objects/thread_count.h"
#include "host/objects/work_arena.h"
#include "host/scheduler/unsupported_requests.h"

namespace berth::capi {
namespace {

thread_local const Log* t_calling = nullptr;

constexpr const char* kConfigText = "scheduler_config";
constexpr const char* kEngineText = "engine_config";
constexpr const char* kIgnoredPlugins = "ignored_plugins";

void refuse_both(const char* text, const char* file, const char* argument) {
  if (text != nullptr && file != nullptr) throw ApiError(BERTH_E_ARGUMENT, argument, "a text and a file are given");
}

FeatureGates gates_of(const berth_engine_options& options) {
  FeatureGates gates(parse_release(options.release != nullptr ? options.release : "1.35"));
  if (options.feature_gates != nullptr) gates.apply(options.feature_gates);
  refuse_unbuilt_gates(gates);
  return gates;
}

/// Those of the program, then those of files.
std::vector<PluginTable> plugins_of(const berth_engine_options& options) {
  std::vector<PluginTable> tables;
  tables.reserve(options.plugin_count + options.plugin_file_count);
  if (options.plugin_count > 0) needed(options.plugins, "plugins");
  for (std::size_t i = 0; i < options.plugin_count; ++i)
    tables.push_back(
        read_plugin_table(options.plugins[i], "plugins[" + std::to_string(i) + "]", PluginUse::kEngineAndQueue));
  if (options.plugin_file_count > 0) needed(options.plugin_files, "plugin_files");
  for (std::size_t i = 0; i < options.plugin_file_count; ++i)
    tables.push_back(load_plugin(&needed(options.plugin_files[i], "plugin_files[]"), PluginUse::kEngineAndQueue));
  return tables;
}

SchedulerConfig config_of(const berth_engine_options& options, const FeatureGates& gates, OutsidePlugins loaded) {
  refuse_both(options.scheduler_config, options.scheduler_config_file, kConfigText);
  if (options.scheduler_config != nullptr)
    return parse_scheduler_config(options.scheduler_config, kConfigText, gates, OutOfTree::kLeaveOut, loaded);
  if (options.scheduler_config_file != nullptr)
    return load_scheduler_config(options.scheduler_config_file, gates, OutOfTree::kLeaveOut, loaded);
  return default_scheduler_config(gates);
}

EngineConfig engine_of(const berth_engine_options& options) {
  refuse_both(options.engine_config, options.engine_config_file, kEngineText);
  EngineConfig engine;
  if (options.engine_config != nullptr) engine = parse_engine_config(options.engine_config, kEngineText);
  if (options.engine_config_file != nullptr) engine = load_engine_config(options.engine_config_file);
  if (options.backend != nullptr) engine.backend = options.backend;
  if (options.seed != 0) engine.seed = options.seed;
  if (options.threads < 0) throw ApiError(BERTH_E_ARGUMENT, "threads", "is below 0");
  if (options.threads != 0) engine.threads = options.threads;
  engine.arena = std::make_shared<WorkArena>(engine.threads, thread_count(engine.threads));
  return engine;
}

}  // namespace

Log::~Log() {
  if (free_ != nullptr) free_(user_data_);
}

void Log::open(const berth_engine_options& options) noexcept {
  callback_ = options.log;
  user_data_ = options.log_user_data;
  free_ = options.log_user_data_free;
  if (options.log_level != 0) level_ = options.log_level;
}

void Log::say(std::int32_t level, const std::string& text) noexcept {
  if (!wants(level)) return;
  const Calling calling(*this);
  callback_(user_data_, level, text.c_str());
}

Log::Calling::Calling(const Log& log) noexcept : outer_(std::exchange(t_calling, &log)) {}
Log::Calling::~Calling() { t_calling = outer_; }

bool Log::is_calling() const noexcept { return t_calling == this; }

Engine::Engine(const berth_engine_options& options) : memory(options.max_memory_bytes) {
  if ((options.flags & ~std::uint32_t{BERTH_ENGINE_ALLOW_UNSUPPORTED}) != 0)
    throw ApiError(BERTH_E_ARGUMENT, "flags", "has bits that mean nothing");
  std::vector<PluginTable> tables = plugins_of(options);
  declared = declared_paths(tables);
  config = config_of(options, gates_of(options), outside_plugins(tables));
  engine = engine_of(options);
  const bool allows = (options.flags & BERTH_ENGINE_ALLOW_UNSUPPORTED) != 0;
  for (std::string& request : unsupported_requests(config)) {
    if (!allows) throw ApiError(BERTH_E_UNSUPPORTED, kConfigText, request);
    warnings.push_back(std::move(request) + "; going on without it");
  }
  config.extenders.clear();
  plugins = PluginTurns(open_plugins(std::move(tables), config));
  engine.host_plugins.assign(plugins.list().begin(), plugins.list().end());
  add_ignoring_profiles(options);
}

void Engine::add_ignoring_profiles(const berth_engine_options& options) {
  if (options.ignored_plugin_count == 0) return;
  needed(options.ignored_plugins, kIgnoredPlugins);
  const std::span<const char* const> names(options.ignored_plugins, options.ignored_plugin_count);
  std::vector<Profile> reduced = config.profiles;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string argument = std::string(kIgnoredPlugins) + "[" + std::to_string(i) + "]";
    const std::string name = &needed(names[i], argument.c_str());
    std::size_t removed = 0;
    for (Profile& profile : reduced)
      for (std::vector<EnabledPlugin>& point : profile.plugins)
        removed += std::erase_if(point, [&](const EnabledPlugin& plugin) { return plugin.name == name; });
    if (removed == 0) throw ApiError(BERTH_E_INPUT, argument, "no profile runs a plugin " + name);
  }
  ignoring_profiles_at = static_cast<std::int32_t>(config.profiles.size());
  config.profiles.insert(config.profiles.end(), std::make_move_iterator(reduced.begin()),
                         std::make_move_iterator(reduced.end()));
}

std::int32_t Engine::ignoring(std::int32_t profile) const {
  if (ignoring_profiles_at == 0)
    throw ApiError(BERTH_E_ARGUMENT, "ignore", "the engine's options name no plugins that may be ignored");
  if (profile < 0) return profile;
  const std::int32_t other = profile + ignoring_profiles_at;
  const auto plugins_of = [&](std::int32_t p) -> const auto& {
    return config.profiles[static_cast<std::size_t>(p)].plugins;
  };
  return plugins_of(other) == plugins_of(profile) ? profile : other;
}

}  // namespace berth::capi
