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
#include "host/plugin_abi/event_hints.h"
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
                   public EventPlugin,
                   public PostFilterPlugin,
                   public ReservePlugin,
                   public PermitPlugin,
                   public PreBindPlugin,
                   public BindPlugin,
                   public PostBindPlugin {
 public:
  LoopPlugin(std::shared_ptr<const AbiPlugin> plugin, FrameworkHandle loop)
      : plugin_(std::move(plugin)), loop_(std::move(loop)) {}
  std::string_view name() const override { return plugin_->name(); }
  std::unique_ptr<QueueingHints> make_queueing_hints() const override { return make_event_hints(plugin_); }
  Status pre_enqueue(const Pod& pod) override { return plugin_->pre_enqueue(pod); }
  PostFilterAnswer post_filter(const RefusedPod& refused) override { return plugin_->post_filter(refused, loop_); }
  Status reserve(const PodOnNode& pod) override { return plugin_->reserve_on(pod, loop_); }
  void unreserve(const PodOnNode& pod) noexcept override { plugin_->unreserve_on(pod, loop_); }
  PermitAnswer permit(const PodOnNode& pod) override { return plugin_->permit(pod, loop_); }
  Status pre_bind_pre_flight(const PodOnNode& pod) override { return plugin_->pre_bind_pre_flight(pod, loop_); }
  Status pre_bind(const PodOnNode& pod) override { return plugin_->pre_bind(pod, loop_); }
  Status bind(const PodOnNode& pod) override { return plugin_->bind(pod, loop_); }
  void post_bind(const PodOnNode& pod) noexcept override { plugin_->post_bind(pod, loop_); }

 private:
  std::shared_ptr<const AbiPlugin> plugin_;
  FrameworkHandle loop_;
};

}  // namespace

bool AbiPlugin::joins_loop() const {
  const berth_plugin& t = table_.table;
  return t.pre_enqueue != nullptr || t.post_filter != nullptr || t.reserve != nullptr || t.permit != nullptr ||
         t.pre_bind != nullptr || t.bind != nullptr || t.post_bind != nullptr;
}

bool AbiPlugin::tells_of_events() const {
  return table_.table.events != nullptr || table_.table.queueing_hint != nullptr;
}

/// Calls `function(self, call, pod, node name)`.
template <class Function>
auto AbiPlugin::call_on_node(berth_plugin_call& call, const PodOnNode& pod, const FrameworkHandle& loop,
                             Function function) const {
  call.loop = &loop;
  call.cycle = pod.state;
  return function(self_of(*pod.pod), &call, to_abi(pod.pod), to_abi(pod.node_name));
}

template <class Function>
Status AbiPlugin::ask_on_node(const PodOnNode& pod, const FrameworkHandle& loop, const char* name,
                              Function function) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, loop.cluster);
  const std::int32_t answer = call_on_node(call, pod, loop, function);
  return status_of(answer, call, name);
}

template <class Function>
void AbiPlugin::tell_on_node(const PodOnNode& pod, const FrameworkHandle& loop, Function function) const noexcept {
  try {
    const auto alone = turn();
    berth_plugin_call call(this, paths_, loop.cluster);
    call_on_node(call, pod, loop, function);
  } catch (...) {  // NOLINT(bugprone-empty-catch): it has no answer that could say so
  }
}

Status AbiPlugin::pre_enqueue(const Pod& pod) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  const std::int32_t answer = table_.table.pre_enqueue(self_of(pod), &call, to_abi(&pod));
  Status status = status_of(answer, call, "pre_enqueue");
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "pre_enqueue");
  return status;
}

PostFilterAnswer AbiPlugin::post_filter(const RefusedPod& refused, const FrameworkHandle& loop) const {
  std::vector<std::uint8_t> codes;
  codes.reserve(refused.statuses.size());
  for (const Status& status : refused.statuses) codes.push_back(static_cast<std::uint8_t>(status.code));
  const berth_plugin_node* nominated = nullptr;
  const auto alone = turn();
  berth_plugin_call call(this, paths_, loop.cluster);
  call.loop = &loop;
  const std::int32_t answer = table_.table.post_filter(
      self_of(refused.pod), &call, to_abi(&refused.pod),
      reinterpret_cast<const berth_plugin_node* const*>(refused.nodes.data()), codes.data(), codes.size(), &nominated);
  Status status = status_of(answer, call, "post_filter");
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "post_filter");
  if (nominated == nullptr) return {std::move(status), std::nullopt};
  const auto is_it = [&](const NodeInfo* node) { return to_abi(node) == nominated; };
  const auto at = std::ranges::find_if(refused.nodes, is_it);
  if (at == refused.nodes.end()) throw std::runtime_error("post_filter() nominated a node that it was not given");
  return {std::move(status), (*at)->name};
}

Status AbiPlugin::reserve_on(const PodOnNode& pod, const FrameworkHandle& loop) const {
  Status status = ask_on_node(pod, loop, "reserve", table_.table.reserve);
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "reserve");
  return status;
}

void AbiPlugin::unreserve_on(const PodOnNode& pod, const FrameworkHandle& loop) const noexcept {
  if (table_.table.unreserve != nullptr) tell_on_node(pod, loop, table_.table.unreserve);
}

PermitAnswer AbiPlugin::permit(const PodOnNode& pod, const FrameworkHandle& loop) const {
  std::int64_t timeout_us = 0;
  Status status = ask_on_node(pod, loop, "permit", [&](void* self, auto* call, auto* asked, auto node_name) {
    return table_.table.permit(self, call, asked, node_name, &timeout_us);
  });
  if (status.code == StatusCode::kSkip) refuse_code(status, "permit");
  return {std::move(status), timeout_us};
}

Status AbiPlugin::pre_bind_pre_flight(const PodOnNode& pod, const FrameworkHandle& loop) const {
  if (table_.table.pre_bind_pre_flight == nullptr) return {};
  Status status = ask_on_node(pod, loop, "pre_bind_pre_flight", table_.table.pre_bind_pre_flight);
  const bool is_fine = status.ok() || status.code == StatusCode::kSkip || status.code == StatusCode::kError;
  if (!is_fine) refuse_code(status, "pre_bind_pre_flight");
  return status;
}

Status AbiPlugin::pre_bind(const PodOnNode& pod, const FrameworkHandle& loop) const {
  Status status = ask_on_node(pod, loop, "pre_bind", table_.table.pre_bind);
  if (status.code == StatusCode::kSkip || status.code == StatusCode::kWait) refuse_code(status, "pre_bind");
  return status;
}

Status AbiPlugin::bind(const PodOnNode& pod, const FrameworkHandle& loop) const {
  bool is_bound = false;
  Status status = ask_on_node(pod, loop, "bind", [&](void* self, auto* call, auto* asked, auto node_name) {
    const std::int32_t answer = table_.table.bind(self, call, asked, node_name);
    is_bound = answer == BERTH_PLUGIN_BOUND;
    return is_bound ? BERTH_CODE_SUCCESS : answer;
  });
  if (is_bound && !loop.has_api_server)
    throw std::runtime_error("bind() answered BERTH_PLUGIN_BOUND, but the API server is a simulated one");
  if (status.code == StatusCode::kWait) refuse_code(status, "bind");
  if (status.ok() && !is_bound) status.code = StatusCode::kWait;  // for the API server's answer
  return status;
}

void AbiPlugin::post_bind(const PodOnNode& pod, const FrameworkHandle& loop) const noexcept {
  tell_on_node(pod, loop, table_.table.post_bind);
}

bool have_loop_points(const HostPlugins& plugins) {
  return std::ranges::any_of(plugins, [](const auto& plugin) {
    const auto* const abi = dynamic_cast<const AbiPlugin*>(plugin.get());
    return abi != nullptr && abi->joins_loop();
  });
}

void register_loop_plugins(const HostPlugins& plugins, PluginRegistry& registry) {
  for (const auto& plugin : plugins) {
    auto abi = std::dynamic_pointer_cast<const AbiPlugin>(plugin);
    if (abi == nullptr || (!abi->joins_loop() && !abi->tells_of_events())) continue;
    const std::string name(abi->name());
    registry.add(name, [abi = std::move(abi)](const Profile&, const FrameworkHandle& handle) {
      return std::make_unique<LoopPlugin>(abi, handle);
    });
  }
}

}  // namespace berth
