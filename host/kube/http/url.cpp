// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/url.h"

#include <fmt/format.h>

#include <iterator>

namespace berth {

std::string url_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char byte : text) {
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
    if (is_plain) {
      escaped += byte;
    } else {
      fmt::format_to(std::back_inserter(escaped), "%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return escaped;
}

}  // namespace berth
