// SPDX-License-Identifier: Apache-2.0
#include "host/framework/label_problems.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kLabelKeyRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::size_t kNameBytesMax = 63;
constexpr std::size_t kSubdomainBytesMax = 253;

std::string too_long(std::size_t bytes_max) { return "must be no more than " + std::to_string(bytes_max) + " bytes"; }

/// Several rules that one text violates.
class Breaches {
 public:
  void add(std::string_view text) { all_ += (all_.empty() ? "" : "; ") + std::string(text); }
  std::string take() { return std::move(all_); }

 private:
  std::string all_;
};

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Checks the characters only; a name of any length.
bool has_name_characters(std::string_view text) {
  const auto is_fine = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), is_fine);
}

std::string label_value_problem(std::string_view text) {
  Breaches breaches;
  if (text.size() > kNameBytesMax) breaches.add(too_long(kNameBytesMax));
  if (!text.empty() && !has_name_characters(text)) breaches.add(kLabelValueRule);
  return breaches.take();
}

/// Checks the characters only; any number of parts with alphanumeric ends.
bool has_subdomain_characters(std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    if (!is_dns_subdomain(text.substr(begin, std::min(end - begin, kSubdomainBytesMax)))) return false;
    begin = end + 1;
  }
  return true;
}

void check_prefix(std::string_view prefix, Breaches& breaches) {
  constexpr std::string_view kPart = "prefix part ";
  if (prefix.empty()) return breaches.add(std::string(kPart) + "must be non-empty");
  if (prefix.size() > kSubdomainBytesMax) breaches.add(std::string(kPart) + too_long(kSubdomainBytesMax));
  if (!has_subdomain_characters(prefix)) breaches.add(std::string(kPart) + std::string(kSubdomainRule));
}

std::string label_key_problem(std::string_view text) {
  Breaches breaches;
  const auto slashes = std::count(text.begin(), text.end(), '/');
  if (slashes > 1) {
    return "a valid label key " + std::string(kLabelKeyRule) +
           " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  }
  const std::size_t slash = text.find('/');
  if (slashes == 1) check_prefix(text.substr(0, slash), breaches);
  const std::string_view name = slashes == 1 ? text.substr(slash + 1) : text;
  if (name.empty()) breaches.add("name part must be non-empty");
  if (name.size() > kNameBytesMax) breaches.add("name part " + too_long(kNameBytesMax));
  if (!has_name_characters(name)) breaches.add("name part " + std::string(kLabelKeyRule));
  return breaches.take();
}

void check_value_count(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems) {
  const std::vector<std::string>& values = requirement.values;
  const std::string shown = quoted_values(values);
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (values.empty()) problems.invalid(path, shown, "for 'in', 'notin' operators, values set can't be empty");
      return;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!values.empty()) problems.invalid(path, shown, "values set must be empty for exists and does not exist");
      return;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      if (values.size() != 1) problems.invalid(path, shown, "for 'Gt', 'Lt' operators, exactly one value is required");
      return;
  }
}

void check_integers(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems) {
  if (requirement.op != SelectorOperator::kGt && requirement.op != SelectorOperator::kLt) return;
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    if (parse_int64(requirement.values[i])) continue;
    problems.invalid(path + "[" + std::to_string(i) + "]", quoted_value(requirement.values[i]),
                     "for 'Gt', 'Lt' operators, the value must be an integer");
  }
}

void check_label_values(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems) {
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (is_label_value(value)) continue;
    problems.invalid(path + "[" + std::to_string(i) + "][" + requirement.key + "]", quoted_value(value),
                     label_value_problem(value));
  }
}

}  // namespace

void ProblemTexts::invalid(const std::string& path, const std::string& value, std::string_view detail) {
  add(path + ": Invalid value: " + value + ": " + std::string(detail));
}

void ProblemTexts::add(std::string text) {
  if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(std::move(text));
}

std::optional<std::string> ProblemTexts::text() const {
  if (texts_.empty()) return std::nullopt;
  if (texts_.size() == 1) return texts_.front();
  std::string all = "[";
  for (const std::string& text : texts_) all += (all.size() > 1 ? ", " : "") + text;
  return all + "]";
}

std::string quoted_value(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string quoted_values(const std::vector<std::string>& values) {
  if (values.empty()) return "null";
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() > 1 ? "," : "") + quoted_value(value);
  return out + "]";
}

void check_requirement(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems) {
  if (!is_qualified_name(requirement.key)) {
    problems.invalid(path + "key", quoted_value(requirement.key), label_key_problem(requirement.key));
  }
  check_value_count(requirement, path + "values", problems);
  check_integers(requirement, path + "values", problems);
  check_label_values(requirement, path + "values", problems);
}

std::optional<std::string> label_selector_problem(const std::optional<LabelSelector>& selector) {
  if (!selector) return std::nullopt;
  std::vector<SelectorRequirement> requirements;
  for (const auto& [key, value] : selector->match_labels) {
    requirements.push_back({std::string(key), SelectorOperator::kIn, {std::string(value)}});
  }
  requirements.insert(requirements.end(), selector->match_expressions.begin(), selector->match_expressions.end());
  for (const SelectorRequirement& requirement : requirements) {
    ProblemTexts problems;
    check_requirement(requirement, "", problems);
    if (std::optional<std::string> text = problems.text()) return text;
  }
  return std::nullopt;
}

}  // namespace berth
