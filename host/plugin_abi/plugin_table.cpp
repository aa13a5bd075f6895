// SPDX-License-Identifier: Apache-2.0
#include "host/plugin_abi/plugin_table.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "host/config/config_reader.h"
#include "host/config/plugin_catalog.h"
#include "host/framework/cluster_event.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

constexpr std::uint32_t kFlags = BERTH_PLUGIN_MANY_THREADS | BERTH_PLUGIN_FILTERS | BERTH_PLUGIN_SCORES;
/// Up to the name: what every version of the struct has.
constexpr std::size_t kSizeMin = offsetof(berth_plugin, node_paths);
constexpr std::size_t kSizeMax = std::size_t{1} << 16;

[[noreturn]] void refuse(const std::string& where, std::string why) {
  throw InputError(InputProblem{where, "", std::move(why)});
}

/// @return the entries that this release knows
berth_plugin known_entries(const berth_plugin& given, const std::string& where) {
  if (given.abi_version != BERTH_PLUGIN_ABI_VERSION)
    refuse(where, "the plugin is of version " + std::to_string(given.abi_version) +
                      " of the plugin interface, expected version " + std::to_string(BERTH_PLUGIN_ABI_VERSION));
  const std::size_t size = given.struct_size;
  if (size < kSizeMin || size > kSizeMax)
    refuse(where, "struct_size is " + std::to_string(size) + ", expected at least " + std::to_string(kSizeMin) +
                      ", sizeof(berth_plugin)");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  for (std::size_t i = sizeof(berth_plugin); i < size; ++i)
    if (bytes[i] != 0)
      refuse(where, "the plugin has an entry at byte " + std::to_string(i) + " of berth_plugin, which ends at byte " +
                        std::to_string(sizeof(berth_plugin)) + " in this release: nothing would call it");
  berth_plugin known{};
  std::memcpy(&known, &given, std::min(size, sizeof known));
  return known;
}

void check_name(const berth_plugin& table, const std::string& where) {
  if (table.name == nullptr || table.name[0] == '\0') refuse(where, "the plugin has no name");
  if (!is_out_of_tree(table.name))
    refuse(where, "kube-scheduler has a plugin named " + quoted_for_message(table.name) +
                      ", expected another name than one of these");
}

void check_paths(const char* const* paths, std::size_t count, const char* entry, const std::string& where) {
  if (count > 0 && paths == nullptr) refuse(where, std::string(entry) + " is NULL");
  for (std::size_t i = 0; i < count; ++i)
    if (paths[i] == nullptr) refuse(where, std::string(entry) + "[" + std::to_string(i) + "] is NULL");
}

/// Entries that a scheduling loop calls.
struct LoopEntry {
  const char* name;
  ExtensionPoint point;
  bool (*is_there)(const berth_plugin& table);
};
constexpr std::array kLoopEntries = std::to_array<LoopEntry>({
    {"pre_enqueue", ExtensionPoint::kPreEnqueue, [](const berth_plugin& t) { return t.pre_enqueue != nullptr; }},
    {"post_filter", ExtensionPoint::kPostFilter, [](const berth_plugin& t) { return t.post_filter != nullptr; }},
    {"reserve", ExtensionPoint::kReserve, [](const berth_plugin& t) { return t.reserve != nullptr; }},
    {"permit", ExtensionPoint::kPermit, [](const berth_plugin& t) { return t.permit != nullptr; }},
    {"pre_bind", ExtensionPoint::kPreBind, [](const berth_plugin& t) { return t.pre_bind != nullptr; }},
    {"bind", ExtensionPoint::kBind, [](const berth_plugin& t) { return t.bind != nullptr; }},
    {"post_bind", ExtensionPoint::kPostBind, [](const berth_plugin& t) { return t.post_bind != nullptr; }},
});

std::uint16_t points_of(const berth_plugin& table) {
  std::uint16_t points = 0;
  const auto add = [&](bool joins, ExtensionPoint point) {
    if (joins) points = static_cast<std::uint16_t>(points | 1u << static_cast<unsigned>(point));
  };
  add(table.pre_filter != nullptr, ExtensionPoint::kPreFilter);
  add((table.flags & BERTH_PLUGIN_FILTERS) != 0, ExtensionPoint::kFilter);
  add(table.pre_score != nullptr, ExtensionPoint::kPreScore);
  add((table.flags & BERTH_PLUGIN_SCORES) != 0, ExtensionPoint::kScore);
  for (const LoopEntry& entry : kLoopEntries) add(entry.is_there(table), entry.point);
  return points;
}

void check_events(const berth_plugin& table, const std::string& where) {
  const bool has_events = table.events != nullptr;
  if (!has_events && table.event_count > 0) refuse(where, "events is NULL");
  const bool may_refuse = table.pre_enqueue != nullptr || table.pre_filter != nullptr || table.reserve != nullptr ||
                          table.permit != nullptr || (table.flags & BERTH_PLUGIN_FILTERS) != 0;
  if ((has_events || table.queueing_hint != nullptr) && !may_refuse)
    refuse(where, std::string(has_events ? "events is" : "queueing_hint() is") +
                      " there, which nothing reads without a point that refuses pods");
  // Conditions of nodes are not kept, so that no event tells of them.
  constexpr std::uint32_t kTold = BERTH_EVENT_ALL & ~std::uint32_t{EventAction::kUpdateNodeCondition};
  for (std::size_t i = 0; i < table.event_count; ++i) {
    const berth_plugin_event& event = table.events[i];
    const std::string name = "events[" + std::to_string(i) + "].";
    if (event.resource > BERTH_EVENT_VOLUME_ATTACHMENT)
      refuse(where, name + "resource is " + std::to_string(event.resource) + ", expected 0 to " +
                        std::to_string(BERTH_EVENT_VOLUME_ATTACHMENT));
    if ((event.actions & kTold) == 0 || event.actions > BERTH_EVENT_ALL)
      refuse(where, name + "actions is " + std::to_string(event.actions) + ", expected bits of BERTH_EVENT_ALL");
  }
}

/// An entry that is there must be called, and one that is called must be there.
void check_functions(const berth_plugin& table, PluginUse use, const std::string& where) {
  const bool filters = (table.flags & BERTH_PLUGIN_FILTERS) != 0;
  const bool scores = (table.flags & BERTH_PLUGIN_SCORES) != 0;
  struct Rule {
    const char* entry;
    bool is_there;
    bool is_called;
    const char* caller;
    bool is_needed;
  };
  const std::array rules = std::to_array<Rule>({
      {"evaluate", table.evaluate != nullptr, filters || scores, "BERTH_PLUGIN_FILTERS or BERTH_PLUGIN_SCORES", true},
      {"filter_changed", table.filter_changed != nullptr, filters, "BERTH_PLUGIN_FILTERS", true},
      {"pre_score", table.pre_score != nullptr, scores, "BERTH_PLUGIN_SCORES", false},
      {"normalize", table.normalize != nullptr, scores, "BERTH_PLUGIN_SCORES", false},
  });
  for (const Rule& rule : rules) {
    if (rule.is_there && !rule.is_called)
      refuse(where, std::string(rule.entry) + "() is there, which nothing calls without " + rule.caller);
    if (!rule.is_there && rule.is_called && rule.is_needed)
      refuse(where, std::string(rule.entry) + "() is not there, expected one with " + rule.caller);
  }
  const auto is_called = [use](const LoopEntry& entry) {
    return use == PluginUse::kLoop || (use == PluginUse::kEngineAndQueue && entry.point == ExtensionPoint::kPreEnqueue);
  };
  for (const LoopEntry& entry : kLoopEntries)
    if (entry.is_there(table) && !is_called(entry))
      refuse(where,
             std::string(entry.name) +
                 "() is there, which nothing calls here: no pod is bound (berth schedule and berth simulate call it)");
  if (table.unreserve != nullptr && table.reserve == nullptr)
    refuse(where, "unreserve() is there, which nothing calls without reserve()");
  if (table.pre_bind_pre_flight != nullptr && table.pre_bind == nullptr)
    refuse(where, "pre_bind_pre_flight() is there, which nothing calls without pre_bind()");
  if (points_of(table) == 0) refuse(where, "the plugin joins no point");
  check_events(table, where);
}

std::string text_of_dlerror() {
  const char* const text = dlerror();
  return text != nullptr ? text : "no reason is known";
}

}  // namespace

PluginTable read_plugin_table(const berth_plugin* given, std::string where, PluginUse use) {
  if (given == nullptr) refuse(where, "the plugin is NULL");
  PluginTable read;
  read.table = known_entries(*given, where);
  const berth_plugin& table = read.table;
  check_name(table, where);
  if ((table.flags & ~kFlags) != 0) refuse(where, "flags has bits that mean nothing");
  if (table.reserved != 0) refuse(where, "reserved is not 0");
  check_paths(table.node_paths, table.node_path_count, "node_paths", where);
  check_paths(table.pod_paths, table.pod_path_count, "pod_paths", where);
  check_functions(table, use, where);
  read.outside = {table.name, points_of(table)};
  read.where = std::move(where);
  return read;
}

PluginTable load_plugin(const std::string& file, PluginUse use) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(file, error);  // else dlopen searches its own folders
  if (error || file.empty()) refuse(file, "cannot be loaded: it is no path of a file");
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) refuse(file, "cannot be loaded as a plugin: " + text_of_dlerror());
  std::shared_ptr<void> library(opened, [](void* handle) { dlclose(handle); });
  void* const symbol = dlsym(opened, BERTH_PLUGIN_INIT_SYMBOL);
  if (symbol == nullptr)
    refuse(file, "has no symbol " BERTH_PLUGIN_INIT_SYMBOL ": it is no plugin of version " +
                     std::to_string(BERTH_PLUGIN_ABI_VERSION) + " of the plugin interface");
  const berth_plugin* given = nullptr;
  try {
    given = reinterpret_cast<berth_plugin_init_fn>(symbol)();
  } catch (...) {
    refuse(file, BERTH_PLUGIN_INIT_SYMBOL "() threw an exception");
  }
  if (given == nullptr) refuse(file, BERTH_PLUGIN_INIT_SYMBOL "() returned NULL");
  PluginTable table = read_plugin_table(given, file, use);
  table.library = std::move(library);
  return table;
}

}  // namespace berth
