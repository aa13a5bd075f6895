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

/// @param node  empty: the pod loses its nomination
void nominate(const std::string& node, PostFilterResult& result) {
  result.keeps_nomination = false;
  result.nominated_node = node;
}

void add_reason(std::string_view reason, PostFilterResult& result) {
  if (!result.text.empty()) result.text += ", ";
  result.text += reason;
}

/// Adds what a plugin from outside says to that of those before it. @return a result with which PostFilter ends
std::optional<PostFilterResult> add_answer(const PostFilterAnswer& answer, PostFilterResult& all) {
  const StatusCode code = answer.status.code;
  const bool is_final = code == StatusCode::kSuccess || code == StatusCode::kUnschedulableAndUnresolvable;
  if (!is_final && !is_rejected(code)) return PostFilterResult{answer.status.message(), {}, true, true};
  PostFilterResult own{answer.status.message(), {}, true};
  own.is_success = code == StatusCode::kSuccess;
  if (answer.nominated_node_name) nominate(*answer.nominated_node_name, is_final ? own : all);
  if (is_final) return own;
  add_reason(own.text, all);
  return std::nullopt;
}

}  // namespace

std::string as_preemption_text(std::string_view text) { return "preemption: " + std::string(text); }

PostFilterPlugins::PostFilterPlugins(const Profile& profile, const Framework* outside) {
  for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kPostFilter)) {
    PostFilterPlugin* const own = outside == nullptr ? nullptr : outside->find_post_filter(plugin.name);
    if (own != nullptr) {
      plugins_.push_back({Kind::kOutside, own});
    } else if (plugin.name == kDynamicResourcesName) {
      plugins_.push_back({Kind::kDynamicResources});
    } else if (plugin.name == kDefaultPreemptionName) {
      plugins_.push_back({Kind::kDefaultPreemption});
    }
  }
  for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kPreFilter)) {
    dynamic_resources_pre_filters_ = plugin.name == kDynamicResourcesName;
    if (dynamic_resources_pre_filters_) break;
    pre_filter_before_dynamic_resources_.push_back(plugin.name);
  }
}

bool PostFilterPlugins::has(Kind kind) const {
  return std::any_of(plugins_.begin(), plugins_.end(), [&](const Plugin& plugin) { return plugin.kind == kind; });
}

bool PostFilterPlugins::preempts() const { return has(Kind::kDefaultPreemption); }

bool PostFilterPlugins::has_outside() const { return has(Kind::kOutside); }

/// Its PreFilter was called. A plugin before it that answers UnschedulableAndUnresolvable ends PreFilter.
bool PostFilterPlugins::dynamic_resources_knows(const Message& message) const {
  if (!dynamic_resources_pre_filters_) return false;
  if (!message.is_of_pre_filter || message.resolvable_nodes > 0) return true;
  return std::none_of(pre_filter_before_dynamic_resources_.begin(), pre_filter_before_dynamic_resources_.end(),
                      [&](const std::string& plugin) { return message.rejectors.contains(plugin); });
}

bool PostFilterPlugins::preempts_after(const Message& message) const {
  for (const Plugin& plugin : plugins_) {
    if (plugin.kind == Kind::kDefaultPreemption) return true;
    if (plugin.kind == Kind::kDynamicResources && !dynamic_resources_knows(message)) return false;
  }
  return false;
}

PostFilterResult PostFilterPlugins::run(const Message& message,
                                        const std::function<PostFilterResult()>& default_preemption,
                                        const std::function<PostFilterAnswer(PostFilterPlugin&)>& outside) const {
  PostFilterResult all{{}, {}, true};
  for (const Plugin& plugin : plugins_) {
    if (plugin.kind == Kind::kDynamicResources) {
      if (!dynamic_resources_knows(message)) return {std::string(kNoState), {}, true, true};
      add_reason(kNoClaims, all);
      continue;
    }
    if (plugin.kind == Kind::kOutside) {
      if (std::optional<PostFilterResult> last = add_answer(outside(*plugin.outside), all)) return *std::move(last);
      continue;
    }
    PostFilterResult found = default_preemption();
    if (found.candidate || found.is_error) return found;
    if (!found.keeps_nomination) nominate("", all);
    add_reason(found.text, all);
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
