// SPDX-License-Identifier: Apache-2.0
#include "host/generate/spec_reader.h"

#include <algorithm>
#include <array>
#include <limits>

namespace berth::spec_reader {
namespace {

constexpr Spellings<TaintEffect, 3> kEffects = {{{"NoSchedule", TaintEffect::kNoSchedule},
                                                 {"PreferNoSchedule", TaintEffect::kPreferNoSchedule},
                                                 {"NoExecute", TaintEffect::kNoExecute}}};
constexpr Spellings<TolerationOperator, 4> kTolerationOperators = {{{"Equal", TolerationOperator::kEqual},
                                                                    {"Exists", TolerationOperator::kExists},
                                                                    {"Gt", TolerationOperator::kGt},
                                                                    {"Lt", TolerationOperator::kLt}}};
constexpr Spellings<PreemptionPolicy, 2> kPolicies = {
    {{"PreemptLowerPriority", PreemptionPolicy::kPreemptLowerPriority}, {"Never", PreemptionPolicy::kNever}}};

bool is_number(const JsonValue& value) { return value.present() && value.element().is_number(); }

void read_weights(const JsonValue& value, std::size_t expected_count, std::vector<std::int32_t>& out) {
  value.for_each_element([&](const JsonValue& element) {
    std::int32_t weight = 0;
    if (element.read(weight) && weight < 1) element.mismatch("a weight of at least 1");
    out.push_back(weight);
  });
  if (value.present() && out.size() != expected_count) value.problem("expected as many weights as choices");
}

void read_choice(const JsonValue& value, QuantityDraw& out) {
  out.kind = QuantityDraw::Kind::kChoice;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "weights") return true;
    if (key != "choice") return false;
    field.for_each_element([&](const JsonValue& element) { read_quantity(element, out.values.emplace_back()); });
    if (out.values.empty()) field.mismatch("at least one choice");
    return true;
  });
  const JsonValue weights = value.field("weights");
  read_weights(weights, out.values.size(), out.weights);
}

std::int64_t steps_within(Quantity length, Quantity step) {
  const __int128 count = length.nano / step.nano;
  return static_cast<std::int64_t>(std::min<__int128>(count, std::numeric_limits<std::int64_t>::max() - 1));
}

void read_step(const JsonValue& value, Quantity& out) {
  read_quantity(value, out);
  if (value.present() && out.nano <= 0) value.mismatch("a step above 0");
  if (out.nano <= 0) out.nano = 1'000'000'000;
}

/// {min, max, step}: each variant draws min, min + step, ... up to max.
void read_range(const JsonValue& value, QuantityDraw& out) {
  out.kind = QuantityDraw::Kind::kRange;
  Quantity largest;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "min")
      read_quantity(field, out.start);
    else if (key == "max")
      read_quantity(field, largest);
    else if (key == "step")
      read_step(field, out.step);
    else
      return false;
    return true;
  });
  if (largest < out.start || out.step.nano <= 0) {
    value.problem("expected min, max not below it, and step");
    return;
  }
  out.step_count = steps_within(Quantity{largest.nano - out.start.nano}, out.step) + 1;
}

/// {start, step, modulo}: variant k gets start + (k * step) modulo modulo.
void read_sequence(const JsonValue& value, QuantityDraw& out) {
  out.kind = QuantityDraw::Kind::kSequence;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "start")
      read_quantity(field, out.start);
    else if (key == "step")
      read_step(field, out.step);
    else if (key == "modulo")
      read_step(field, out.modulo);
    else
      return false;
    return true;
  });
  if (out.step.nano <= 0) value.problem("expected start, step and, where it starts again, modulo");
}

void read_quantity_draw(const JsonValue& value, QuantityDraw& out) {
  if (!value.is_object()) {
    read_quantity(value, out.values.emplace_back());
  } else if (value.field("choice").present()) {
    read_choice(value, out);
  } else if (value.field("min").present()) {
    read_range(value, out);
  } else if (value.field("start").present()) {
    read_sequence(value, out);
  } else {
    value.problem("expected a quantity, {choice, weights}, {min, max, step} or {start, step, modulo}");
  }
}

void read_text_choice(const JsonValue& value, TextDraw& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "choice") field.read(out.values);
    return key == "choice" || key == "weights";
  });
  if (out.values.empty()) {
    value.problem("expected a string, {choice, weights} or {prefix, count}");
    out.values.emplace_back();
  }
  const JsonValue weights = value.field("weights");
  read_weights(weights, out.values.size(), out.weights);
}

/// {prefix, count}: variant k gets prefix and k modulo count.
void read_text_sequence(const JsonValue& value, TextDraw& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "prefix")
      field.read(out.values.emplace_back());
    else if (key == "count")
      read_count(field, out.sequence_count);
    else
      return false;
    return true;
  });
  if (out.sequence_count < 1) value.problem("expected prefix and a count of at least 1");
}

template <class Draws>
void sort_by_name(Draws& draws) {
  std::sort(draws.begin(), draws.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

bool is_accounted_resource(std::string_view name) {
  return name == kCpu || name == kMemory || name == kEphemeralStorage || name == kPods || is_scalar_resource(name);
}

void read_taint(const JsonValue& value, Taint& out) {
  bool has_effect = false;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "key")
      field.read(out.key);
    else if (key == "value")
      field.read(out.value);
    else if (key == "effect")
      has_effect = read_spelling(field, kEffects, out.effect) || field.present();
    else
      return false;
    return true;
  });
  if (value.is_object() && (out.key.empty() || !has_effect)) value.problem("expected key and effect");
}

void read_toleration(const JsonValue& value, Toleration& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    TaintEffect effect{};
    if (key == "key")
      field.read(out.key);
    else if (key == "operator")
      read_spelling(field, kTolerationOperators, out.op);
    else if (key == "value")
      field.read(out.value);
    else if (key == "effect")
      out.effect = read_spelling(field, kEffects, effect) ? std::optional(effect) : std::nullopt;
    else
      return false;
    return true;
  });
}

bool read_term_field(std::string_view key, const JsonValue& field, NodeSelectorTerm& out) {
  auto* requirements = key == "matchExpressions" ? &out.match_expressions
                       : key == "matchFields"    ? &out.match_fields
                                                 : nullptr;
  if (requirements == nullptr) return false;
  field.for_each_element([&](const JsonValue& element) { read_requirement(element, requirements->emplace_back()); });
  return true;
}

void read_preferred_term(const JsonValue& value, PreferredSchedulingTerm& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key != "weight") return read_term_field(key, field, out.preference);
    field.read(out.weight);
    return true;
  });
  if (value.is_object() && (out.weight < 1 || out.weight > 100)) value.problem("expected a weight from 1 to 100");
}

void read_port_number(const JsonValue& value, std::int32_t& out) {
  if (value.read(out) && (out < 0 || out > 65535)) value.mismatch("a port from 0 to 65535");
}

void read_port(const JsonValue& value, ContainerPort& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "hostPort")
      read_port_number(field, out.host_port);
    else if (key == "containerPort")
      read_port_number(field, out.container_port);
    else if (key == "protocol")
      field.read(out.protocol);
    else if (key == "hostIP")
      field.read(out.host_ip);
    else
      return false;
    return true;
  });
  if (out.container_port == 0) out.container_port = out.host_port;
  if (value.is_object() && out.container_port == 0) value.problem("expected hostPort or containerPort");
  if (!out.protocol.empty() && out.protocol != "TCP" && out.protocol != "UDP" && out.protocol != "SCTP") {
    value.problem("expected protocol TCP, UDP or SCTP");
  }
}

void read_restart_policy(const JsonValue& value, bool& restart_always) {
  std::string_view text;
  if (!value.read(text)) return;
  restart_always = text == "Always";
  if (!restart_always) value.mismatch("\"Always\" (a sidecar) or nothing");
}

void read_container(const JsonValue& value, ContainerSpec& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name")
      field.read(out.name);
    else if (key == "image")
      read_text_draw(field, out.image);
    else if (key == "requests")
      read_resource_draws(field, out.requests);
    else if (key == "limits")
      read_resource_draws(field, out.limits);
    else if (key == "restartPolicy")
      read_restart_policy(field, out.restart_always);
    else if (key == "hostPorts")
      read_host_ports(field, out.ports);
    else if (key == "ports")
      field.for_each_element([&](const JsonValue& e) { read_port(e, out.ports.emplace_back()); });
    else
      return false;
    return true;
  });
}

}  // namespace

void read_count(const JsonValue& value, std::int64_t& out) {
  if (value.read(out) && (out < 0 || out > kMaxGeneratedObjects)) {
    value.mismatch("a count from 0 to " + std::to_string(kMaxGeneratedObjects));
    out = 0;
  }
}

void read_percent(const JsonValue& value, std::int32_t& out) {
  if (value.read(out) && (out < 0 || out > 100)) value.mismatch("a percentage from 0 to 100");
}

void read_object_name(const JsonValue& value, std::string& out) {
  if (value.read(out) && !is_dns_subdomain(out)) value.mismatch("a name of lower-case letters, digits, '-' and '.'");
}

void read_names(const JsonValue& value, std::vector<std::string>& out) {
  if (!value.read(out)) return;
  const bool has_empty = std::find(out.begin(), out.end(), "") != out.end();
  if (out.empty() || has_empty) value.mismatch("at least one name, and none that is empty");
}

void read_label_map(const JsonValue& value, LabelMap& out) {
  std::vector<std::pair<std::string, std::string>> entries;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    field.read(entries.emplace_back(key, "").second);
    return true;
  });
  out = LabelMap(std::move(entries));
}

void read_quantity(const JsonValue& value, Quantity& out) {
  std::string text;
  if (is_number(value))
    text = value.describe();
  else if (!value.read(text))
    return;
  const auto parsed = Quantity::parse(text);
  if (!parsed || parsed->nano < 0)
    value.mismatch("a quantity of at least 0, such as 500m or 4Gi");
  else
    out = parsed->rounded_up_to_milli();
}

void read_resource_draws(const JsonValue& value, ResourceDraws& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (!is_accounted_resource(key)) return false;
    if (field.present()) read_quantity_draw(field, out.emplace_back(key, QuantityDraw{}).second);
    return true;
  });
  sort_by_name(out);
}

void read_text_draw(const JsonValue& value, TextDraw& out) {
  if (!value.present()) return;
  TextDraw draw;
  if (!value.is_object()) {
    value.read(draw.values.emplace_back());
  } else {
    const bool is_sequence = value.field("prefix").present();
    is_sequence ? read_text_sequence(value, draw) : read_text_choice(value, draw);
  }
  out = std::move(draw);
}

void read_text_draws(const JsonValue& value, TextDraws& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (field.present()) read_text_draw(field, out.emplace_back(key, TextDraw{}).second);
    return true;
  });
  sort_by_name(out);
}

void read_taints(const JsonValue& value, std::vector<Taint>& out) {
  value.for_each_element([&](const JsonValue& element) { read_taint(element, out.emplace_back()); });
}

void read_tolerations(const JsonValue& value, std::vector<Toleration>& out) {
  value.for_each_element([&](const JsonValue& element) { read_toleration(element, out.emplace_back()); });
}

void read_requirement(const JsonValue& value, SelectorRequirement& out) {
  bool has_operator = false;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "key") {
      field.read(out.key);
    } else if (key == "values") {
      field.read(out.values);
    } else if (key == "operator") {
      std::string_view text;
      if (!field.read(text)) return true;
      has_operator = true;
      const auto op = parse_selector_operator(text);
      if (op)
        out.op = *op;
      else
        field.mismatch("one of In NotIn Exists DoesNotExist Gt Lt");
    } else {
      return false;
    }
    return true;
  });
  if (value.is_object() && (out.key.empty() || !has_operator)) value.problem("expected key and operator");
}

void read_node_affinity(const JsonValue& value, std::optional<NodeAffinity>& out) {
  if (!value.present()) return;
  out.emplace();
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "preferred") {
      field.for_each_element([&](const JsonValue& e) { read_preferred_term(e, out->preferred.emplace_back()); });
      return true;
    }
    if (key != "required") return false;
    if (!field.present()) return true;
    out->required.emplace();
    field.for_each_element([&](const JsonValue& element) {
      NodeSelectorTerm& term = out->required->emplace_back();
      element.for_each_field_strict(
          [&](std::string_view name, const JsonValue& part) { return read_term_field(name, part, term); });
    });
    return true;
  });
}

void read_containers(const JsonValue& value, std::vector<ContainerSpec>& out) {
  value.for_each_element([&](const JsonValue& element) {
    ContainerSpec& container = out.emplace_back();
    read_container(element, container);
    if (element.is_object() && container.name.empty()) element.problem("expected a name");
  });
}

void read_host_ports(const JsonValue& value, std::vector<ContainerPort>& out) {
  value.for_each_element([&](const JsonValue& element) {
    ContainerPort& port = out.emplace_back();
    read_port_number(element, port.host_port);
    port.container_port = port.host_port;
    if (port.host_port == 0) element.mismatch("a port from 1 to 65535");
  });
}

void read_preemption_policy(const JsonValue& value, std::optional<PreemptionPolicy>& out) {
  PreemptionPolicy policy{};
  if (read_spelling(value, kPolicies, policy)) out = policy;
}

}  // namespace berth::spec_reader
