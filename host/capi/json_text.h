// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/objects/document_writer.h"
#include "host/objects/json_writer.h"

namespace berth::capi {

/// A document as JSON in memory, on one line.
class JsonText : public DocumentWriter {
 public:
  explicit JsonText(std::string& out) : writer_(out) {}
  void begin_object() override { writer_.open('{'); }
  void end_object() override { writer_.close('}'); }
  void begin_array() override { writer_.open('['); }
  void end_array() override { writer_.close(']'); }
  void key(std::string_view name) override { writer_.key(name); }
  void string(std::string_view value) override { writer_.value(value); }
  void integer(std::int64_t value) override { writer_.value(value); }
  void unsigned_integer(std::uint64_t value) override { writer_.value(value); }
  void real(double value) override { writer_.value(value); }
  void boolean(bool value) override { writer_.value(value); }
  void end_document() override {}

 private:
  JsonWriter writer_;
};

}  // namespace berth::capi
