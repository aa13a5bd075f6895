// SPDX-License-Identifier: Apache-2.0
// Objects that admission and preemption read beside pods, as JSON.

#include <string>
#include <string_view>

#include "host/objects/json_out.h"
#include "host/objects/json_parts.h"

namespace berth {

void append_json(std::string& out, const PriorityClass& object) {
  JsonWriter w(out);
  w.open('{');
  w.field("apiVersion", std::string_view("scheduling.k8s.io/v1"));
  w.field("kind", std::string_view("PriorityClass"));
  w.object("metadata", [&] { w.text("name", object.name); });
  w.field("value", object.value);
  w.flag("globalDefault", object.global_default);
  if (object.preemption_policy) {
    w.text("preemptionPolicy",
           *object.preemption_policy == PreemptionPolicy::kNever ? "Never" : "PreemptLowerPriority");
  }
  w.close('}');
}

/// The handler, which an API server requires, is not kept: the name stands for it.
void append_json(std::string& out, const RuntimeClass& object) {
  JsonWriter w(out);
  w.open('{');
  w.field("apiVersion", std::string_view("node.k8s.io/v1"));
  w.field("kind", std::string_view("RuntimeClass"));
  w.object("metadata", [&] { w.text("name", object.name); });
  w.field("handler", object.name);
  if (!object.overhead_pod_fixed.empty())
    w.object("overhead", [&] { w.resources("podFixed", object.overhead_pod_fixed); });
  if (!object.node_selector.empty() || !object.tolerations.empty())
    w.object("scheduling", [&] {
      w.labels("nodeSelector", object.node_selector);
      write_tolerations(w, object.tolerations);
    });
  w.close('}');
}

/// The times at which pods were disrupted are not kept: the epoch stands for them.
void append_json(std::string& out, const PodDisruptionBudget& object) {
  JsonWriter w(out);
  w.open('{');
  w.field("apiVersion", std::string_view("policy/v1"));
  w.field("kind", std::string_view("PodDisruptionBudget"));
  w.object("metadata", [&] {
    w.text("name", object.name);
    w.text("namespace", object.namespace_);
  });
  w.object("spec", [&] { write_selector(w, "selector", object.selector); });
  w.object("status", [&] {
    w.field("disruptionsAllowed", object.disruptions_allowed);
    if (object.disrupted_pods.empty()) return;
    w.object("disruptedPods", [&] {
      for (const std::string& pod : object.disrupted_pods) w.field(pod, format_time(0));
    });
  });
  w.close('}');
}

}  // namespace berth
