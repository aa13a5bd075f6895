// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "host/objects/text/byte_source.h"

namespace berth {

/// Cuts a YAML stream before each "---" and behind each "..." that begins a line, so that a document which cannot be
/// read does not take the next one with it. Both are markers at the start of every line, in scalars,
/// too; so nothing has to be parsed. Directives and comments stay with the document that follows them.
class YamlDocumentCutter final : public ByteStream {
 public:
  /// @param yaml        read, not owned
  /// @param first_line  line of the source on which `yaml` begins
  explicit YamlDocumentCutter(ByteStream& yaml, std::uint64_t first_line = 1);

  /// Steps over what is left of this document to the next one. False when the stream has ended. A document may turn
  /// out to be empty.
  bool next_document();
  std::uint64_t first_line() const { return first_line_; }     ///< on which the document begins
  std::size_t directive_count() const { return directives_; }  ///< lines that begin with '%' before the content

  /// Bytes of the document; 0 at its end.
  std::size_t read(char* out, std::size_t capacity) override;

 private:
  enum class Place { kLineStart, kWithinLine, kLastLine, kDocumentEnd };

  bool fill();
  bool scan();
  void scan_line_start();
  void scan_to_line_end();

  ByteStream* yaml_;
  std::string window_;
  std::size_t begin_ = 0;    ///< given out up to here
  std::size_t scanned_ = 0;  ///< known to be of this document up to here
  std::size_t end_ = 0;
  bool stream_ended_ = false;
  Place place_ = Place::kDocumentEnd;
  std::size_t directives_ = 0;
  bool has_content_ = false;  ///< a line that is neither blank, comment nor directive was seen
  std::uint64_t line_;
  std::uint64_t first_line_;
};

}  // namespace berth
