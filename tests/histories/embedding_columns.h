// SPDX-License-Identifier: Apache-2.0
#pragma once

// Columns of results, copied.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/world.h"

namespace berth::test {

void must(berth_status status, const berth_error* error);

template <class T>
std::vector<T> column(const berth_result& result, std::uint32_t id) {
  berth_column view{};
  must(berth_result_column(&result, id, &view, nullptr), nullptr);
  std::vector<T> values(view.length);
  for (std::size_t i = 0; i < view.length; ++i)
    values[i] = *reinterpret_cast<const T*>(static_cast<const char*>(view.data) + i * view.stride);
  return values;
}

inline std::string text(const berth_result& result, std::uint32_t number) {
  berth_str found{};
  must(berth_result_text(&result, number, &found, nullptr), nullptr);
  return {found.data, found.size};
}

inline std::vector<std::string> texts(const berth_result& result, std::uint32_t id) {
  std::vector<std::string> all;
  for (const std::uint32_t number : column<std::uint32_t>(result, id)) all.push_back(text(result, number));
  return all;
}

inline std::vector<const berth_pod*> pointers(const std::vector<OwnedPod>& pods) {
  std::vector<const berth_pod*> all;
  for (const OwnedPod& pod : pods) all.push_back(pod.get());
  return all;
}

}  // namespace berth::test
