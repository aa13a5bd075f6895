// SPDX-License-Identifier: Apache-2.0
#include "host/serving/foreign_text.h"

#include "host/objects/json_writer.h"

namespace berth {

std::string foreign_text(std::string_view text) {
  constexpr std::size_t kShownBytes = 200;
  std::string out;
  JsonWriter(out).value(std::string(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? "..." : ""));
  return out;
}

}  // namespace berth
