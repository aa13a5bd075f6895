// SPDX-License-Identifier: Apache-2.0
// Explanations, preemption and reservations that are cancelled or late: all of the answer or none.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/cancelled.h"

namespace berth::test {
namespace {

/// More nodes, so that one question takes a while. A pod fits everywhere, and two, one of which runs already, nowhere:
/// they are above the running ones in priority.
struct Asking {
  static constexpr int kNodes = 3000;
  Asking() : cluster(make_cluster("cpu", 1)) {
    std::string nodes = R"({"apiVersion":"v1","kind":"List","items":[)";
    std::string pods = nodes;
    for (int n = 0; n < kNodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      nodes += (n > 0 ? "," : "") + node_json({.name = name, .cpu = 32, .zone = n % 3, .pods = 40});
      for (int p = 0; p < 2; ++p)
        pods += (n + p > 0 ? "," : "") +
                pod_json({.name = name + "-" + std::to_string(p), .milli_cpu = 200, .app = n % 20, .node = name});
    }
    upsert(cluster.get(), nodes + "]}");
    upsert(cluster.get(), pods + "]}");
    const PodShape big = {.name = "big", .milli_cpu = 31900, .app = 400, .priority = 10};
    PodShape moved = big;
    moved.name = "n7-1";
    small = pod_of(cluster.get(), pod_json({.name = "small", .app = 3, .spreads = true}));
    preemptor = pod_of(cluster.get(), pod_json(big));
    running = pod_of(cluster.get(), pod_json(moved));
    snapshot = snapshot_of(cluster.get());
  }
  OwnedCluster cluster;
  OwnedPod small;
  OwnedPod preemptor;
  OwnedPod running;
  OwnedSnapshot snapshot;
};
const Asking& asking() {
  static const Asking the_one;
  return the_one;
}

struct Question {
  const char* name;
  bool has_record;
  std::function<berth_status(const Stop&, berth_result**)> ask;
};

template <class Handle>
using AskUntil = berth_status (*)(Handle, const berth_pod*, const berth_ask_options*, berth_result**, berth_error*);

std::vector<Question> questions() {
  const auto of_snapshot = [](AskUntil<const berth_snapshot*> ask, const OwnedPod& pod, std::uint32_t flags) {
    return [ask, flags, of = pod.get()](const Stop& stop, berth_result** result) {
      berth_ask_options options = with(stop, berth_ask_options(BERTH_ASK_OPTIONS_INIT));
      options.flags = flags;
      return ask(asking().snapshot.get(), of, &options, result, nullptr);
    };
  };
  const auto of_fork = [](AskUntil<berth_fork*> ask, const OwnedPod& pod, std::uint32_t flags) {
    return [ask, flags, of = pod.get()](const Stop& stop, berth_result** result) {
      berth_ask_options options = with(stop, berth_ask_options(BERTH_ASK_OPTIONS_INIT));
      options.flags = flags;
      const OwnedFork fork = fork_of(asking().snapshot.get());
      EXPECT_EQ(berth_fork_add_pod(fork.get(), asking().small.get(), 5, nullptr), BERTH_OK);
      const berth_status status = ask(fork.get(), of, &options, result, nullptr);
      std::uint32_t node = 0;
      EXPECT_EQ(berth_fork_node_of_pod(fork.get(), "uid-small", &node, nullptr), BERTH_OK);
      EXPECT_EQ(node, 5U);
      return status;
    };
  };
  const OwnedPod& big = asking().preemptor;
  const OwnedPod& running = asking().running;
  return {
      {"snapshot_explain", true, of_snapshot(berth_snapshot_explain_until, asking().small, 0)},
      {"snapshot_explain of a pod that fits nowhere", true, of_snapshot(berth_snapshot_explain_until, big, 0)},
      {"snapshot_explain with preemption", true, of_snapshot(berth_snapshot_explain_until, big, BERTH_WITH_PREEMPTION)},
      {"snapshot_preempt", false, of_snapshot(berth_snapshot_preempt_until, big, 0)},
      {"snapshot_preempt as moved", false, of_snapshot(berth_snapshot_preempt_until, running, BERTH_AS_MOVED)},
      {"fork_explain", true, of_fork(berth_fork_explain_until, big, BERTH_WITH_PREEMPTION)},
      {"fork_preempt", false, of_fork(berth_fork_preempt_until, big, 0)},
  };
}

/// The answer as text, with its record.
std::string whole_text(const berth_result* result) {
  std::string text = text_of(*result);
  berth_str part{};
  if (berth_result_json(result, &part, nullptr) == BERTH_OK) text += part.data;
  EXPECT_EQ(berth_result_message(result, &part, nullptr), BERTH_OK);
  return text + part.data;
}

/// Asks, and looks at an answer that was cut. @return the status, and the text of a whole answer
std::pair<berth_status, std::string> asked(const Question& question, const Stop& stop) {
  berth_result* result = nullptr;
  const berth_status status = question.ask(stop, &result);
  EXPECT_GE(status, BERTH_OK) << question.name;
  const OwnedResult owned(result);
  if (result == nullptr || status == BERTH_OK) return {status, result == nullptr ? "" : whole_text(result)};
  berth_str part{};
  if (question.has_record) {
    EXPECT_EQ(berth_result_json(result, &part, nullptr), BERTH_E_NOT_FOUND) << question.name;
    return {status, ""};
  }
  EXPECT_EQ(berth_result_message(result, &part, nullptr), BERTH_OK);
  EXPECT_STREQ(part.data, berth_status_text(status)) << question.name;
  EXPECT_TRUE(values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).empty()) << question.name;
  EXPECT_TRUE(values_of<std::uint32_t>(*result, BERTH_COLUMN_VICTIM).empty()) << question.name;
  EXPECT_TRUE(values_of<std::uint8_t>(*result, BERTH_COLUMN_BEST).empty()) << question.name;
  EXPECT_TRUE(values_of<std::int32_t>(*result, BERTH_COLUMN_VIOLATIONS).empty()) << question.name;
  EXPECT_EQ(values_of<std::uint32_t>(*result, BERTH_COLUMN_VICTIM_BEGIN), std::vector<std::uint32_t>{0})
      << question.name;
  return {status, ""};
}

TEST(CancelledQuestion, HasNoAnswerWhereTheTokenWasTriggeredOrTheDeadlineHasPassed) {
  const OwnedCancel cancel = make_cancel();
  berth_cancel_trigger(cancel.get());
  for (const Question& question : questions()) {
    EXPECT_EQ(asked(question, {.cancel = cancel.get()}).first, BERTH_CANCELLED) << question.name;
    EXPECT_EQ(asked(question, {.deadline_us = 1}).first, BERTH_DEADLINE) << question.name;
  }
}

TEST(CancelledQuestion, IsAnsweredAsBeforeWhereNothingStopsIt) {
  const OwnedCancel cancel = make_cancel();
  for (const Question& question : questions()) {
    const auto [status, text] = asked(question, {});
    EXPECT_EQ(status, BERTH_OK) << question.name;
    EXPECT_TRUE(!text.empty()) << question.name;
    EXPECT_EQ(asked(question, {.deadline_us = 3'600'000'000, .cancel = cancel.get()}),
              std::pair(berth_status{BERTH_OK}, text))
        << question.name;
  }
}

TEST(CancelledQuestion, IsAnsweredWholeOrNotAtAll) {
  for (const Question& question : questions()) {
    const std::string whole = asked(question, {}).second;
    EXPECT_TRUE(is_cut_somewhere([&](const berth_cancel* cancel) {
      const auto [status, text] = asked(question, {.cancel = cancel});
      EXPECT_TRUE(status == BERTH_CANCELLED || text == whole) << question.name;
      return std::pair(status == BERTH_OK, status == BERTH_CANCELLED);
    })) << question.name;
    EXPECT_EQ(asked(question, {}).second, whole) << question.name;
  }
}

/// Calls on a fork whose cluster's nodes have changed since it was opened, so that it has to open an engine.
TEST(CancelledOpening, LeavesAForkThatAnswersAsBefore) {
  Asking of;
  std::vector<OwnedFork> forks;
  for (int i = 0; i < 400; ++i) forks.push_back(fork_of(of.snapshot.get()));
  upsert(of.cluster.get(), node_json({.name = "n5", .cpu = 32, .zone = 0, .pods = 40}));
  const berth_pod* const pods[] = {of.small.get(), of.preemptor.get()};
  using Call = std::function<berth_status(berth_fork*, const berth_cancel*, berth_result**)>;
  const auto schedule = [&](std::uint32_t choice) {
    return [&pods, choice](berth_fork* fork, const berth_cancel* cancel, berth_result** result) {
      berth_schedule_options options = with({.cancel = cancel}, berth_schedule_options(BERTH_SCHEDULE_OPTIONS_INIT));
      options.choice = choice;
      return berth_fork_schedule(fork, pods, 2, &options, result, nullptr);
    };
  };
  const std::vector<Call> calls = {
      schedule(BERTH_CHOICE_SCORE), schedule(BERTH_CHOICE_FIRST_FIT),
      [&](berth_fork* fork, const berth_cancel* cancel, berth_result** result) {
        const auto options = with({.cancel = cancel}, berth_check_options(BERTH_CHECK_OPTIONS_INIT));
        return berth_fork_check_bulk_until(fork, pods, 2, &options, result, nullptr);
      },
      [&](berth_fork* fork, const berth_cancel* cancel, berth_result** result) {
        const auto options = with({.cancel = cancel}, berth_max_replicas_options(BERTH_MAX_REPLICAS_OPTIONS_INIT));
        return berth_fork_max_replicas(fork, pods, 2, &options, result, nullptr);
      }};
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const auto text = [&](berth_fork* fork) {
      berth_result* result = nullptr;
      EXPECT_EQ(calls[c](fork, nullptr, &result), BERTH_OK) << c;
      return text_of(*OwnedResult(result));
    };
    const std::string whole = text(fork_of(of.snapshot.get()).get());
    bool is_cut = false;
    std::size_t next = c * forks.size() / calls.size();
    is_cut_somewhere([&](const berth_cancel* cancel) {
      const OwnedFork fork = std::move(forks[next++]);
      if (next == (c + 1) * forks.size() / calls.size()) return std::pair(true, true);
      berth_result* result = nullptr;
      const berth_status status = calls[c](fork.get(), cancel, &result);
      const OwnedResult owned(result);
      is_cut = is_cut || status == BERTH_CANCELLED;
      EXPECT_TRUE(status == BERTH_OK || status == BERTH_CANCELLED) << c;
      const bool is_empty = values_of<std::uint8_t>(*result, BERTH_COLUMN_JUDGED).empty();
      EXPECT_EQ(is_empty ? text(fork.get()) : whole, whole) << c;
      return std::pair(status == BERTH_OK, status == BERTH_CANCELLED);
    });
    EXPECT_TRUE(is_cut) << c;
  }
}

TEST(CancelledReservation, KeepsAllCopiesOrNone) {
  const OwnedCluster cluster = make_cluster("cpu", 1);
  for (int n = 0; n < 30; ++n)
    upsert(cluster.get(), node_json({.name = "n" + std::to_string(n), .cpu = 32, .zone = n % 3, .pods = 100}));
  const OwnedPod pod =
      pod_of(cluster.get(), pod_json({.name = "p", .milli_cpu = 10, .spreads = true, .memory_mib = 1}));
  constexpr std::size_t kCopies = 2000;
  const auto reserve = [&](const Stop& stop) {
    const berth_reserve_options options = with(stop, berth_reserve_options(BERTH_RESERVE_OPTIONS_INIT));
    berth_result* result = nullptr;
    const berth_status status =
        berth_cluster_reserve(cluster.get(), "team", pod.get(), kCopies, &options, &result, nullptr);
    const OwnedResult owned(result);
    const auto fits = values_of<std::uint8_t>(*result, BERTH_COLUMN_FITS);
    EXPECT_EQ(fits, std::vector<std::uint8_t>(status == BERTH_OK ? kCopies : fits.size(), status == BERTH_OK ? 1 : 0));
    EXPECT_LE(fits.size(), kCopies);
    std::size_t removed = 0;
    EXPECT_EQ(berth_cluster_unreserve(cluster.get(), "team", nullptr, &removed, nullptr),
              status == BERTH_OK ? BERTH_OK : BERTH_E_NOT_FOUND);
    EXPECT_EQ(removed, status == BERTH_OK ? kCopies : 0U);
    return std::pair(status, fits.size());
  };
  EXPECT_EQ(reserve({.deadline_us = 1}), std::pair(berth_status{BERTH_DEADLINE}, std::size_t{0}));
  EXPECT_TRUE(is_cut_somewhere([&](const berth_cancel* cancel) {
    const auto [status, tried] = reserve({.cancel = cancel});
    EXPECT_TRUE(status == BERTH_OK || status == BERTH_CANCELLED);
    return std::pair(status == BERTH_OK, status == BERTH_CANCELLED && tried > 0);
  }));
}

}  // namespace
}  // namespace berth::test
