// SPDX-License-Identifier: Apache-2.0
// A snapshot opens an engine at its first call when a node of the cluster has changed since. Calls with a token and a
// deadline look at these meanwhile.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/cancelled.h"

namespace berth::test {
namespace {

std::uint64_t bytes_of(const berth_snapshot* snapshot) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(berth_snapshot_memory(snapshot, &bytes, nullptr), BERTH_OK);
  return bytes;
}

/// A snapshot that no call was made on, of a cluster with another node object since.
OwnedSnapshot stale_snapshot(const Loaded& of) {
  static int changes = 0;
  OwnedSnapshot snapshot = snapshot_of(of.cluster.get());
  upsert(of.cluster.get(), node_json({.name = "n0", .cpu = 33 + ++changes, .pods = 40}));
  return snapshot;
}

struct SnapshotVerb {
  const char* name;
  std::uint32_t units;  ///< a column with as many entries as elements are answered; 0: the call has one
  std::function<berth_status(const berth_snapshot*, const Stop&, berth_result**)> make;
};

std::vector<SnapshotVerb> snapshot_verbs(const Loaded& of) {
  const auto drain = [&of](std::uint32_t flags) {
    return [&of, flags](const berth_snapshot* snapshot, const Stop& stop, berth_result** result) {
      berth_drain_options options = with(stop, berth_drain_options(BERTH_DRAIN_OPTIONS_INIT));
      options.flags = flags;
      return berth_snapshot_drain(snapshot, of.numbers.data(), 20, &options, result, nullptr);
    };
  };
  const auto ask = [&of](auto* function) {
    return [&of, function](const berth_snapshot* snapshot, const Stop& stop, berth_result** result) {
      const berth_ask_options options = with(stop, berth_ask_options(BERTH_ASK_OPTIONS_INIT));
      return function(snapshot, of.waiting[0], &options, result, nullptr);
    };
  };
  const auto scale_up = [&of](std::uint32_t flags) {
    return [&of, flags](const berth_snapshot* snapshot, const Stop& stop, berth_result** result) {
      berth_scale_up_options options = with(stop, berth_scale_up_options(BERTH_SCALE_UP_OPTIONS_INIT));
      options.flags = flags;
      return berth_snapshot_scale_up(snapshot, of.waiting.data(), 30, of.new_node_list.data(), 5, &options, result,
                                     nullptr);
    };
  };
  return {
      {"check_bulk", BERTH_COLUMN_JUDGED,
       [&of](const berth_snapshot* snapshot, const Stop& stop, berth_result** result) {
         const berth_check_options options = with(stop, berth_check_options(BERTH_CHECK_OPTIONS_INIT));
         return berth_snapshot_check_bulk_until(snapshot, of.waiting.data(), 5, &options, result, nullptr);
       }},
      {"max_replicas", BERTH_COLUMN_COUNT,
       [&of](const berth_snapshot* snapshot, const Stop& stop, berth_result** result) {
         const berth_max_replicas_options options =
             with(stop, berth_max_replicas_options(BERTH_MAX_REPLICAS_OPTIONS_INIT));
         return berth_snapshot_max_replicas(snapshot, of.waiting.data(), 5, &options, result, nullptr);
       }},
      {"scale_up", BERTH_COLUMN_SHAPE, scale_up(0)},
      {"scale_up as moved", BERTH_COLUMN_SHAPE, scale_up(BERTH_AS_MOVED)},
      {"drain", BERTH_COLUMN_NODE, drain(0)},
      {"drain together", BERTH_COLUMN_NODE, drain(BERTH_DRAIN_TOGETHER)},
      {"replace", BERTH_COLUMN_NODE,
       [&of](const berth_snapshot* snapshot, const Stop& stop, berth_result** result) {
         const berth_drain_options options = with(stop, berth_drain_options(BERTH_DRAIN_OPTIONS_INIT));
         return berth_snapshot_replace(snapshot, of.numbers.data(), 5, &options, of.new_node_list.data(), 2, 3, result,
                                       nullptr);
       }},
      {"explain", 0, ask(berth_snapshot_explain_until)},
      {"preempt", 0, ask(berth_snapshot_preempt_until)},
  };
}

/// @return the status, and how many elements are answered
std::pair<berth_status, std::size_t> called(const SnapshotVerb& verb, const berth_snapshot* snapshot,
                                            const Stop& stop) {
  berth_result* result = nullptr;
  const berth_status status = verb.make(snapshot, stop, &result);
  EXPECT_NE(result, nullptr) << verb.name;
  const OwnedResult owned(result);
  if (verb.units == 0 || result == nullptr) return {status, 0};
  berth_column column{};
  EXPECT_EQ(berth_result_column(result, verb.units, &column, nullptr), BERTH_OK) << verb.name;
  return {status, column.length};
}

TEST(CancelSnapshot, ATriggeredTokenStopsTheCallBeforeAnEngineIsOpened) {
  const Loaded of;
  const OwnedCancel cancel = make_cancel();
  berth_cancel_trigger(cancel.get());
  for (const SnapshotVerb& verb : snapshot_verbs(of)) {
    const OwnedSnapshot snapshot = stale_snapshot(of);
    const std::uint64_t closed = bytes_of(snapshot.get());
    EXPECT_EQ(called(verb, snapshot.get(), {.cancel = cancel.get()}),
              std::pair(berth_status{BERTH_CANCELLED}, std::size_t{0}))
        << verb.name;
    EXPECT_EQ(bytes_of(snapshot.get()), closed) << verb.name;
    EXPECT_EQ(called(verb, snapshot.get(), {}).first, BERTH_OK) << verb.name;
    EXPECT_GT(bytes_of(snapshot.get()), 4 * closed) << verb.name;
  }
}

/// The next call opens it, and answers what a snapshot says that was never interrupted.
TEST(CancelSnapshot, AnOpeningEngineIsGivenUp) {
  const Loaded of;
  for (const SnapshotVerb& verb : snapshot_verbs(of)) {
    const OwnedSnapshot untouched = stale_snapshot(of);
    const std::size_t whole = called(verb, untouched.get(), {}).second;
    bool is_closed = false;
    is_cut_somewhere([&](const berth_cancel* cancel) {
      const OwnedSnapshot snapshot = stale_snapshot(of);
      const std::uint64_t closed = bytes_of(snapshot.get());
      const auto [status, count] = called(verb, snapshot.get(), {.cancel = cancel});
      EXPECT_TRUE(status == BERTH_OK || status == BERTH_CANCELLED) << verb.name;
      if (status == BERTH_OK) {
        EXPECT_EQ(count, whole) << verb.name;
      }
      // The token may have come before the call.
      const bool is_given_up = status == BERTH_CANCELLED && bytes_of(snapshot.get()) == closed;
      is_closed = is_closed || is_given_up;
      if (is_given_up) {
        EXPECT_EQ(called(verb, snapshot.get(), {}), std::pair(berth_status{BERTH_OK}, whole)) << verb.name;
      }
      return std::pair(status == BERTH_OK, is_given_up);
    });
    EXPECT_TRUE(is_closed) << verb.name;
  }
}

TEST(CancelSnapshot, ALateCallAnswersWhatItHasToOrNothing) {
  const Loaded of;
  for (const SnapshotVerb& verb : snapshot_verbs(of)) {
    const OwnedSnapshot snapshot = stale_snapshot(of);
    const bool answers_one = verb.units == BERTH_COLUMN_JUDGED || verb.units == BERTH_COLUMN_COUNT;
    const auto [status, count] = called(verb, snapshot.get(), {.deadline_us = 1});
    EXPECT_EQ(status, BERTH_DEADLINE) << verb.name;
    EXPECT_EQ(count >= 1, answers_one) << verb.name;
  }
}

}  // namespace
}  // namespace berth::test
