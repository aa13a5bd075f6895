// SPDX-License-Identifier: Apache-2.0
// YAML in, JSON text out, event by event, as Kubernetes' own reader (sigs.k8s.io/yaml) would have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "host/objects/text/byte_source.h"
#include "host/objects/text/text_limits.h"

namespace berth {

/// The JSON text of the documents of a YAML stream, one after the other, written while the YAML is read.
///
/// - Scalars: see yaml_scalars.h. Keys that are no strings become their text.
/// - Anchors, aliases and merge keys are resolved; TextLimits limits what they add to a document. Own fields win over
///   merged ones wherever the merge key stands; of several merged mappings of one list the first wins.
/// - Line breaks are written so that each JSON token is on the line of its YAML; the text is not formatted otherwise.
/// - Field names that stand twice: see TextLimits::yaml_keys_once.
/// - Refused: nesting beyond yaml_depth_max, more than yaml_directives_max directives, documents that
///   are a lone scalar, unknown aliases.
///   Empty documents are skipped.
class YamlJsonStream final : public ByteStream {
 public:
  /// @param yaml    read, not owned
  /// @param source  number of the file in problems
  YamlJsonStream(ByteStream& yaml, std::string source, const TextLimits& limits, std::uint64_t first_line = 1);
  ~YamlJsonStream() override;

  /// @throws InputError with the line when a document cannot be read, after all that could be converted of it was
  ///         given out. The next call goes on with the next document. Errors of `yaml` itself pass through and end the
  ///         stream.
  std::size_t read(char* out, std::size_t capacity) override;
  /// The line on which the next byte stands.
  std::uint64_t line() const;

 private:
  class Converter;
  std::unique_ptr<Converter> converter_;
};

}  // namespace berth
