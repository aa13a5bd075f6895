// SPDX-License-Identifier: Apache-2.0
// What a YAML scalar means to Kubernetes: the rules of sigs.k8s.io/yaml, which reads YAML 1.1 and then writes JSON.
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// A scalar after its type was found.
struct YamlScalar {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString };
  Kind kind = Kind::kString;
  std::string literal;  ///< JSON text of a boolean or a number; empty for null and strings
  double number = 0;    ///< of a float
};

/// Finds the type of a scalar.
///
/// Plain ones: empty, ~, null -> null; y, yes, on, true, n, no, off, false -> boolean; integers in decimal, 0x, 0o, 0b
/// and with a leading 0 (octal), with _ anywhere; what is beyond 64 bits, has a point or an exponent -> float; .inf and
/// .nan -> float. Everything else, timestamps included, and all quoted scalars without a tag -> string.
/// @param tag    "" or the full tag ("tag:yaml.org,2002:int"); tags that are not YAML's own leave a string
/// @param plain  neither quoted nor a block scalar
/// @throws std::invalid_argument when the text is nothing of the tag's type, or the tag is !!binary.
YamlScalar resolve_yaml_scalar(std::string_view tag, std::string_view value, bool plain);

/// True for the merge key `<<`.
bool is_yaml_merge_key(std::string_view tag, std::string_view value, bool plain);

/// The field name that a scalar makes as a key: "true", decimal digits, the shortest form of a float.
/// @throws std::invalid_argument for null, which can be no key.
std::string yaml_key_text(const YamlScalar& scalar, std::string_view value);

/// Appends `text` in quotes, with what JSON demands escaped.
void append_json_string(std::string& out, std::string_view text);

/// Appends the scalar as JSON. @throws std::invalid_argument for infinities and NaN, which JSON cannot hold.
void append_json_scalar(std::string& out, const YamlScalar& scalar, std::string_view value);

}  // namespace berth
