// SPDX-License-Identifier: Apache-2.0
#include "host/objects/utf8.h"

#include <simdjson.h>

namespace berth {

bool is_utf8(std::string_view text) {
  return simdjson::get_active_implementation()->validate_utf8(text.data(), text.size());
}

}  // namespace berth
