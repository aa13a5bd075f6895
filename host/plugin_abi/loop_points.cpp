// SPDX-License-Identifier: Apache-2.0
// The points of plugins before and behind the choice of a node, and their registration with a scheduling loop.

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/plugin_abi/abi_plugin.h"
#include "host/plugin_abi/answer_codes.h"
#include "host/plugin_abi/loop_plugins.h"

namespace berth {
namespace {

/// @throws std::runtime_error for an answer that cannot be right
Status status_of(std::int32_t answer, berth_plugin_call& call, const char* function) {
  call.check();
  Status status{code_of(answer, function), "", std::move(call.reasons)};
  if ((is_rejected(status.code) || status.code == StatusCode::kError) && status.reasons.empty())
    throw std::runtime_error(std::string(function) + "() refused without a reason");
  return status;
}

[[noreturn]] void refuse_code(const Status& status, const char* function) {
  throw std::runtime_error(std::string(function) + "() cannot answer " + std::string(to_string(status.code)));
}

/// One plugin in one profile. The configuration enables it at points that its table has alone.
class LoopPlugin : public PreEnqueuePlugin,
                   public PostFilterPlugin,
                   public ReservePlugin,
                   public PermitPlugin,
                   public PreBindPlugin,
                   public PostBindPlugin {
 public:
  LoopPlugin(std::shared_ptr<const AbiPlugin> plugin, WaitingPods* waiting)
      : plugin_(std::move(plugin)), waiting_(waiting) {}
  std::string_view name() const override { return plugin_->name(); }
  Status pre_enqueue(const Pod& pod) override { return plugin_->pre_enqueue(pod); }
  PostFilterAnswer post_filter(const RefusedPod& refused) override { return plugin_->post_filter(refused, waiting_); }
  Status reserve(const PodOnNode& pod) override { return plugin_->reserve_on(pod, waiting_); }
  void unreserve(const PodOnNode& pod) noexcept override { plugin_->unreserve_on(pod, waiting_); }
  PermitAnswer permit(const PodOnNode& pod) override { return plugin_->permit(pod, waiting_); }
  Status pre_bind_pre_flight(const PodOnNode& pod) override { return plugin_->pre_bind_pre_flight(pod, waiting_); }
  Status pre_bind(const PodOnNode& pod) override { return plugin_->pre_bind(pod, waiting_); }
  void post_bind(const PodOnNode& pod) noexcept override { plugin_->post_bind(pod, waiting_); }

 private:
  std::shared_ptr<const AbiPlugin> plugin_;
  WaitingPods* waiting_;
};

}  // namespace

bool AbiPlugin::joins_loop() const {
  const berth_plugin& t = table_.table;
  return t.pre_enqueue != nullptr || t.post_filter != nullptr || t.reserve != nullptr || t.permit != nullptr ||
         t.pre_bind != nullptr || t.post_bind != nullptr;
}

/// Calls `call(self, call, pod, node name)`.
template <class Function>
Status AbiPlugin::ask_on_node(const PodOnNode& pod, WaitingPods* waiting, const char* name, Function function) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  call.waiting_pods = waiting;
  const std::int32_t answer = function(self_, &call, to_abi(pod.pod), to_abi(pod.node_name));
  return status_of(answer, call, name);
}

template <class Function>
void AbiPlugin::tell_on_node(const PodOnNode& pod, WaitingPods* waiting, Function function) const noexcept {
  try {
    const auto alone = turn();
    berth_plugin_call call(this, paths_, nullptr);
    call.waiting_pods = waiting;
    function(self_, &call, to_abi(pod.pod), to_abi(pod.node_name));
  } catch (...) {  // NOLINT(bugprone-empty-catch): it has no answer that could say so
  }
}

Status AbiPlugin::pre_enqueue(const Pod& pod) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  const std::int32_t answer = table_.table.pre_enqueue(self_, &call, to_abi(&pod));
  Status status = status_of(answer, call, "pre_enqueue");
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "pre_enqueue");
  return status;
}

PostFilterAnswer AbiPlugin::post_filter(const RefusedPod& refused, WaitingPods* waiting) const {
  std::vector<std::uint8_t> codes;
  codes.reserve(refused.statuses.size());
  for (const Status& status : refused.statuses) codes.push_back(static_cast<std::uint8_t>(status.code));
  const berth_plugin_node* nominated = nullptr;
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  call.waiting_pods = waiting;
  const std::int32_t answer = table_.table.post_filter(
      self_, &call, to_abi(&refused.pod), reinterpret_cast<const berth_plugin_node* const*>(refused.nodes.data()),
      codes.data(), codes.size(), &nominated);
  Status status = status_of(answer, call, "post_filter");
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "post_filter");
  if (nominated == nullptr) return {std::move(status), std::nullopt};
  const auto is_it = [&](const NodeInfo* node) { return to_abi(node) == nominated; };
  const auto at = std::ranges::find_if(refused.nodes, is_it);
  if (at == refused.nodes.end()) throw std::runtime_error("post_filter() nominated a node that it was not given");
  return {std::move(status), (*at)->name};
}

Status AbiPlugin::reserve_on(const PodOnNode& pod, WaitingPods* waiting) const {
  Status status = ask_on_node(pod, waiting, "reserve", table_.table.reserve);
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "reserve");
  return status;
}

void AbiPlugin::unreserve_on(const PodOnNode& pod, WaitingPods* waiting) const noexcept {
  if (table_.table.unreserve != nullptr) tell_on_node(pod, waiting, table_.table.unreserve);
}

PermitAnswer AbiPlugin::permit(const PodOnNode& pod, WaitingPods* waiting) const {
  std::int64_t timeout_us = 0;
  Status status = ask_on_node(pod, waiting, "permit", [&](void* self, auto* call, auto* asked, auto node_name) {
    return table_.table.permit(self, call, asked, node_name, &timeout_us);
  });
  if (status.code == StatusCode::kSkip) refuse_code(status, "permit");
  return {std::move(status), timeout_us};
}

Status AbiPlugin::pre_bind_pre_flight(const PodOnNode& pod, WaitingPods* waiting) const {
  if (table_.table.pre_bind_pre_flight == nullptr) return {};
  Status status = ask_on_node(pod, waiting, "pre_bind_pre_flight", table_.table.pre_bind_pre_flight);
  const bool is_fine = status.ok() || status.code == StatusCode::kSkip || status.code == StatusCode::kError;
  if (!is_fine) refuse_code(status, "pre_bind_pre_flight");
  return status;
}

Status AbiPlugin::pre_bind(const PodOnNode& pod, WaitingPods* waiting) const {
  Status status = ask_on_node(pod, waiting, "pre_bind", table_.table.pre_bind);
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "pre_bind");
  return status;
}

void AbiPlugin::post_bind(const PodOnNode& pod, WaitingPods* waiting) const noexcept {
  tell_on_node(pod, waiting, table_.table.post_bind);
}

void register_loop_plugins(const HostPlugins& plugins, PluginRegistry& registry) {
  for (const auto& plugin : plugins) {
    auto abi = std::dynamic_pointer_cast<const AbiPlugin>(plugin);
    if (abi == nullptr || !abi->joins_loop()) continue;
    const std::string name(abi->name());
    registry.add(name, [abi = std::move(abi)](const Profile&, const FrameworkHandle& handle) {
      return std::make_unique<LoopPlugin>(abi, handle.waiting_pods);
    });
  }
}

}  // namespace berth
