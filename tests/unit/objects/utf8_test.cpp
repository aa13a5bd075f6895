// SPDX-License-Identifier: Apache-2.0
#include "host/objects/utf8.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace berth {
namespace {

TEST(IsUtf8, FindsOneBadByteWhereverItIs) {
  for (std::size_t size = 0; size < 140; ++size) {
    const std::string text(size, 'a');
    EXPECT_TRUE(is_utf8(text));
    for (std::size_t at = 0; at < size; ++at) {
      std::string bad = text;
      bad[at] = '\xff';
      EXPECT_FALSE(is_utf8(bad)) << size << " bytes, bad at " << at;
      bad[at] = '\x80';
      EXPECT_FALSE(is_utf8(bad)) << size << " bytes, bad at " << at;
    }
  }
}

TEST(IsUtf8, TakesCharactersOfSeveralBytesAndNoPartOfOne) {
  const std::string whole = "caf\xc3\xa9 \xe6\x9d\xb1 \xf0\x9f\x9a\xa2";
  EXPECT_TRUE(is_utf8(whole));
  EXPECT_TRUE(is_utf8(std::string("\0", 1)));
  for (const std::size_t cut : {4u, 7u, 8u, 11u, 12u, 13u}) EXPECT_FALSE(is_utf8(whole.substr(0, cut))) << cut;
  EXPECT_FALSE(is_utf8("\xc0\xaf")) << "an overlong form";
  EXPECT_FALSE(is_utf8("\xed\xa0\x80")) << "half of a surrogate pair";
}

}  // namespace
}  // namespace berth
