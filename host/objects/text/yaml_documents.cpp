// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_documents.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace berth {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{64} << 10;
/// A marker and the byte behind it.
constexpr std::size_t kMarkerBytes = 4;

bool is_marker(std::string_view line, std::string_view marker) {
  if (!line.starts_with(marker)) return false;
  return line.size() == marker.size() || std::strchr(" \t\r\n", line[marker.size()]) != nullptr;
}

/// Blank, a comment, or a directive, recognised by the first byte.
bool may_precede_document(char first) { return std::strchr("#%\r\n", first) != nullptr; }

}  // namespace

YamlDocumentCutter::YamlDocumentCutter(ByteStream& yaml, std::uint64_t first_line)
    : yaml_(&yaml), window_(kWindowBytes, '\0'), line_(first_line), first_line_(first_line) {}

bool YamlDocumentCutter::next_document() {
  while (place_ != Place::kDocumentEnd) {
    begin_ = scanned_;
    if (!scan()) place_ = Place::kDocumentEnd;
  }
  begin_ = scanned_;
  if (begin_ == end_ && !fill()) return false;
  place_ = Place::kLineStart;
  has_content_ = false;
  directives_ = 0;
  first_line_ = line_;
  return true;
}

std::size_t YamlDocumentCutter::read(char* out, std::size_t capacity) {
  while (begin_ == scanned_) {
    if (place_ == Place::kDocumentEnd || !scan()) return 0;
  }
  const std::size_t count = std::min(capacity, scanned_ - begin_);
  std::copy_n(window_.data() + begin_, count, out);
  begin_ += count;
  return count;
}

/// Reads on; keeps what was not given out. False at the end of the stream.
bool YamlDocumentCutter::fill() {
  if (stream_ended_) return false;
  std::copy(window_.data() + begin_, window_.data() + end_, window_.data());
  end_ -= begin_;
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t count = yaml_->read(window_.data() + end_, window_.size() - end_);
  end_ += count;
  stream_ended_ = count == 0;
  return count > 0;
}

/// Extends what is known of the document through the window, at least by a byte. False at its end.
bool YamlDocumentCutter::scan() {
  while (scanned_ == begin_ || scanned_ < end_) {
    if (place_ == Place::kDocumentEnd) return scanned_ > begin_;
    // A marker is recognised by four bytes; a line that is not that long yet waits for the next window.
    const std::size_t wanted = place_ == Place::kLineStart ? kMarkerBytes : 1;
    if (end_ - scanned_ < wanted && !stream_ended_) {
      if (scanned_ > begin_) return true;
      fill();
    } else if (scanned_ == end_) {
      place_ = Place::kDocumentEnd;
    } else if (place_ == Place::kLineStart) {
      scan_line_start();
    } else {
      scan_to_line_end();
    }
  }
  return true;
}

void YamlDocumentCutter::scan_to_line_end() {
  const void* line_break = std::memchr(window_.data() + scanned_, '\n', end_ - scanned_);
  if (line_break == nullptr) {
    scanned_ = end_;
    return;
  }
  scanned_ = static_cast<std::size_t>(static_cast<const char*>(line_break) - window_.data()) + 1;
  ++line_;
  place_ = place_ == Place::kLastLine ? Place::kDocumentEnd : Place::kLineStart;
}

void YamlDocumentCutter::scan_line_start() {
  const std::string_view line(window_.data() + scanned_, end_ - scanned_);
  place_ = Place::kWithinLine;
  if (is_marker(line, "---")) {
    if (has_content_) place_ = Place::kDocumentEnd;
    has_content_ = true;
  } else if (is_marker(line, "...")) {
    place_ = Place::kLastLine;
  } else if (!may_precede_document(line.front())) {
    has_content_ = true;
  } else if (line.front() == '%' && !has_content_) {
    ++directives_;
  }
}

}  // namespace berth
