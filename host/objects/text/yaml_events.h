// SPDX-License-Identifier: Apache-2.0
// libyaml's events of one document of a stream: what the limits forbid, and what is malformed, is a YamlProblem.
#pragma once

#include <yaml.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "host/objects/text/text_limits.h"
#include "host/objects/text/yaml_documents.h"

namespace berth {

/// A document that cannot be read; becomes an InputError where the source is known.
struct YamlProblem {
  std::uint64_t line;
  std::string message;
};

/// Text of libyaml; empty for a null pointer.
std::string_view yaml_text(const yaml_char_t* text, std::size_t size);
std::string_view yaml_text(const yaml_char_t* text);

class YamlEvent {
 public:
  YamlEvent() = default;
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  ~YamlEvent() { yaml_event_delete(&event); }
  yaml_event_t event = {};
};

/// libyaml on one document of a cutter, which must outlive this object.
class YamlEventSource {
 public:
  YamlEventSource(YamlDocumentCutter& cutter, const TextLimits& limits);
  YamlEventSource(const YamlEventSource&) = delete;
  YamlEventSource& operator=(const YamlEventSource&) = delete;
  ~YamlEventSource() { yaml_parser_delete(&parser_); }

  /// Bytes of the document that were read so far.
  std::size_t bytes_read() const { return bytes_read_; }

  /// @throws YamlProblem; what the cutter throws passes through
  void next(YamlEvent& out);

 private:
  static int read_handler(void* self, unsigned char* out, std::size_t capacity, std::size_t* count);
  int read(char* out, std::size_t capacity, std::size_t& count);
  std::string message() const;

  YamlDocumentCutter* cutter_;
  std::size_t bytes_max_;
  std::size_t directives_max_;
  std::size_t bytes_since_event_ = 0;
  std::size_t bytes_read_ = 0;
  std::exception_ptr failure_;
  yaml_parser_t parser_ = {};
};

}  // namespace berth
