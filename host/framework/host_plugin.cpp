// SPDX-License-Identifier: Apache-2.0
#include "host/framework/host_plugin.h"

#include <stdexcept>
#include <utility>

#include "host/framework/plugin_calls.h"

namespace berth {
namespace {

Status filter_error(const HostPlugin& plugin, const Status& status) {
  return {StatusCode::kError,
          std::string(plugin.name()),
          {"running " + quoted(plugin.name()) + " filter plugin: " + status.message()}};
}

/// The status of a node as Filter reports it.
Status filter_status(const HostPlugin& plugin, Status status) {
  if (status.ok()) return {};
  if (status.code == StatusCode::kError) return filter_error(plugin, status);
  status.plugin = plugin.name();
  return status;
}

Status no_reason(const HostPlugin& plugin) {
  return wrapped_error("running PreFilter plugin", plugin.name(), error_status("it refused without a reason"));
}

Status checked(StatusCode code, std::vector<std::string> reasons) {
  const bool may_refuse = is_rejected(code) || code == StatusCode::kError;
  if (may_refuse && !reasons.empty()) return {code, "", std::move(reasons)};
  if (may_refuse) return error_status("a Filter plugin gave no reason");
  return error_status("a Filter plugin cannot answer " + std::string(to_string(code)));
}

}  // namespace

void HostAnswers::refuse(std::size_t node, StatusCode code, std::vector<std::string> reasons) {
  refusal_of_[node] = checked(code, std::move(reasons));
}

void check_host_plugins(const HostPlugins& plugins) {
  std::set<std::string_view> names;
  for (const auto& plugin : plugins)
    if (!names.insert(plugin->name()).second)
      throw std::invalid_argument("the host plugin \"" + std::string(plugin->name()) + "\" is registered twice");
}

std::optional<std::string> ask_signature(const HostPlugin& plugin, const Pod& pod) {
  return guarded_in_engine([&] { return plugin.sign(pod); },
                           [](const Status&) { return std::optional<std::string>(); });
}

HostPreFilterAnswer ask_pre_filter(const HostPlugin& plugin, const HostQuery& query) {
  HostPreFilter said =
      guarded_in_engine([&] { return plugin.pre_filter(query); },
                        [](const Status& status) { return HostPreFilter{status.code, status.reasons, std::nullopt}; });
  Status status{said.code, std::string(plugin.name()), std::move(said.reasons)};
  if (said.code == StatusCode::kSuccess) return {{}, std::move(said.node_names)};
  if (said.code == StatusCode::kSkip) return {{StatusCode::kSkip, "", {}}, std::nullopt};
  const bool rejects =
      said.code == StatusCode::kUnschedulable || said.code == StatusCode::kUnschedulableAndUnresolvable;
  if (rejects && status.message().empty()) return {no_reason(plugin), std::nullopt};
  if (!rejects) status = wrapped_error("running PreFilter plugin", plugin.name(), status);
  return {std::move(status), std::nullopt};
}

HostNodeAnswers ask_nodes(const HostPlugin& plugin, const HostQuery& query, std::span<const NodeInfo* const> nodes) {
  HostAnswers said(nodes.size());
  const Status thrown = guarded_status_in_engine([&] {
    plugin.evaluate(query, nodes, said);
    return Status{};
  });
  HostNodeAnswers answers{std::vector<Status>(nodes.size()), std::vector<std::int64_t>(nodes.size())};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    answers.statuses[i] = filter_status(plugin, thrown.ok() ? said.refusal(i).value_or(Status{}) : thrown);
    if (thrown.ok()) answers.raws[i] = said.raw(i);
  }
  return answers;
}

Status ask_changed_node(const HostPlugin& plugin, const HostQuery& query, const NodeInfo& node,
                        std::span<const Pod* const> added, std::span<const Pod* const> removed) {
  const Status status = guarded_status_in_engine([&] { return plugin.filter_changed(query, node, added, removed); });
  return filter_status(plugin, status.ok() ? Status{} : checked(status.code, status.reasons));
}

Status ask_pre_score(const HostPlugin& plugin, const HostQuery& query) {
  Status status = guarded_status_in_engine([&] { return plugin.pre_score(query); });
  if (status.ok() || status.code == StatusCode::kSkip) return {status.code, "", {}};
  return wrapped_error("running PreScore plugin", plugin.name(), status);
}

std::string ask_normalize(const HostPlugin& plugin, const Pod& pod, std::span<std::int64_t> scores) {
  const Status status = guarded_status_in_engine([&] {
    plugin.normalize(pod, scores);
    return Status{};
  });
  if (status.ok()) return {};
  return "running Normalize on Score plugins: plugin " + quoted(plugin.name()) + " failed with: " + status.message();
}

VolumeDecisionsPtr ask_reserve(const HostPlugin& plugin, const HostQuery& query, const NodeInfo& node) {
  return guarded_in_engine([&] { return plugin.reserve(query, node); },
                           [](const Status&) { return VolumeDecisionsPtr(); });
}

}  // namespace berth
