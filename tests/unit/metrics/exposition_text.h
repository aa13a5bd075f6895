// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace berth::test {

/// The text is not in Prometheus' format, or says something that contradicts itself.
class ExpositionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ExpositionText {
  /// ["name{label=\"value\",...}"], labels as in the text with values as they are escaped there.
  std::map<std::string, double> values;
  std::map<std::string, std::string> types;
};

/// Strict: a family has its HELP and TYPE once and before its samples, which follow at once; names are allowed ones; no
/// sample comes twice; labels are sorted, except `le`; buckets of a histogram grow in both numbers, end with +Inf and
/// agree with _count.
/// @throws ExpositionError naming the line
ExpositionText parse_exposition(const std::string& text);

/// A label value as it was before it was escaped.
std::string unescaped(const std::string& value);

}  // namespace berth::test
