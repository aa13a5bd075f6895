// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// An event of a watch, with its line end.
inline std::string watch_line(std::string_view type, const std::string& object) {
  return R"({"type":")" + std::string(type) + R"(","object":)" + object + "}\n";
}
/// The bookmark behind a list that comes as a stream.
inline std::string end_of_list(int version) {
  return watch_line("BOOKMARK", R"({"metadata":{"resourceVersion":")" + std::to_string(version) +
                                    R"(","annotations":{"k8s.io/initial-events-end":"true"}}})");
}

}  // namespace berth
