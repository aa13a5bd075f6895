// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plugins that return what a test sets and record their calls.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/framework/framework.h"

namespace berth {

using Calls = std::vector<std::string>;

inline Status status_of(StatusCode code, std::string reason = "") {
  Status status;
  status.code = code;
  if (!reason.empty()) status.reasons.push_back(std::move(reason));
  return status;
}

/// The behaviour of a scripted plugin at each point; an empty function succeeds.
struct Script {
  std::function<Status(const Pod&)> pre_enqueue;
  std::function<PostFilterAnswer(const RefusedPod&)> post_filter;
  std::function<Status(const PodOnNode&)> reserve;
  std::function<PermitAnswer(const PodOnNode&)> permit;
  std::function<Status(const PodOnNode&)> pre_flight;
  std::function<Status(const PodOnNode&)> pre_bind;
  std::function<Status(const PodOnNode&)> bind;
  bool allows_parallel = false;
};

/// Implements every point; the profile decides which of them call it. Each call adds "<name>.<point>" to `calls`.
class ScriptedPlugin : public PreEnqueuePlugin,
                       public PostFilterPlugin,
                       public ReservePlugin,
                       public PermitPlugin,
                       public PreBindPlugin,
                       public BindPlugin,
                       public PostBindPlugin {
 public:
  ScriptedPlugin(std::string name, Script script, Calls& calls)
      : name_(std::move(name)), script_(std::move(script)), calls_(calls) {}
  std::string_view name() const override { return name_; }

  Status pre_enqueue(const Pod& pod) override {
    note("pre_enqueue");
    return script_.pre_enqueue ? script_.pre_enqueue(pod) : Status{};
  }
  PostFilterAnswer post_filter(const RefusedPod& refused) override {
    note("post_filter");
    return script_.post_filter ? script_.post_filter(refused) : PostFilterAnswer{};
  }
  Status reserve(const PodOnNode& pod) override {
    note("reserve");
    return script_.reserve ? script_.reserve(pod) : Status{};
  }
  void unreserve(const PodOnNode&) noexcept override { note("unreserve"); }
  PermitAnswer permit(const PodOnNode& pod) override {
    note("permit");
    return script_.permit ? script_.permit(pod) : PermitAnswer{};
  }
  Status pre_bind_pre_flight(const PodOnNode& pod) override {
    note("pre_flight");
    return script_.pre_flight ? script_.pre_flight(pod) : Status{};
  }
  bool allows_parallel(const PodOnNode&) const override { return script_.allows_parallel; }
  Status pre_bind(const PodOnNode& pod) override {
    note("pre_bind");
    return script_.pre_bind ? script_.pre_bind(pod) : Status{};
  }
  Status bind(const PodOnNode& pod) override {
    note("bind");
    return script_.bind ? script_.bind(pod) : Status{};
  }
  void post_bind(const PodOnNode&) noexcept override { note("post_bind"); }

 private:
  void note(const char* point) { calls_.push_back(name_ + "." + point); }

  std::string name_;
  Script script_;
  Calls& calls_;
};

/// A framework of scripted plugins, in the order in which they were added.
class ScriptedProfile {
 public:
  explicit ScriptedProfile(Calls& calls) : calls_(calls) {}

  /// Enables the plugin at these points of the profile.
  ScriptedProfile& add(const std::string& name, const std::vector<ExtensionPoint>& points, Script script = {},
                       std::int32_t weight = 1) {
    for (const ExtensionPoint point : points) {
      profile_.plugins[static_cast<std::size_t>(point)].push_back({name, weight});
    }
    registry_.add(name, [name, script = std::move(script), &calls = calls_](const Profile&, const FrameworkHandle&) {
      return std::make_unique<ScriptedPlugin>(name, script, calls);
    });
    return *this;
  }

  Profile& profile() { return profile_; }
  PluginRegistry& registry() { return registry_; }
  Framework build() const {
    return Framework(profile_, registry_, {}, [](std::string_view name) { return name == "Elsewhere"; });
  }

 private:
  Calls& calls_;
  Profile profile_;
  PluginRegistry registry_;
};

inline PodPtr plain_pod(const std::string& name, std::int32_t priority = 0) {
  Pod pod;
  pod.name = name;
  pod.priority = priority;
  pod.spec = std::make_shared<const PodSpec>();
  return std::make_shared<const Pod>(std::move(pod));
}

}  // namespace berth
