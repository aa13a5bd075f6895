// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

/// Writes one document of objects, arrays and scalars without buffering: memory does not grow with
/// the document. Calls must nest as JSON does; key() comes before each value of an object.
class DocumentWriter {
 public:
  virtual ~DocumentWriter() = default;
  virtual void begin_object() = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  virtual void key(std::string_view name) = 0;
  virtual void string(std::string_view value) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void unsigned_integer(std::uint64_t value) = 0;
  virtual void real(double value) = 0;
  virtual void boolean(bool value) = 0;
  /// Closes the document with a line end.
  virtual void end_document() = 0;

  void string_field(std::string_view name, std::string_view value) {
    key(name);
    string(value);
  }
  void integer_field(std::string_view name, std::int64_t value) {
    key(name);
    integer(value);
  }
  void real_field(std::string_view name, double value) {
    key(name);
    real(value);
  }
};

}  // namespace berth
