// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "include/berth/berth.h"

namespace berth::capi {

/// A failure that a caller of the C API is told of.
class ApiError : public std::runtime_error {
 public:
  ApiError(berth_status code, std::string object, const std::string& text)
      : std::runtime_error(text), code_(code), object_(std::move(object)) {}
  berth_status code() const { return code_; }
  const std::string& object() const { return object_; }

 private:
  berth_status code_;
  std::string object_;
};

/// @throws ApiError BERTH_E_ARGUMENT when `pointer` is null
template <class T>
T& needed(T* pointer, const char* argument) {
  if (pointer == nullptr) throw ApiError(BERTH_E_ARGUMENT, argument, "is NULL");
  return *pointer;
}

/// The text of an argument of `size` bytes; null is allowed where it is empty.
inline std::string_view text_of(const char* text, std::size_t size, const char* argument) {
  if (size == 0) return {};
  return {&needed(text, argument), size};
}

}  // namespace berth::capi
