// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/config/scheduler_config.h"

namespace berth {

/// What a body is written in, where the API has both.
enum class BodyFormat : std::uint8_t { kJson, kProtobuf };

/// What a client sends and asks for: docs/scheduler/api.md.
struct ApiFormats {
  BodyFormat bind = BodyFormat::kJson;
  std::string accept;  ///< header Accept of lists and watches
};

/// As clientConnection.contentType and acceptContentTypes say. Types that Berth does not read are not asked for.
/// @throws InputError for a contentType that is neither JSON nor protobuf, and where no accepted type can be read
ApiFormats api_formats(const ClientConnection& connection);

}  // namespace berth
