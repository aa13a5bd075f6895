// SPDX-License-Identifier: Apache-2.0
#include "host/record/field_differences.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "host/objects/errors.h"
#include "host/objects/text/text_reader.h"

namespace berth {
namespace {

constexpr std::size_t kShownBytesMax = 80;

using Leaves = std::map<std::string, std::string>;  ///< [path] value as JSON
using Element = simdjson::dom::element;

std::string_view text_at(const Element& object, std::string_view pointer) {
  std::string_view text;
  return object.at_pointer(pointer).get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// "Pod default/web" of an object, "NodeResourcesFit" of what has a name alone; empty: it has none.
std::string identity_of(const Element& element) {
  if (!element.is_object()) return {};
  if (const std::string_view name = text_at(element, "/metadata/name"); !name.empty()) {
    const std::string_view space = text_at(element, "/metadata/namespace");
    return fmt::format("{} {}{}{}", text_at(element, "/kind"), space, space.empty() ? "" : "/", name);
  }
  return std::string(text_at(element, "/name"));
}

std::string in_brackets(const Element& element, std::size_t place) {
  const std::string identity = identity_of(element);
  return identity.empty() ? fmt::format("[{}]", place) : fmt::format("[{}]", identity);
}

/// @param path  of the element
void add_leaves(const Element& element, const std::string& path, Leaves& leaves) {
  if (element.is_object()) {
    for (const auto field : simdjson::dom::object(element))
      add_leaves(field.value, path + (path.empty() ? "" : ".") + std::string(field.key), leaves);
  } else if (element.is_array()) {
    std::size_t place = 0;
    for (const Element entry : simdjson::dom::array(element))
      add_leaves(entry, path + in_brackets(entry, place++), leaves);
  } else {
    leaves[path] = simdjson::minify(element).substr(0, kShownBytesMax);
  }
}

/// nullopt: too large, or not to be read.
std::optional<Leaves> leaves_of(RecordingReader& reader, const std::string& kind) {
  Leaves leaves;
  std::size_t bytes = 0;
  std::size_t place = 0;
  for (const RecordedInput& input : reader.inputs()) {
    if (input.kind != kind) continue;
    bytes += input.bytes;
    if (bytes > kComparedInputBytesMax) return std::nullopt;
    std::string text;
    for (std::int64_t batch = 0; batch < input.batch_count; ++batch) text += reader.input_batch(input, batch);
    try {
      for (const JsonDocument& document : documents_from_text(text, input.name)) {
        simdjson::dom::parser parser;
        const Element root = parser.parse(document.json);
        const std::string identity = identity_of(root);
        add_leaves(root, identity.empty() && place == 0 ? "" : in_brackets(root, place), leaves);
        ++place;
      }
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const simdjson::simdjson_error&) {
      return std::nullopt;
    }
  }
  return leaves;
}

}  // namespace

FieldDifferences field_differences(RecordingReader& a, RecordingReader& b, const std::string& kind,
                                   std::size_t shown_max) {
  FieldDifferences differences;
  const std::optional<Leaves> in_a = leaves_of(a, kind);
  const std::optional<Leaves> in_b = leaves_of(b, kind);
  if (!in_a || !in_b) return differences;
  std::map<std::string_view, std::pair<std::string_view, std::string_view>> all;
  for (const auto& [path, value] : *in_a) all[path].first = value;
  for (const auto& [path, value] : *in_b) all[path].second = value;
  for (const auto& [path, values] : all) {
    if (values.first == values.second) continue;
    if (differences.count++ < shown_max)
      differences.first.push_back({std::string(path), std::string(values.first), std::string(values.second)});
  }
  return differences;
}

}  // namespace berth
