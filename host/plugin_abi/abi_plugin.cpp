// SPDX-License-Identifier: Apache-2.0
#include "host/plugin_abi/abi_plugin.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>

#include "host/objects/errors.h"
#include "host/plugin_abi/answer_codes.h"

namespace berth {
namespace {

constexpr std::uint64_t kVersionFactor = 0x9e3779b97f4a7c15u;  // so that versions of several instances tell them apart

/// Of a function that answers with success or an error alone. @throws std::runtime_error for an error
void check_success(std::int64_t code, const berth_plugin_call& call, const char* function) {
  const StatusCode status = code_of(code, function);
  if (status == StatusCode::kSuccess) return;
  if (status != StatusCode::kError)
    throw std::runtime_error(std::string(function) + "() cannot answer " + std::string(to_string(status)));
  const Status told{status, "", call.reasons};
  throw std::runtime_error(call.reasons.empty() ? std::string(function) + "() failed without a reason"
                                                : told.message());
}

/// What evaluate() is given, and what it fills.
struct Columns {
  std::vector<std::vector<berth_plugin_text>> values;
  std::vector<const berth_plugin_text*> value_columns;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint32_t> reasons;
  std::vector<std::int64_t> scores;

  Columns(std::span<const NodeInfo* const> nodes, const std::vector<std::uint32_t>& paths) {
    for (const std::uint32_t path : paths) {
      std::vector<berth_plugin_text>& column = values.emplace_back(nodes.size(), berth_plugin_text{nullptr, 0});
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (const std::string* value = find_declared(nodes[i]->node->declared, path)) column[i] = to_abi(*value);
      value_columns.push_back(column.data());
    }
  }

  void take(const berth_plugin_call& call, HostAnswers& answers) const {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] == BERTH_CODE_SUCCESS) continue;
      if (reasons[i] > call.reason_lists.size())
        throw std::runtime_error("evaluate() answered with the reasons " + std::to_string(reasons[i]) +
                                 ", which make_reasons() did not make");
      const StatusCode code = code_of(codes[i], "evaluate");
      answers.refuse(i, code, reasons[i] == 0 ? std::vector<std::string>() : call.reason_lists[reasons[i] - 1]);
    }
    for (std::size_t i = 0; i < scores.size(); ++i) answers.score(i, scores[i]);
  }
};

/// Of two instances. @return what covers both
HostReach union_of(HostReach one, HostReach other) {
  using Kind = HostReach::Kind;
  if (one.kind > other.kind) std::swap(one, other);
  const bool covers = one.kind == Kind::kNothing || one.kind == Kind::kNode || other.kind == Kind::kEverything ||
                      one.topology_key == other.topology_key;
  return covers ? other : HostReach{Kind::kEverything};
}

void append_value(std::string& out, const std::string* value) {
  const std::uint64_t size = value != nullptr ? value->size() : UINT64_MAX;
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  if (value != nullptr) out.append(*value);
}

}  // namespace

AbiPlugin::AbiPlugin(PluginTable table, PluginPaths paths, const Arguments& arguments)
    : table_(std::move(table)), paths_(std::move(paths)) {
  std::map<std::string_view, std::size_t> instances;
  try {
    for (const auto& [scheduler_name, json] : arguments) {
      const std::string_view told = table_.table.create != nullptr ? json : std::string_view();
      const auto [instance, is_new] = instances.try_emplace(told, selves_.size());
      if (is_new) create(json);
      instance_of_profile_.emplace(scheduler_name, instance->second);
    }
    take_new_data();
  } catch (...) {
    destroy();
    throw;
  }
}

void AbiPlugin::create(const std::string& arguments) {
  selves_.reserve(selves_.size() + 1);
  if (table_.table.create == nullptr) return selves_.push_back(table_.table.user_data);
  void* self = nullptr;
  berth_plugin_call call(this, paths_, nullptr);
  std::string failure;
  try {
    const std::int32_t code =
        table_.table.create(table_.table.user_data, &plugin_host(), &call, arguments.c_str(), arguments.size(), &self);
    if (code == BERTH_CODE_SUCCESS) selves_.push_back(self);
    call.check();
    check_success(code, call, "create");
    return;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    failure = thrown.what();
  } catch (...) {
    failure = "create() threw an exception of unknown type";
  }
  throw InputError(InputProblem{table_.where, "", "plugin " + table_.outside.name + ": " + failure});
}

AbiPlugin::~AbiPlugin() { destroy(); }

void AbiPlugin::destroy() noexcept {
  if (table_.table.destroy == nullptr) return;
  const berth_plugin_call call(this, paths_, nullptr);
  for (void* const self : selves_) try {
      table_.table.destroy(self);
    } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
    }
}

std::size_t AbiPlugin::instance_of(const Pod& pod) const {
  if (selves_.size() == 1) return 0;
  const auto at = instance_of_profile_.find(pod.spec->scheduler_name);
  return at != instance_of_profile_.end() ? at->second : 0;
}

std::unique_lock<std::mutex> AbiPlugin::turn() const {
  if ((table_.table.flags & BERTH_PLUGIN_MANY_THREADS) != 0) return {};
  return std::unique_lock(mutex_);
}

std::uint64_t AbiPlugin::live_version() const noexcept {
  if (table_.table.version == nullptr) return 0;
  try {
    const auto alone = turn();
    const berth_plugin_call call(this, paths_, nullptr);
    std::uint64_t version = 0;
    for (void* const self : selves_) version = version * kVersionFactor + table_.table.version(self);
    return version;
  } catch (...) {
    return version();
  }
}

bool AbiPlugin::joins_engine() const { return table_.table.evaluate != nullptr || table_.table.pre_filter != nullptr; }

/// A pod of one profile may change the answers about pods of another one.
bool AbiPlugin::concerns(const Pod& pod) const {
  if (!joins_engine()) return false;
  if (table_.table.concerns == nullptr) return true;
  return std::ranges::any_of(selves_, [&](void* self) { return concerns(self, pod); });
}

bool AbiPlugin::concerns(void* self, const Pod& pod) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  bool concerns = true;  // where it throws: its other functions then say what is wrong
  try {
    concerns = table_.table.concerns(self, &call, to_abi(&pod)) != 0;
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
  call.check();
  return concerns;
}

std::optional<std::string> AbiPlugin::sign(const Pod& pod) const {
  if (table_.table.sign == nullptr) return std::nullopt;
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  const StatusCode code = code_of(table_.table.sign(self_of(pod), &call, to_abi(&pod)), "sign");
  call.check();
  if (code != StatusCode::kSuccess) return std::nullopt;
  // Not empty: that would say that the pod does not concern the plugin.
  std::string signature = "v" + std::to_string(instance_of(pod)) + ":";
  for (const std::uint32_t path : paths_.of_pods) append_value(signature, find_declared(pod.rare().declared, path));
  return signature + call.signature;
}

HostReach AbiPlugin::reach(const HostQuery& query, const Node& node) const {
  const NodeInfo* const info = query.cluster.find_node(node.name);
  if (table_.table.reach == nullptr || info == nullptr || info->node == nullptr) return {};
  HostReach of_all{HostReach::Kind::kNothing};
  for (void* const self : selves_) of_all = union_of(std::move(of_all), reach(self, query, *info));
  return of_all;
}

HostReach AbiPlugin::reach(void* self, const HostQuery& query, const NodeInfo& node) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, &query.cluster);
  berth_plugin_reach said{sizeof(berth_plugin_reach), BERTH_REACH_EVERYTHING, nullptr};
  try {
    table_.table.reach(self, &call, to_abi(&query.pod), to_abi(&node), &said);
  } catch (...) {
    said.kind = BERTH_REACH_EVERYTHING;
  }
  call.check();
  switch (said.kind) {
    case BERTH_REACH_NOTHING:
      return {HostReach::Kind::kNothing};
    case BERTH_REACH_NODE:
      return {HostReach::Kind::kNode};
    case BERTH_REACH_DOMAIN:
      if (said.topology_key == nullptr) return {};
      return {HostReach::Kind::kDomain, said.topology_key};
    default:
      return {};
  }
}

HostPreFilter AbiPlugin::pre_filter(const HostQuery& query) const {
  if (table_.table.pre_filter == nullptr) return {};
  const auto alone = turn();
  berth_plugin_call call(this, paths_, &query.cluster);
  const std::int32_t code = table_.table.pre_filter(self_of(query.pod), &call, to_abi(&query.pod));
  call.check();
  return {code_of(code, "pre_filter"), std::move(call.reasons), std::move(call.only)};
}

void AbiPlugin::evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const {
  if (table_.table.evaluate == nullptr) return;
  const bool filters = (table_.table.flags & BERTH_PLUGIN_FILTERS) != 0;
  const bool scores = (table_.table.flags & BERTH_PLUGIN_SCORES) != 0;
  Columns columns(nodes, paths_.of_nodes);
  if (filters) {
    columns.codes.resize(nodes.size());
    columns.reasons.resize(nodes.size());
  }
  if (scores) columns.scores.resize(nodes.size());
  const berth_plugin_nodes asked{sizeof(berth_plugin_nodes), static_cast<std::uint32_t>(paths_.of_nodes.size()),
                                 nodes.size(), reinterpret_cast<const berth_plugin_node* const*>(nodes.data()),
                                 columns.value_columns.data()};
  berth_plugin_columns filled{sizeof(berth_plugin_columns), 0, filters ? columns.codes.data() : nullptr,
                              filters ? columns.reasons.data() : nullptr, scores ? columns.scores.data() : nullptr};
  const auto alone = turn();
  berth_plugin_call call(this, paths_, &query.cluster);
  const std::int32_t code = table_.table.evaluate(self_of(query.pod), &call, to_abi(&query.pod), &asked, &filled);
  call.check();
  check_success(code, call, "evaluate");
  columns.take(call, answers);
}

Status AbiPlugin::filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                                 std::span<const Pod* const> removed) const {
  if (table_.table.filter_changed == nullptr) return {};
  const auto pods = [](std::span<const Pod* const> list) {
    return reinterpret_cast<const berth_plugin_pod* const*>(list.data());
  };
  const auto alone = turn();
  berth_plugin_call call(this, paths_, &query.cluster);
  const std::int32_t code = table_.table.filter_changed(self_of(query.pod), &call, to_abi(&query.pod), to_abi(&node),
                                                        pods(added), added.size(), pods(removed), removed.size());
  call.check();
  const StatusCode status = code_of(code, "filter_changed");
  if (status == StatusCode::kSuccess) return {};
  return {status, "", std::move(call.reasons)};
}

Status AbiPlugin::pre_score(const HostQuery& query) const {
  if (table_.table.pre_score == nullptr) return {};
  const auto alone = turn();
  berth_plugin_call call(this, paths_, &query.cluster);
  const std::int32_t code = table_.table.pre_score(self_of(query.pod), &call, to_abi(&query.pod));
  call.check();
  const StatusCode status = code_of(code, "pre_score");
  if (status == StatusCode::kSuccess || status == StatusCode::kSkip) return {status, "", {}};
  check_success(code, call, "pre_score");
  return {};
}

void AbiPlugin::normalize(const Pod& pod, std::span<std::int64_t> scores) const {
  if (table_.table.normalize == nullptr) return;
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  const std::int32_t code = table_.table.normalize(self_of(pod), &call, to_abi(&pod), scores.data(), scores.size());
  call.check();
  check_success(code, call, "normalize");
}

}  // namespace berth
