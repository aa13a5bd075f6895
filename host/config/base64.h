// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/objects/json_value.h"

namespace berth {

/// Standard alphabet with padding, as Go reads a []byte field; line breaks are skipped. @return nullopt: malformed
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

/// Reads base64 as bytes; a value that is no text or no base64 is a problem, whose message does not show it: it may be
/// a key.
void read_base64(const JsonValue& value, std::string& out);

}  // namespace berth
