// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/post_filter_plugins.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kDynamicResourcesName = "DynamicResources";
constexpr std::string_view kNoClaims = "no new claims to deallocate";
/// Of a cycle state that DynamicResources did not write: its PreFilter was not called.
constexpr std::string_view kNoState = "not found";

}  // namespace

std::string as_preemption_text(std::string_view text) { return "preemption: " + std::string(text); }

PostFilterPlugins::PostFilterPlugins(const Profile& profile) {
  for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kPostFilter)) {
    if (plugin.name == kDynamicResourcesName) plugins_.push_back(Plugin::kDynamicResources);
    if (plugin.name == kDefaultPreemptionName) plugins_.push_back(Plugin::kDefaultPreemption);
  }
  for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kPreFilter)) {
    dynamic_resources_pre_filters_ = plugin.name == kDynamicResourcesName;
    if (dynamic_resources_pre_filters_) break;
    pre_filter_before_dynamic_resources_.push_back(plugin.name);
  }
}

bool PostFilterPlugins::preempts() const {
  return std::find(plugins_.begin(), plugins_.end(), Plugin::kDefaultPreemption) != plugins_.end();
}

/// Its PreFilter was called. A plugin before it that answers UnschedulableAndUnresolvable ends PreFilter.
bool PostFilterPlugins::dynamic_resources_knows(const Message& message) const {
  if (!dynamic_resources_pre_filters_) return false;
  if (!message.is_of_pre_filter || message.resolvable_nodes > 0) return true;
  return std::none_of(pre_filter_before_dynamic_resources_.begin(), pre_filter_before_dynamic_resources_.end(),
                      [&](const std::string& plugin) { return message.rejectors.contains(plugin); });
}

bool PostFilterPlugins::preempts_after(const Message& message) const {
  for (const Plugin plugin : plugins_) {
    if (plugin == Plugin::kDefaultPreemption) return true;
    if (!dynamic_resources_knows(message)) return false;
  }
  return false;
}

PostFilterResult PostFilterPlugins::run(const Message& message,
                                        const std::function<PostFilterResult()>& default_preemption) const {
  PostFilterResult all{{}, {}, true};
  const auto add_reason = [&](std::string_view reason) {
    if (!all.text.empty()) all.text += ", ";
    all.text += reason;
  };
  for (const Plugin plugin : plugins_) {
    if (plugin == Plugin::kDynamicResources) {
      if (!dynamic_resources_knows(message)) return {std::string(kNoState), {}, true, true};
      add_reason(kNoClaims);
      continue;
    }
    PostFilterResult found = default_preemption();
    if (found.candidate || found.is_error) return found;
    if (!found.keeps_nomination) all.keeps_nomination = false;
    add_reason(found.text);
  }
  return all;
}

std::string PostFilterPlugins::text_without_victims(std::int64_t nodes, const Message& message) const {
  return run(message,
             [&] {
               return PostFilterResult{as_preemption_text(no_victims_text(nodes, message.resolvable_nodes)), {}, false};
             })
      .text;
}

}  // namespace berth
