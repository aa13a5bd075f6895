// SPDX-License-Identifier: Apache-2.0
// Calls that are cancelled or late have answered, or done, an exact prefix: what the same call with as many elements
// answers and does.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/cancelled.h"

namespace berth::test {
namespace {

/// Where the running pods stand in a fork, and what it says of some pods.
std::string state_of(const Loaded& of, berth_fork* fork) {
  berth_result* result = nullptr;
  EXPECT_EQ(berth_fork_check_bulk(fork, of.waiting.data(), 3, nullptr, 0, &result, nullptr), BERTH_OK);
  std::string text = text_of(*OwnedResult(result));
  for (int n = 0; n < kNodes; ++n)
    for (int p = 0; p < kPodsOnNode; ++p) {
      std::uint32_t node = 0;
      const std::string uid = "uid-n" + std::to_string(n) + "-" + std::to_string(p);
      EXPECT_EQ(berth_fork_node_of_pod(fork, uid.c_str(), &node, nullptr), BERTH_OK);
      text += ' ' + std::to_string(node);
    }
  return text;
}

struct Said {
  berth_status status = BERTH_OK;
  std::string text;
  std::size_t count = 0;  ///< elements that are answered
  std::string state;      ///< of the fork afterwards
};
struct Verb {
  const char* name;
  std::size_t total;    ///< elements of the call
  std::uint32_t units;  ///< a column with as many entries as elements are answered
  /// @param count  of the elements, those at the front
  std::function<berth_status(berth_fork*, std::size_t count, const Stop&, berth_result**)> make;
};

berth_drain_options drain_options(const Stop& stop, std::uint32_t flags) {
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.flags = flags;
  options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
  return with(stop, options);
}

/// Verbs whose prefix is what a call with fewer elements says.
std::vector<Verb> verbs(const Loaded& of) {
  const auto schedule = [&of](std::uint32_t choice, std::uint32_t flags) {
    return [&of, choice, flags](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
      berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
      options.choice = choice;
      options.flags = flags;
      options = with(stop, options);
      return berth_fork_schedule(fork, of.waiting.data(), count, &options, result, nullptr);
    };
  };
  const auto max_replicas = [](const std::vector<const berth_pod*>& shapes) {
    return [&shapes](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
      berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
      options.per_node = 1;
      options = with(stop, options);
      return berth_fork_max_replicas(fork, shapes.data(), count, &options, result, nullptr);
    };
  };
  const auto drain = [&of](std::uint32_t flags) {
    return [&of, flags](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
      const berth_drain_options options = drain_options(stop, flags);
      return berth_fork_drain(fork, of.numbers.data(), count, &options, result, nullptr);
    };
  };
  return {
      {"check_bulk", of.waiting.size(), BERTH_COLUMN_JUDGED,
       [&of](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
         const berth_check_options options = with(stop, berth_check_options(BERTH_CHECK_OPTIONS_INIT));
         return berth_fork_check_bulk_until(fork, of.waiting.data(), count, &options, result, nullptr);
       }},
      {"schedule by score", of.waiting.size(), BERTH_COLUMN_FITS, schedule(BERTH_CHOICE_SCORE, 0)},
      {"schedule by score as moved", of.waiting.size(), BERTH_COLUMN_FITS,
       schedule(BERTH_CHOICE_SCORE, BERTH_AS_MOVED)},
      {"schedule by first fit", of.waiting.size(), BERTH_COLUMN_FITS, schedule(BERTH_CHOICE_FIRST_FIT, 0)},
      {"max_replicas", 150, BERTH_COLUMN_COUNT, max_replicas(of.waiting)},
      {"max_replicas of shapes that are placed", of.placed_shapes.size(), BERTH_COLUMN_COUNT,
       max_replicas(of.placed_shapes)},
      {"scale_up", of.new_node_list.size(), BERTH_COLUMN_SHAPE,
       [&of](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
         const berth_scale_up_options options = with(stop, berth_scale_up_options(BERTH_SCALE_UP_OPTIONS_INIT));
         return berth_fork_scale_up(fork, of.waiting.data(), 300, of.new_node_list.data(), count, &options, result,
                                    nullptr);
       }},
      {"drain", of.numbers.size(), BERTH_COLUMN_NODE, drain(0)},
      {"drain by score", of.numbers.size(), BERTH_COLUMN_NODE, drain(BERTH_DRAIN_BY_SCORE)},
      {"replace", of.numbers.size(), BERTH_COLUMN_NODE,
       [&of](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
         const berth_drain_options options = drain_options(stop, 0);
         return berth_fork_replace(fork, of.numbers.data(), count, &options, of.new_node_list.data(), 2, 3, result,
                                   nullptr);
       }},
  };
}

Said said(const Loaded& of, const Verb& verb, std::size_t count, const Stop& stop) {
  const OwnedFork fork = fork_of(of.snapshot.get());
  berth_result* result = nullptr;
  Said said;
  said.status = verb.make(fork.get(), count, stop, &result);
  EXPECT_GE(said.status, BERTH_OK) << verb.name;
  const OwnedResult owned(result);
  if (result == nullptr) return said;
  said.text = text_of(*result);
  berth_column column{};
  EXPECT_EQ(berth_result_column(result, verb.units, &column, nullptr), BERTH_OK);
  said.count = column.length;
  said.state = state_of(of, fork.get());
  return said;
}

void expect_prefix(const Loaded& of, const Verb& verb, const Said& cut) {
  const Said whole = said(of, verb, cut.count, {});
  EXPECT_EQ(whole.status, BERTH_OK) << verb.name;
  EXPECT_EQ(whole.count, cut.count) << verb.name;
  EXPECT_EQ(whole.text == cut.text, true) << verb.name << ", " << cut.count;
  EXPECT_EQ(whole.state == cut.state, true) << verb.name << ", " << cut.count;
}

TEST(Cancel, ATriggeredTokenStopsTheCallBeforeItsFirstElement) {
  const OwnedCancel cancel = make_cancel();
  berth_cancel_trigger(cancel.get());
  for (const Verb& verb : verbs(loaded())) {
    const Said cut = said(loaded(), verb, verb.total, {.cancel = cancel.get()});
    EXPECT_EQ(cut.status, BERTH_CANCELLED) << verb.name;
    EXPECT_EQ(cut.count, 0U) << verb.name;
    expect_prefix(loaded(), verb, cut);
  }
}

std::uint64_t bytes_of(const berth_fork* fork) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(berth_fork_memory(fork, &bytes, nullptr), BERTH_OK);
  return bytes;
}

/// The first call on a fork opens an engine when a node of the cluster has changed since.
TEST(Cancel, ATriggeredTokenStopsTheCallBeforeAnEngineIsOpened) {
  const Loaded of;
  const OwnedCancel cancel = make_cancel();
  berth_cancel_trigger(cancel.get());
  std::vector<Verb> all = verbs(of);
  all.push_back({"schedule_group", 600, BERTH_COLUMN_TRY_KEY,
                 [&of](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
                   const berth_group_options options = with(stop, berth_group_options(BERTH_GROUP_OPTIONS_INIT));
                   return berth_fork_schedule_group(fork, of.waiting.data(), count, &options, result, nullptr);
                 }});
  all.push_back({"drain together", of.numbers.size(), BERTH_COLUMN_NODE,
                 [&of](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
                   const berth_drain_options options = drain_options(stop, BERTH_DRAIN_TOGETHER);
                   return berth_fork_drain(fork, of.numbers.data(), count, &options, result, nullptr);
                 }});
  std::vector<OwnedFork> forks;
  for (std::size_t i = 0; i < all.size(); ++i) forks.push_back(fork_of(of.snapshot.get()));
  upsert(of.cluster.get(), node_json({.name = "n0", .cpu = 33, .pods = 40}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto call = [&](const Stop& stop) {
      berth_result* result = nullptr;
      const berth_status status = all[i].make(forks[i].get(), all[i].total, stop, &result);
      berth_column column{};
      EXPECT_EQ(berth_result_column(result, all[i].units, &column, nullptr), BERTH_OK) << all[i].name;
      berth_result_free(&result);
      return std::pair(status, column.length);
    };
    EXPECT_EQ(call({.cancel = cancel.get()}), std::pair(berth_status{BERTH_CANCELLED}, std::size_t{0})) << all[i].name;
    const std::uint64_t closed = bytes_of(forks[i].get());
    EXPECT_EQ(call({}).first, BERTH_OK) << all[i].name;
    EXPECT_GT(bytes_of(forks[i].get()), 4 * closed) << all[i].name;
  }
}

TEST(Cancel, ATokenThatIsNotTriggeredChangesNothing) {
  const OwnedCancel cancel = make_cancel();
  for (const Verb& verb : verbs(loaded())) {
    const Said whole = said(loaded(), verb, verb.total, {.deadline_us = 3'600'000'000, .cancel = cancel.get()});
    EXPECT_EQ(whole.status, BERTH_OK) << verb.name;
    EXPECT_EQ(whole.count, verb.total) << verb.name;
    expect_prefix(loaded(), verb, whole);
  }
}

TEST(Cancel, CallsOfOtherThreadsAreCutBehindAnExactPrefix) {
  for (const Verb& verb : verbs(loaded()))
    EXPECT_TRUE(is_cut_somewhere([&](const berth_cancel* cancel) {
      const Said cut = said(loaded(), verb, verb.total, {.cancel = cancel});
      EXPECT_EQ(cut.status == BERTH_OK, cut.count == verb.total) << verb.name;
      EXPECT_TRUE(cut.status == BERTH_OK || cut.status == BERTH_CANCELLED) << verb.name;
      if (cut.status != BERTH_OK) expect_prefix(loaded(), verb, cut);
      return std::pair(cut.status == BERTH_OK, cut.status != BERTH_OK && cut.count > 0);
    })) << verb.name;
}

TEST(Cancel, LateCallsAreCutBehindAnExactPrefix) {
  for (const Verb& verb : verbs(loaded())) {
    const Said cut = said(loaded(), verb, verb.total, {.deadline_us = 1});
    EXPECT_EQ(cut.status, BERTH_DEADLINE) << verb.name;
    EXPECT_LT(cut.count, verb.total) << verb.name;
    expect_prefix(loaded(), verb, cut);
  }
}

TEST(Cancel, AGroupIsPlacedWholeOrNot) {
  const Verb verb = {"schedule_group", 600, BERTH_COLUMN_NODE,
                     [](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
                       static const char* const kKeys[] = {"kubernetes.io/hostname", "topology.kubernetes.io/zone"};
                       berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
                       options.domain = BERTH_DOMAIN_PREFERRED;
                       options.keys = kKeys;
                       options.key_count = 2;
                       options = with(stop, options);
                       return berth_fork_schedule_group(fork, loaded().waiting.data(), count, &options, result,
                                                        nullptr);
                     }};
  const std::string before = state_of(loaded(), fork_of(loaded().snapshot.get()).get());
  const std::string whole = said(loaded(), verb, verb.total, {}).state;
  EXPECT_TRUE(whole != before);
  bool is_cut = false;
  is_cut_somewhere([&](const berth_cancel* cancel) {
    const Said cut = said(loaded(), verb, verb.total, {.cancel = cancel});
    is_cut = is_cut || cut.status == BERTH_CANCELLED;
    EXPECT_TRUE(cut.state == (cut.status == BERTH_OK ? whole : before));
    return std::pair(cut.status == BERTH_OK, cut.status == BERTH_CANCELLED);
  });
  EXPECT_TRUE(is_cut);
}

/// Of all columns, the first entries. @return how many nodes
std::size_t expect_first_rows(const berth_result& cut, const berth_result& whole) {
  const auto removable = values_of<std::uint8_t>(cut, BERTH_COLUMN_REMOVABLE);
  const auto begin = values_of<std::uint32_t>(cut, BERTH_COLUMN_POD_BEGIN);
  const auto is_front = [&](const auto& some, const auto& all, std::size_t count) {
    EXPECT_EQ(some.size(), count);
    return some.size() <= all.size() && std::ranges::equal(some, std::span(all).first(some.size()));
  };
  EXPECT_TRUE(is_front(removable, values_of<std::uint8_t>(whole, BERTH_COLUMN_REMOVABLE), begin.size() - 1));
  EXPECT_TRUE(is_front(begin, values_of<std::uint32_t>(whole, BERTH_COLUMN_POD_BEGIN), removable.size() + 1));
  for (const std::uint32_t id : {std::uint32_t{BERTH_COLUMN_POD}, std::uint32_t{BERTH_COLUMN_MESSAGE}})
    EXPECT_TRUE(is_front(texts_of(cut, id), texts_of(whole, id), begin.back()));
  EXPECT_TRUE(is_front(values_of<std::uint32_t>(cut, BERTH_COLUMN_TARGET),
                       values_of<std::uint32_t>(whole, BERTH_COLUMN_TARGET), begin.back()));
  return removable.size();
}

TEST(Cancel, AKeptDrainThatIsCutLeavesTheNodesBehindItAsTheyWere) {
  const Loaded& of = loaded();
  const std::size_t drained = kNodes / 2;
  const auto drain = [&](berth_fork* fork, const berth_cancel* cancel, berth_result** result) {
    const berth_drain_options options = drain_options({.cancel = cancel}, BERTH_DRAIN_TOGETHER | BERTH_DRAIN_KEEP);
    return berth_fork_drain(fork, of.numbers.data(), drained, &options, result, nullptr);
  };
  berth_result* result = nullptr;
  ASSERT_EQ(drain(fork_of(of.snapshot.get()).get(), nullptr, &result), BERTH_OK);
  const OwnedResult whole(result);
  EXPECT_TRUE(is_cut_somewhere([&](const berth_cancel* cancel) {
    const OwnedFork fork = fork_of(of.snapshot.get());
    const berth_status status = drain(fork.get(), cancel, &result);
    const OwnedResult cut(result);
    const std::size_t count = expect_first_rows(*cut, *whole);
    EXPECT_EQ(status, count == drained ? BERTH_OK : BERTH_CANCELLED);
    // Of the nodes in the fork: those of the prefix are cordoned, and their pods are where the answer says.
    EXPECT_EQ(berth_fork_check_bulk(fork.get(), of.waiting.data() + 1, 1, nullptr, 0, &result, nullptr), BERTH_OK);
    const auto refusing = texts_of(*OwnedResult(result), BERTH_COLUMN_PLUGIN);
    const auto begin = values_of<std::uint32_t>(*cut, BERTH_COLUMN_POD_BEGIN);
    const auto pods = texts_of(*cut, BERTH_COLUMN_POD);
    const auto targets = values_of<std::uint32_t>(*cut, BERTH_COLUMN_TARGET);
    const auto removable = values_of<std::uint8_t>(*cut, BERTH_COLUMN_REMOVABLE);
    for (std::size_t n = 0; n < drained; ++n) {
      EXPECT_EQ(refusing[n] == "NodeUnschedulable", n < count) << n;
      for (int p = 0; p < kPodsOnNode; ++p) {
        const std::string uid = "uid-n" + std::to_string(n) + "-" + std::to_string(p);
        const auto at = static_cast<std::size_t>(std::ranges::find(pods, uid) - pods.begin());
        const bool moves = n < count && removable[n] != 0;
        std::uint32_t node = BERTH_NO_NODE;
        EXPECT_EQ(berth_fork_node_of_pod(fork.get(), uid.c_str(), &node, nullptr), BERTH_OK);
        EXPECT_EQ(node, moves ? targets[at] : of.numbers[n]) << uid;
      }
    }
    return std::pair(status == BERTH_OK, status != BERTH_OK && count > 0);
  }));
}

TEST(Cancel, OneReplacementForAllNodesIsFoundOrNot) {
  const Verb verb = {"replace together", kNodes / 2, BERTH_COLUMN_NODE,
                     [](berth_fork* fork, std::size_t count, const Stop& stop, berth_result** result) {
                       const berth_drain_options options = drain_options(stop, BERTH_DRAIN_TOGETHER);
                       return berth_fork_replace(fork, loaded().numbers.data(), count, &options,
                                                 loaded().new_node_list.data(), 2, 3, result, nullptr);
                     }};
  const std::string whole = said(loaded(), verb, verb.total, {}).text;
  bool is_cut = false;
  is_cut_somewhere([&](const berth_cancel* cancel) {
    const Said cut = said(loaded(), verb, verb.total, {.cancel = cancel});
    EXPECT_EQ(cut.count, cut.status == BERTH_OK ? verb.total : 0);
    EXPECT_EQ(cut.text == whole, cut.status == BERTH_OK);
    is_cut = is_cut || cut.status == BERTH_CANCELLED;
    return std::pair(cut.status == BERTH_OK, cut.status == BERTH_CANCELLED);
  });
  EXPECT_TRUE(is_cut);
}

}  // namespace
}  // namespace berth::test
