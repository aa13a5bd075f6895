// SPDX-License-Identifier: Apache-2.0
#include "host/capi/plugin_turns.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "host/plugin_abi/plugin_call.h"

namespace berth::capi {
namespace {

thread_local CallScope* t_innermost = nullptr;

}  // namespace

PluginTurns::PluginTurns(AbiPlugins plugins) : plugins_(std::move(plugins)) {
  if (!plugins_.empty()) mutex_ = std::make_unique<std::shared_mutex>();
}

bool PluginTurns::is_calling() const noexcept {
  return std::ranges::any_of(plugins_, [](const auto& plugin) { return berth::is_calling(plugin.get()); });
}

void PluginTurns::enter() const {
  if (empty()) return;
  const auto is_new = [](const auto& plugin) { return plugin->has_new_data(); };
  if (std::ranges::any_of(plugins_, is_new)) {
    const std::unique_lock alone(*mutex_);
    for (const auto& plugin : plugins_) plugin->take_new_data();
  }
  mutex_->lock_shared();
}

void PluginTurns::leave() const noexcept {
  if (!empty()) mutex_->unlock_shared();
}

CallScope::CallScope() noexcept : outer_(std::exchange(t_innermost, this)) {}

CallScope::~CallScope() {
  leave();
  t_innermost = outer_;
}

void CallScope::leave() noexcept {
  for (const PluginTurns* plugins : entered_) plugins->leave();
  entered_.clear();
}

void CallScope::enter(const PluginTurns& plugins) {
  if (t_innermost == nullptr || plugins.empty()) return;
  std::vector<const PluginTurns*>& entered = t_innermost->entered_;
  if (std::ranges::find(entered, &plugins) != entered.end()) return;
  entered.reserve(entered.size() + 1);  // what throws has entered nothing
  plugins.enter();
  entered.push_back(&plugins);
}

void CallScope::leave_all() noexcept {
  if (t_innermost != nullptr) t_innermost->leave();
}

}  // namespace berth::capi
