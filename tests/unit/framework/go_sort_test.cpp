// SPDX-License-Identifier: Apache-2.0
#include "host/framework/go_sort.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace berth {
namespace {

/// An order that sort.Slice of Go 1.26 gave to 0, 1, ..., size - 1.
struct Recorded {
  std::uint32_t size;
  int pattern;             ///< of key(); 5: every element is less than every other
  std::uint32_t checksum;  ///< FNV-1a over the elements in their order
};

const std::vector<Recorded> kRecorded = {
    {2, 0, 276207162u},    {2, 1, 276207162u},    {2, 2, 276207162u},     {2, 3, 276207162u},
    {2, 4, 276207162u},    {2, 5, 3950255460u},   {12, 0, 895304301u},    {12, 1, 1246796121u},
    {12, 2, 2086106575u},  {12, 3, 3741997207u},  {12, 4, 4051776465u},   {12, 5, 3142626969u},
    {13, 0, 1620344879u},  {13, 1, 1373724879u},  {13, 2, 2575456889u},   {13, 3, 2977574475u},
    {13, 4, 2016163333u},  {13, 5, 1179256507u},  {20, 0, 1943907157u},   {20, 1, 2017146113u},
    {20, 2, 2606484347u},  {20, 3, 2439125829u},  {20, 4, 515676475u},    {20, 5, 1822227097u},
    {49, 0, 2101205427u},  {49, 1, 527181919u},   {49, 2, 3398772063u},   {49, 3, 4038810321u},
    {49, 4, 286020897u},   {49, 5, 3878532401u},  {50, 0, 1446301184u},   {50, 1, 3846415658u},
    {50, 2, 3262078852u},  {50, 3, 3175767866u},  {50, 4, 1118948762u},   {50, 5, 2929791428u},
    {64, 0, 1802778763u},  {64, 1, 1832519941u},  {64, 2, 764287083u},    {64, 3, 2391854263u},
    {64, 4, 1371000339u},  {64, 5, 1286235047u},  {110, 0, 363787498u},   {110, 1, 2034936198u},
    {110, 2, 2793781456u}, {110, 3, 1915787612u}, {110, 4, 3518757738u},  {110, 5, 2198071742u},
    {500, 0, 4093725785u}, {500, 1, 1694029025u}, {500, 2, 1601336749u},  {500, 3, 3507462889u},
    {500, 4, 3820197153u}, {500, 5, 386666547u},  {3000, 0, 2057015867u}, {3000, 1, 3305376653u},
    {3000, 2, 497033063u}, {3000, 3, 753870371u}, {3000, 4, 913630283u},  {3000, 5, 3436973097u}};

std::uint32_t key(int pattern, std::uint32_t element, std::uint32_t size) {
  switch (pattern) {
    case 0:
      return (element * 2654435761u >> 16) % 3;
    case 1:
      return element / 4;
    case 2:
      return (size - element) / 3;
    case 3:
      return element % 7;
    default:
      return (element * 2654435761u >> 8) % (size + 1);
  }
}

std::uint32_t checksum(const std::vector<std::uint32_t>& elements) {
  std::uint32_t hash = 2166136261u;
  for (const std::uint32_t element : elements) hash = (hash ^ element) * 16777619u;
  return hash;
}

TEST(GoSort, EqualElementsComeInTheOrderThatGoGivesThem) {
  for (const Recorded& recorded : kRecorded) {
    std::vector<std::uint32_t> elements(recorded.size);
    std::iota(elements.begin(), elements.end(), 0u);
    go_sort(std::span(elements), [&](std::uint32_t a, std::uint32_t b) {
      return recorded.pattern == 5 || key(recorded.pattern, a, recorded.size) < key(recorded.pattern, b, recorded.size);
    });
    EXPECT_EQ(checksum(elements), recorded.checksum) << recorded.size << " elements, pattern " << recorded.pattern;
  }
}

}  // namespace
}  // namespace berth
