// SPDX-License-Identifier: Apache-2.0
#include "host/store/generated_names.h"

namespace berth {
namespace {

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kSuffixLength = 5;
constexpr std::size_t kNameLengthMax = 63;

}  // namespace

std::string GeneratedNames::name(std::string_view prefix) {
  std::string name(prefix.substr(0, kNameLengthMax - kSuffixLength));
  for (std::size_t i = 0; i < kSuffixLength; ++i) name += kAlphabet[below(kAlphabet.size())];
  return name;
}

std::string GeneratedNames::uid() {
  std::string uid = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
  for (char& letter : uid) {
    if (letter == 'x') letter = "0123456789abcdef"[below(16)];
    if (letter == 'y') letter = "89ab"[below(4)];
  }
  return uid;
}

}  // namespace berth
