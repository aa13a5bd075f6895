// SPDX-License-Identifier: Apache-2.0
#include "host/queue/queue_plugins.h"

#include <string>

#include "plugins/priority_sort/priority_sort.h"
#include "plugins/scheduling_gates/scheduling_gates.h"

namespace berth {

namespace {

/// What a registered plugin says of itself.
std::unique_ptr<QueueingHints> hints_of_outside(const std::string& plugin, const Profile& profile,
                                                const PluginRegistry& registry) {
  if (const PluginFactory* const make = registry.find(plugin))
    if (const auto made = (*make)(profile, FrameworkHandle());
        const auto* told = dynamic_cast<EventPlugin*>(made.get()))
      return told->make_queueing_hints();
  return default_queueing_hints(plugin);
}

}  // namespace

QueuePlugins::QueuePlugins(const SchedulerConfig& config, const DefaultSelectorOf& default_selector_of,
                           PluginRegistry registry) {
  registry.add(std::string(PrioritySort::kName), make_priority_sort);
  registry.add(std::string(SchedulingGates::kName), make_scheduling_gates);
  for (const Profile& profile : config.profiles) {
    // Of PostFilter, DefaultPreemption's other point, the queue runs nothing.
    Profile queue_part;
    queue_part.scheduler_name = profile.scheduler_name;
    for (const ExtensionPoint point : {ExtensionPoint::kPreEnqueue, ExtensionPoint::kQueueSort})
      queue_part.plugins[static_cast<std::size_t>(point)] = profile.at(point);
    queue_part.args = profile.args;
    PluginRegistry with_gate = registry;
    with_gate.add(std::string(PreemptionGate::kName), [this](const Profile&, const FrameworkHandle&) {
      return std::make_unique<PreemptionGate>(running_preemptions_);
    });
    frameworks_.push_back(
        std::make_unique<Framework>(queue_part, with_gate, FrameworkHandle(), [](std::string_view) { return true; }));
    const auto of_outside = [&](const std::string& plugin) { return hints_of_outside(plugin, profile, registry); };
    profiles_.push_back(
        {frameworks_.back().get(), make_queueing_hints(profile, config.gates, default_selector_of, of_outside)});
  }
}

}  // namespace berth
