// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_events.h"

#include <new>
#include <utility>

namespace berth {

std::string_view yaml_text(const yaml_char_t* text, std::size_t size) {
  return text == nullptr ? std::string_view{} : std::string_view(reinterpret_cast<const char*>(text), size);
}

std::string_view yaml_text(const yaml_char_t* text) {
  return text == nullptr ? std::string_view{} : std::string_view(reinterpret_cast<const char*>(text));
}

YamlEventSource::YamlEventSource(YamlDocumentCutter& cutter, const TextLimits& limits)
    : cutter_(&cutter), bytes_max_(limits.item_bytes_max), directives_max_(limits.yaml_directives_max) {
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input(&parser_, &YamlEventSource::read_handler, this);
}

void YamlEventSource::next(YamlEvent& out) {
  bytes_since_event_ = 0;
  if (yaml_parser_parse(&parser_, &out.event) != 0) return;
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  throw YamlProblem{cutter_->first_line() + parser_.problem_mark.line, message()};
}

int YamlEventSource::read_handler(void* self, unsigned char* out, std::size_t capacity, std::size_t* count) {
  return static_cast<YamlEventSource*>(self)->read(reinterpret_cast<char*>(out), capacity, *count);
}

/// libyaml is C: nothing may be thrown through it. It would also gather a scalar of any size, and its time grows with
/// the square of the number of directives.
int YamlEventSource::read(char* out, std::size_t capacity, std::size_t& count) {
  try {
    count = cutter_->read(out, capacity);
    bytes_since_event_ += count;
    bytes_read_ += count;
    if (cutter_->directive_count() > directives_max_) {
      throw YamlProblem{cutter_->first_line(),
                        "more than " + std::to_string(directives_max_) + " directives (%) before a document"};
    }
    if (bytes_since_event_ <= bytes_max_) return 1;
    throw YamlProblem{cutter_->first_line() + parser_.mark.line,
                      "scalar or comment is larger than the limit of " + std::to_string(bytes_max_) + " bytes"};
  } catch (...) {
    failure_ = std::current_exception();
    return 0;
  }
}

std::string YamlEventSource::message() const {
  if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  std::string text = "malformed YAML: ";
  if (parser_.context != nullptr) text += std::string(parser_.context) + ", ";
  return text + (parser_.problem != nullptr ? parser_.problem : "unknown error");
}

}  // namespace berth
