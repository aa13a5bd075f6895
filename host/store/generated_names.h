// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace berth {

/// Names and uids as the API server makes them, but repeatable: equal seeds give equal texts.
class GeneratedNames {
 public:
  explicit GeneratedNames(std::uint64_t seed) : engine_(seed) {}

  /// `prefix`, at most 58 bytes of it, with five characters of the alphabet that spells no words: apiserver's
  /// pkg/storage/names/generate.go.
  std::string name(std::string_view prefix);
  /// A random UUID (version 4), in lower case.
  std::string uid();

 private:
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }

  std::mt19937_64 engine_;
};

}  // namespace berth
