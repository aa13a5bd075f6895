// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode_parts.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace berth {
namespace {

/// nullopt: a name that no rule knows.
using StoredEffect = std::optional<TaintEffect>;
using StoredOperator = std::optional<TolerationOperator>;

constexpr std::array<std::pair<std::string_view, StoredEffect>, 3> kTaintEffects = {
    {{"NoSchedule", TaintEffect::kNoSchedule},
     {"PreferNoSchedule", TaintEffect::kPreferNoSchedule},
     {"NoExecute", TaintEffect::kNoExecute}}};

constexpr std::array<std::pair<std::string_view, StoredOperator>, 4> kTolerationOperators = {
    {{"Equal", TolerationOperator::kEqual},
     {"Exists", TolerationOperator::kExists},
     {"Gt", TolerationOperator::kGt},
     {"Lt", TolerationOperator::kLt}}};

bool is_empty_text(const JsonValue& value) { return value.is_string() && std::string_view(value.element()).empty(); }

/// Label selectors know the first four only.
constexpr std::array<std::pair<std::string_view, SelectorOperator>, 6> kNodeOperators = {
    {{"In", SelectorOperator::kIn},
     {"NotIn", SelectorOperator::kNotIn},
     {"Exists", SelectorOperator::kExists},
     {"DoesNotExist", SelectorOperator::kDoesNotExist},
     {"Gt", SelectorOperator::kGt},
     {"Lt", SelectorOperator::kLt}}};
constexpr std::array<std::pair<std::string_view, SelectorOperator>, 4> kLabelOperators = {
    {kNodeOperators[0], kNodeOperators[1], kNodeOperators[2], kNodeOperators[3]}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The shortest text that reads back as the number: what the input said, as far as a double can tell.
std::string number_text(simdjson::dom::element element) {
  char buffer[40];
  std::to_chars_result end{};
  if (element.is_int64()) {
    end = std::to_chars(buffer, buffer + sizeof(buffer), std::int64_t(element));
  } else if (element.is_uint64()) {
    end = std::to_chars(buffer, buffer + sizeof(buffer), std::uint64_t(element));
  } else {
    end = std::to_chars(buffer, buffer + sizeof(buffer), double(element));
  }
  return std::string(buffer, end.ptr);
}

bool read_digits(std::string_view text, std::size_t at, std::size_t count, int& out) {
  if (at + count > text.size()) return false;
  const char* first = text.data() + at;
  const auto [end, error] = std::from_chars(first, first + count, out);
  return error == std::errc() && end == first + count && out >= 0 && *first != '-';
}

/// ".123456789" -> microseconds; the rest of the digits is dropped. Moves `at` behind the digits.
bool read_fraction(std::string_view text, std::size_t& at, std::int64_t& micros) {
  if (at >= text.size() || (text[at] != '.' && text[at] != ',')) return true;
  const std::size_t first = ++at;
  std::int64_t unit = 100'000;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) micros += (text[at] - '0') * unit;
  return at > first;
}

/// "Z", "+02:00" -> seconds east of Greenwich.
bool read_zone(std::string_view text, std::size_t at, std::int64_t& offset_seconds) {
  if (at + 1 == text.size() && text[at] == 'Z') return true;
  int hours = 0;
  int minutes = 0;
  const bool has_form = at + 6 == text.size() && (text[at] == '+' || text[at] == '-') && text[at + 3] == ':' &&
                        read_digits(text, at + 1, 2, hours) && read_digits(text, at + 4, 2, minutes);
  if (!has_form || hours > 23 || minutes > 59) return false;
  offset_seconds = (hours * 60 + minutes) * 60 * (text[at] == '-' ? -1 : 1);
  return true;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool has_form = text.size() >= 20 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' &&
                        text[16] == ':' && read_digits(text, 0, 4, year) && read_digits(text, 5, 2, month) &&
                        read_digits(text, 8, 2, day) && read_digits(text, 11, 2, hour) &&
                        read_digits(text, 14, 2, minute) && read_digits(text, 17, 2, second);
  if (!has_form || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  std::size_t at = 19;
  std::int64_t micros = 0;
  std::int64_t offset_seconds = 0;
  if (!date.ok() || !read_fraction(text, at, micros) || !read_zone(text, at, offset_seconds)) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset_seconds;
  return seconds * 1'000'000 + micros;
}

template <std::size_t N>
SelectorRequirement read_requirement(const JsonValue& value,
                                     const std::array<std::pair<std::string_view, SelectorOperator>, N>& operators) {
  SelectorRequirement requirement;
  bool has_operator = false;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "key") field.read(requirement.key);
    if (key == "values") field.read(requirement.values);
    if (key == "operator") {
      has_operator = true;
      std::string_view text;
      if (field.read(text) && text.empty()) field.mismatch("an operator");
      read_enum(field, operators, requirement.op);
    }
  });
  if (value.is_object() && !has_operator) value.problem("has no operator");
  return requirement;
}

template <std::size_t N>
std::vector<SelectorRequirement> read_requirements(
    const JsonValue& value, const std::array<std::pair<std::string_view, SelectorOperator>, N>& operators) {
  std::vector<SelectorRequirement> requirements;
  value.for_each_element(
      [&](const JsonValue& element) { requirements.push_back(read_requirement(element, operators)); });
  return requirements;
}

void keep_last_of_each_name(ResourceList& list) {
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(list.begin(), list.end(), by_name);
  // From the back, so that unique() keeps the last one of each name.
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto kept = std::unique(list.rbegin(), list.rend(), same_name);
  list.erase(list.begin(), kept.base());
}

}  // namespace

std::optional<Quantity> read_quantity(const JsonValue& value) {
  if (!value.present()) return Quantity{};
  std::optional<Quantity> quantity;
  if (value.is_string()) {
    std::string_view text;
    if (!value.read(text)) return std::nullopt;
    quantity = Quantity::parse(trimmed(text));
  } else if (value.element().is_number()) {
    quantity = Quantity::parse(number_text(value.element()));
  }
  if (!quantity) value.mismatch("a quantity such as \"500m\" or \"1.5Gi\"");
  return quantity;
}

ResourceList read_resource_list(const JsonValue& value, ResourceNames names) {
  ResourceList list;
  value.for_each_entry([&](std::string_view name, const JsonValue& amount) {
    if (!is_qualified_name(name)) {
      if (names == ResourceNames::kQualified)
        amount.problem("is not the name of a resource, expected a qualified name such as nvidia.com/gpu");
      return;
    }
    const auto quantity = read_quantity(amount);
    if (!quantity) return;
    if (quantity->nano < 0) {
      amount.mismatch("an amount that is not negative");
      return;
    }
    list.emplace_back(name, quantity->rounded_up_to_milli());
  });
  keep_last_of_each_name(list);
  return list;
}

bool read_time(const JsonValue& value, std::int64_t& out_us) {
  std::string_view text;
  if (!value.read(text)) return false;
  const auto time = parse_time(text);
  if (!time) {
    value.mismatch("a time such as \"2026-01-31T23:59:59Z\"");
    return false;
  }
  out_us = *time;
  return true;
}

void read_string_map(const JsonValue& value, std::vector<LabelMap::Entry>& out) {
  out.clear();
  value.for_each_entry([&](std::string_view key, const JsonValue& entry) {
    std::string_view text;
    if (!entry.present() || entry.read(text)) out.emplace_back(key, text);
  });
}

LabelMap read_label_map(const JsonValue& value) {
  std::vector<LabelMap::Entry> entries;
  read_string_map(value, entries);
  std::string packed;
  LabelMap::pack(entries, packed);
  return LabelMap::from_packed(packed);
}

std::optional<LabelSelector> read_label_selector(const JsonValue& value) {
  if (!value.present()) return std::nullopt;
  LabelSelector selector;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "matchLabels") selector.match_labels = read_label_map(field);
    if (key == "matchExpressions") selector.match_expressions = read_requirements(field, kLabelOperators);
  });
  return selector;
}

NodeSelectorTerm read_node_selector_term(const JsonValue& value) {
  NodeSelectorTerm term;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "matchExpressions") term.match_expressions = read_requirements(field, kNodeOperators);
    if (key == "matchFields") term.match_fields = read_requirements(field, kNodeOperators);
  });
  return term;
}

void read_preference_weight(const JsonValue& value, std::int32_t& weight) {
  constexpr std::int32_t kWeightMax = 100;
  value.read(weight);
  if (weight < 0 || weight > kWeightMax)
    value.problem("got " + std::to_string(weight) + ", expected a weight from 0 to 100");
}

NodeAffinity read_node_affinity(const JsonValue& value) {
  NodeAffinity affinity;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution" && field.expect_object()) {
      auto& terms = affinity.required.emplace();
      field.field("nodeSelectorTerms").for_each_element([&](const JsonValue& term) {
        terms.push_back(read_node_selector_term(term));
      });
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      affinity.preferred.clear();
      field.for_each_element([&](const JsonValue& element) {
        auto& preferred = affinity.preferred.emplace_back();
        element.for_each_field([&](std::string_view name, const JsonValue& part) {
          if (name == "weight") read_preference_weight(part, preferred.weight);
          if (name == "preference") preferred.preference = read_node_selector_term(part);
        });
      });
    }
  });
  return affinity;
}

std::optional<PreemptionPolicy> read_preemption_policy(const JsonValue& value) {
  if (is_empty_text(value)) {
    value.finding(ValidationCheck::kPreemptionPolicy, "got \"\", expected PreemptLowerPriority or Never");
    return PreemptionPolicy::kPreemptLowerPriority;
  }
  PreemptionPolicy policy{};
  if (!read_stored_enum(value, kPreemptionPolicies, PreemptionPolicy::kPreemptLowerPriority, policy)) return {};
  return policy;
}

std::vector<Toleration> read_tolerations(const JsonValue& value) {
  std::vector<Toleration> tolerations;
  value.for_each_element([&](const JsonValue& element) {
    Toleration toleration;
    bool tolerates = true;
    element.for_each_field([&](std::string_view key, const JsonValue& field) {
      if (key == "key") field.read(toleration.key);
      if (key == "value") field.read(toleration.value);
      if (is_empty_text(field)) return;  // an operator or an effect of "" is an absent one
      if (key == "operator") {
        StoredOperator op = TolerationOperator::kEqual;
        read_stored_enum(field, kTolerationOperators, StoredOperator(), op);
        tolerates &= op.has_value();
        toleration.op = op.value_or(TolerationOperator::kEqual);
      }
      if (key == "effect") {
        if (read_stored_enum(field, kTaintEffects, StoredEffect(), toleration.effect))
          tolerates &= toleration.effect.has_value();
      }
    });
    // One with a name that no rule knows tolerates no taint: docs/behaviour/plugins-node.md 7.1.
    if (tolerates) tolerations.push_back(std::move(toleration));
  });
  return tolerations;
}

std::vector<Taint> read_taints(const JsonValue& value) {
  std::vector<Taint> taints;
  value.for_each_element([&](const JsonValue& element) {
    Taint taint;
    StoredEffect effect;
    bool has_effect = false;
    element.for_each_field([&](std::string_view key, const JsonValue& field) {
      if (key == "key") field.read(taint.key);
      if (key == "value") field.read(taint.value);
      if (key == "effect") has_effect = read_stored_enum(field, kTaintEffects, StoredEffect(), effect);
    });
    if (element.is_object() && !has_effect) element.problem("has no effect");
    if (!effect) return;  // the rules look at taints of the effects that they know
    taint.effect = *effect;
    taints.push_back(std::move(taint));
  });
  return taints;
}

namespace {

/// @param key  of the path, from which on `value` is looked into
void read_declared(const JsonValue& value, const DeclaredPath& path, std::size_t key, DeclaredValue& into,
                   bool& found) {
  if (!value.present()) return;
  if (key < path.keys.size()) {
    if (!value.is_object()) return;  // the path ends before the value: what stands here is for others to judge
    const JsonValue next = value.field(path.keys[key]);
    return read_declared(next, path, key + 1, into, found);
  }
  const simdjson::dom::element element = value.element();
  if (value.is_string()) {
    std::string_view text;
    found = value.read(text);
    into.value = text;
  } else if (value.is_object() || value.is_array()) {
    value.mismatch("a string, a number or a boolean: a plugin reads it");
  } else {
    into.value = simdjson::minify(element);
    found = true;
  }
}

}  // namespace

DeclaredValues read_declared(const JsonValue& object, const std::vector<DeclaredPath>& paths) {
  DeclaredValues values;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    DeclaredValue value{static_cast<std::uint32_t>(p), paths[p].keys.front() == "status", ""};
    bool found = false;
    read_declared(object, paths[p], 0, value, found);
    if (found) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace berth
