// SPDX-License-Identifier: Apache-2.0
#include "tests/support/text_words.h"

#include <algorithm>

namespace berth::test {

void fail(std::string_view what, std::string_view word) {
  throw TextError(std::string(what) + ": \"" + std::string(word) + "\"");
}

std::pair<std::string, std::string> key_value(std::string_view word) {
  const std::size_t at = word.find('=');
  if (at == std::string_view::npos) return {std::string(word), ""};
  return {std::string(word.substr(0, at)), std::string(word.substr(at + 1))};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::int64_t integer(std::string_view text) {
  const std::optional<std::int64_t> number = parse_int64(text);
  if (!number) fail("not a number", text);
  return *number;
}

std::int32_t small_integer(std::string_view text) { return static_cast<std::int32_t>(integer(text)); }

Quantity quantity(std::string_view text) {
  const std::optional<Quantity> amount = Quantity::parse(text);
  if (!amount) fail("not a quantity", text);
  return amount->rounded_up_to_milli();
}

void set_amount(ResourceList& list, const std::string& name, std::string_view text) {
  const auto at = std::lower_bound(list.begin(), list.end(), name,
                                   [](const auto& entry, const std::string& key) { return entry.first < key; });
  if (at != list.end() && at->first == name) fail("resource named twice", name);
  list.insert(at, {name, quantity(text)});
}

std::optional<std::string> resource_name(const std::string& key) {
  if (key == "cpu" || key == "memory") return key;
  if (key == "ephemeral") return std::string(kEphemeralStorage);
  if (key.starts_with("res:")) return key.substr(4);
  return std::nullopt;
}

TaintEffect taint_effect(std::string_view text) {
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  fail("no taint effect", text);
}

std::string topology_key(const std::string& word) {
  if (word == "zone") return "topology.kubernetes.io/zone";
  return word == "host" ? "kubernetes.io/hostname" : word;
}

std::vector<std::string> expand_name(const std::string& word) {
  const std::size_t star = word.find('*');
  if (star == std::string::npos) return {word};
  std::vector<std::string> names;
  const std::int64_t count = integer(std::string_view(word).substr(star + 1));
  for (std::int64_t i = 0; i < count; ++i) names.push_back(word.substr(0, star) + std::to_string(i));
  return names;
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool open = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size() && line[i + 1] == '"') {
      word += line[++i];
      open = true;
    } else if (c == '"') {
      quoted = !quoted;
      open = true;
    } else if (!quoted && (c == ' ' || c == '\t')) {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quoted) fail("a quote is not closed", line);
  if (open) words.push_back(word);
  return words;
}

SelectorRequirement requirement(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) fail("not key:Operator:values", text);
  const std::optional<SelectorOperator> op = parse_selector_operator(parts[1]);
  if (!op) fail("no operator", parts[1]);
  SelectorRequirement result{parts[0], *op, {}};
  if (parts.size() == 3) result.values = split(parts[2], ',');
  return result;
}

NodeSelectorTerm term(std::string_view text) {
  NodeSelectorTerm result;
  if (text.empty()) return result;
  for (const std::string& part : split(text, '&')) {
    if (part.starts_with("@")) {
      result.match_fields.push_back(requirement(std::string_view(part).substr(1)));
    } else {
      result.match_expressions.push_back(requirement(part));
    }
  }
  return result;
}

PreferredSchedulingTerm preferred_term(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {small_integer(text), {}};
  return {small_integer(text.substr(0, colon)), term(text.substr(colon + 1))};
}

LabelSelector label_selector(std::string_view text) {
  LabelSelector result;
  std::vector<std::pair<std::string, std::string>> pairs;
  if (text.empty()) return result;
  for (const std::string& part : split(text, '&')) {
    if (part.find('=') != std::string::npos) {
      pairs.push_back(key_value(part));
    } else {
      result.match_expressions.push_back(requirement(part));
    }
  }
  result.match_labels = LabelMap(std::move(pairs));
  return result;
}

}  // namespace berth::test
