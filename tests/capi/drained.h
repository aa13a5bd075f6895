// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers of drains as values.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {

constexpr std::uint32_t bit(std::uint32_t rule) { return 1U << rule; }
constexpr std::uint32_t kAllRules = (bit(BERTH_RULE_TOLERATES_TAINT) << 1) - 2;

struct Drained {
  bool is_removable = false;
  int rule = 0;
  std::string blocking;
  std::map<std::string, std::pair<int, std::uint32_t>> pods;  ///< by uid: outcome and target
  std::map<std::string, std::string> messages;
  friend bool operator==(const Drained&, const Drained&) = default;
};

inline void PrintTo(const Drained& drained, std::ostream* out) {
  *out << (drained.is_removable ? "removable" : "held by " + drained.blocking) << " rule " << drained.rule;
  for (const auto& [uid, pod] : drained.pods)
    *out << "; " << uid << " outcome " << pod.first << " to " << static_cast<std::int32_t>(pod.second) << " '"
         << drained.messages.at(uid) << "'";
}

inline std::vector<Drained> read(const berth_result& result) {
  const auto removable = values_of<std::uint8_t>(result, BERTH_COLUMN_REMOVABLE);
  const auto rules = values_of<std::uint8_t>(result, BERTH_COLUMN_RULE);
  const auto blocking = texts_of(result, BERTH_COLUMN_BLOCKING_POD);
  const auto begin = values_of<std::uint32_t>(result, BERTH_COLUMN_POD_BEGIN);
  const auto pods = texts_of(result, BERTH_COLUMN_POD);
  const auto outcomes = values_of<std::uint8_t>(result, BERTH_COLUMN_OUTCOME);
  const auto targets = values_of<std::uint32_t>(result, BERTH_COLUMN_TARGET);
  const auto messages = texts_of(result, BERTH_COLUMN_MESSAGE);
  std::vector<Drained> nodes;
  for (std::size_t n = 0; n < removable.size(); ++n) {
    Drained& node = nodes.emplace_back(Drained{removable[n] != 0, rules[n], blocking[n], {}, {}});
    for (std::uint32_t i = begin[n]; i < begin[n + 1]; ++i) {
      node.pods[pods[i]] = {outcomes[i], targets[i]};
      node.messages[pods[i]] = messages[i];
    }
  }
  return nodes;
}

inline std::vector<Drained> drain(const berth_snapshot* snapshot, const std::vector<std::uint32_t>& nodes,
                                  const berth_drain_options& options) {
  berth_result* result = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_snapshot_drain(snapshot, nodes.data(), nodes.size(), &options, &result, &error), BERTH_OK)
      << error.object << ": " << error.text;
  return result != nullptr ? read(*OwnedResult(result)) : std::vector<Drained>();
}

}  // namespace berth::test
