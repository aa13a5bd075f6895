// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "host/cli/output.h"

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

/// @param spread_depth containers nested less deep than this have one entry a line; 0 writes one line
std::unique_ptr<DocumentWriter> json_writer(Output& output, int spread_depth);
/// Block style; strings that YAML would read as something else are quoted.
std::unique_ptr<DocumentWriter> yaml_writer(Output& output);

}  // namespace berth
