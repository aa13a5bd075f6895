// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace berth::test {

/// A cluster, as text, with amounts below and above the range of exact doubles, up to the largest whose scores do not
/// wrap around. Some pods request more.
inline std::string draw_cluster_of_any_amounts(std::mt19937& dice) {
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(from.begin()[dice() % from.size()]);
  };
  const auto node_memory = [&] {
    return pick({"8Gi", "1", "100", "8796093022207", "8796093022208", "8796093022209", "9007199254740993",
                 "46116860184273880", "92233720368547758"});
  };
  const auto running_memory = [&] {
    return pick({"0", "1", "1Gi", "8796093022207", "8796093022208", "4503599627370497", "92233720368547758"});
  };
  const auto pod_memory = [&] {
    return pick({"0", "1", "1Gi", "99", "8796093022207", "8796093022208", "4503599627370497", "46116860184273879",
                 "92233720368547758", "9223372036854775807"});
  };
  const auto cpu = [&] { return pick({"1m", "3", "250m", "7", "8796093022", "9007199254740", "92233720368547"}); };
  std::string text = "config strategy=" + pick({"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"});
  text += " resources=" + pick({"cpu:1,memory:1", "memory:3", "cpu:2,memory:5,example.com/x:7"});
  text += " balanced=" + pick({"cpu,memory", "cpu,memory,example.com/x", "memory"});
  text += " release=" + pick({"1.35", "1.36"}) + "\nengine seed=" + std::to_string(dice() % 100) + "\n";
  const auto nodes = 1 + dice() % 12;
  for (std::size_t i = 0; i < nodes; ++i) {
    text += "node n" + std::to_string(i) + " cpu=" + cpu() + " memory=" + node_memory() +
            " pods=" + pick({"1", "2", "3", "9", "110"});
    if (dice() % 2 == 0) text += " res:example.com/x=" + pick({"1", "8", "92233720368547758"});
    if (dice() % 5 == 0) text += " unschedulable";
    text += "\n";
    if (dice() % 2 == 0)
      text += "pod r" + std::to_string(i) + " on=n" + std::to_string(i) + " cpu=" + cpu() +
              " memory=" + running_memory() + "\n";
  }
  const auto pods = 1 + dice() % 6;
  for (std::size_t p = 0; p < pods; ++p) {
    text += "pod p" + std::to_string(p);
    if (dice() % 4 != 0) text += " cpu=" + cpu();
    if (dice() % 4 != 0) text += " memory=" + pod_memory();
    if (dice() % 3 == 0) text += " res:example.com/x=" + pick({"1", "3", "46116860184273879"});
    text += "\n";
  }
  return text;
}

}  // namespace berth::test
