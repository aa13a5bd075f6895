// SPDX-License-Identifier: Apache-2.0
#include "host/objects/declared_paths.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace berth {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("path \"" + std::string(text) + "\": " + why);
}

/// Cuts the next key off `rest`, which begins behind the keys so far.
std::string take_key(std::string_view text, std::string_view& rest) {
  if (rest.starts_with('[')) {
    const char quote = rest.size() > 1 ? rest[1] : ' ';
    if (quote != '\'' && quote != '"') refuse(text, "expected ['key'] behind \"[\": lists have no path");
    const std::size_t end = rest.find(quote, 2);
    if (end == std::string_view::npos || rest.substr(end + 1, 1) != "]") refuse(text, "a bracket is not closed");
    std::string key(rest.substr(2, end - 2));
    rest.remove_prefix(end + 2);
    return key;
  }
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
  std::string key(rest.substr(0, end));
  rest.remove_prefix(end);
  return key;
}

std::uint32_t add(std::vector<DeclaredPath>& paths, DeclaredPath path) {
  const auto at = std::ranges::find_if(paths, [&](const DeclaredPath& known) { return known.keys == path.keys; });
  const auto number = static_cast<std::uint32_t>(at - paths.begin());
  if (at == paths.end()) paths.push_back(std::move(path));
  return number;
}

}  // namespace

const std::string* find_declared(const DeclaredValues& values, std::uint32_t path) noexcept {
  for (const DeclaredValue& value : values)
    if (value.path == path) return &value.value;
  return nullptr;
}

DeclaredPath parse_declared_path(std::string_view text) {
  DeclaredPath path{std::string(text), {}};
  std::string_view rest = text;
  if (rest.starts_with('.') || rest.starts_with('['))
    refuse(text, "expected metadata, spec or status at its beginning");
  do {
    path.keys.push_back(take_key(text, rest));
    if (path.keys.back().empty()) refuse(text, "a key is empty");
  } while (!rest.empty());
  const std::string& part = path.keys.front();
  if (path.keys.size() < 2 || (part != "metadata" && part != "spec" && part != "status"))
    refuse(text, "expected one below metadata, spec or status");
  return path;
}

std::uint32_t DeclaredPaths::add_of_node(std::string_view text) { return add(of_nodes_, parse_declared_path(text)); }

std::uint32_t DeclaredPaths::add_of_pod(std::string_view text) {
  DeclaredPath path = parse_declared_path(text);
  if (path.keys.front() == "status" || path.keys == std::vector<std::string>{"spec", "nodeName"})
    refuse(text, "it changes as pods are placed, and is not kept");
  return add(of_pods_, std::move(path));
}

}  // namespace berth
