// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values that no message may show.

#include <string>

#include "host/objects/json_value.h"

namespace berth {

/// As JsonValue::read(), with a message that does not show the value. @return false where there is a problem
bool read_secret(const JsonValue& value, std::string& out);

/// The same for a bearer token, blanks around it dropped; refuses one that cannot stand in a header.
bool read_token(const JsonValue& value, std::string& out);

/// Drops blanks and line breaks around a token. @return false where it holds a byte that cannot stand in a header
bool trim_token(std::string& token);

}  // namespace berth
