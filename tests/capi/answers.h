// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of berth.h that are expected to succeed, and results as values.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/world.h"

namespace berth::test {

template <class T>
std::vector<T> values_of(const berth_result& result, std::uint32_t id) {
  berth_column column{};
  EXPECT_EQ(berth_result_column(&result, id, &column, nullptr), BERTH_OK) << "column " << id;
  const auto* const data = static_cast<const T*>(column.data);
  return {data, data + column.length};
}

inline std::vector<std::string> texts_of(const berth_result& result, std::uint32_t id) {
  std::vector<std::string> texts;
  for (const std::uint32_t number : values_of<std::uint32_t>(result, id)) {
    berth_str text{};
    EXPECT_EQ(berth_result_text(&result, number, &text, nullptr), BERTH_OK);
    texts.emplace_back(text.data, text.size);
  }
  return texts;
}

inline void upsert(berth_cluster* cluster, const std::string& text) {
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_cluster_upsert(cluster, text.data(), text.size(), &error), BERTH_OK) << error.text;
}

inline OwnedPod pod_of(berth_cluster* cluster, const std::string& text) {
  berth_pod* pod = nullptr;
  EXPECT_EQ(berth_pod_create(cluster, text.data(), text.size(), nullptr, &pod, nullptr), BERTH_OK);
  return OwnedPod(pod);
}

inline OwnedSnapshot snapshot_of(berth_cluster* cluster) {
  berth_snapshot* snapshot = nullptr;
  EXPECT_EQ(berth_snapshot_create(cluster, &snapshot, nullptr), BERTH_OK);
  return OwnedSnapshot(snapshot);
}

inline OwnedFork fork_of(const berth_snapshot* snapshot) {
  berth_fork* fork = nullptr;
  EXPECT_EQ(berth_snapshot_fork(snapshot, &fork, nullptr), BERTH_OK);
  return OwnedFork(fork);
}

inline OwnedFork fork_of(berth_fork* parent) {
  berth_fork* fork = nullptr;
  EXPECT_EQ(berth_fork_fork(parent, &fork, nullptr), BERTH_OK);
  return OwnedFork(fork);
}

inline std::uint32_t node_number(berth_cluster* cluster, const std::string& name) {
  std::uint32_t number = BERTH_NO_NODE;
  EXPECT_EQ(berth_cluster_find_node(cluster, name.c_str(), &number, nullptr), BERTH_OK) << name;
  return number;
}

}  // namespace berth::test
