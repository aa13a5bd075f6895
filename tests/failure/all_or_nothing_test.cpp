// SPDX-License-Identifier: Apache-2.0
// Memory runs out at each allocation of each call, on each backend: afterwards the engine answers as one on which the
// call was never made, and takes the same call again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/failure/failing_allocations.h"
#include "tests/failure/session.h"
#include "tests/support/evaluated.h"

namespace berth {
namespace {

using test::Engine;
using test::FailingAllocation;
using test::Failure;
using test::Session;

/// A call, made ready without failures. @return the call alone
using MakeCall = std::function<std::function<void()>(Session&)>;

struct Call {
  std::string name;
  MakeCall make;
  bool commits = true;  ///< answers may commit: they make promote() of a fork that is open refuse
};

/// Placed before others that stand, and after one.
PodPtr pod_in_the_middle(const Session& session) {
  const std::vector<PodToPlace> standing = session.standing();
  EXPECT_GE(standing.size(), 3U) << "the session has no pod in the middle";
  return standing[standing.size() / 2].pod;
}

std::function<void()> calls_as_one(Session& s, Fork& fork) {
  return [&s, &fork, node = s.any_node(), victim = pod_in_the_middle(s)] {
    fork.as_one([&] {
      fork.place(s.prepared.back(), node);
      fork.apply(std::vector<ClusterChange>{PodRemoval{victim->uid()}});
      fork.commit_batch(std::span(s.prepared).last(2).first(1), {});
    });
  };
}

/// @param host_plugins  batches stop where answers of such plugins are stale, and a call that failed makes others stale
std::vector<Call> engine_calls(bool host_plugins) {
  std::vector<Call> calls = {
      {"compile", [](Session& s) { return [&s] { s.backend->compile(s.unknown); }; }},
      {"prepare", [](Session& s) { return [&s] { s.backend->prepare(s.unknown); }; }},
      {"commit_with_refills", [](Session& s) { return [&s] { commit_with_refills(s.compiled, {}, *s.backend); }; }},
      {"place", [](Session& s) { return [&s, node = s.any_node()] { s.backend->place(s.compiled.front(), node); }; }},
      {"place without a node", [](Session& s) { return [&s] { s.backend->place(s.compiled.front(), ""); }; }},
      {"rollback", [](Session& s) { return [&s] { s.backend->rollback(s.middle); }; }},
      {"undo of the newest placement",
       [](Session& s) { return [&s, pod = s.standing().back().pod] { EXPECT_TRUE(s.backend->undo(*pod)); }; }},
      {"undo in the middle",
       [](Session& s) { return [&s, pod = pod_in_the_middle(s)] { EXPECT_TRUE(s.backend->undo(*pod)); }; }},
      {"undo of a placement whose pod is nominated again",
       [](Session& s) {
         return [&s, pod = pod_in_the_middle(s), nomination = NominationUpsert{pod_in_the_middle(s), s.any_node()}] {
           EXPECT_TRUE(s.backend->undo(*pod, &nomination));
         };
       }},
      {"undo of a pod that is not placed",
       [](Session& s) { return [&s] { EXPECT_FALSE(s.backend->undo(*s.prepared.front().pod)); }; }},
      {"volume_decisions",
       [](Session& s) { return [&s, pod = pod_in_the_middle(s)] { s.backend->volume_decisions(*pod); }; }},
      {"as_one",
       [](Session& s) {
         return [&s, node = s.any_node(), pod = pod_in_the_middle(s)] {
           s.backend->as_one([&] {
             commit_with_refills(s.compiled, {}, *s.backend);
             s.backend->volume_decisions(*s.compiled.front().pod);
             s.backend->undo(*pod);
             s.backend->place(s.prepared.front(), node);
           });
         };
       }},
      {"settle", [](Session& s) { return [&s] { s.backend->settle(); }; }},
      {"release", [](Session& s) { return [&s] { s.backend->release(s.placed); }; }},
      {"refill", [](Session& s) { return [&s] { s.backend->refill(s.compiled); }; }},
      {"evaluate", [](Session& s) { return [&s] { s.backend->evaluate(s.prepared.front()); }; }},
      {"evaluate of a pod never seen",
       [](Session& s) { return [&s] { test::evaluated(s.unknown.front(), *s.backend); }; }},
      {"probe", [](Session& s) { return [&s, node = s.any_node()] { s.backend->probe(s.prepared.front(), node); }; }},
      {"verdicts", [](Session& s) { return [&s] { s.backend->verdicts(s.prepared.front()); }; }},
      {"verdicts_on",
       [](Session& s) {
         return [&s] {
           const NodeIndex node{0};
           s.backend->verdicts_on(s.prepared.front(), {&node, 1});
         };
       }},
      {"answer_changes",
       [](Session& s) {
         return [&s] {
           AnswerBasis basis;
           s.backend->answer_changes(s.prepared.front(), basis);
           s.backend->answer_changes(s.prepared.front(), basis);
         };
       }},
      {"dry_run", [](Session& s) { return [&s] { s.dry_run(); }; }},
      {"statuses_without_victims", [](Session& s) { return [&s] { s.statuses_without_victims(); }; }},
      {"try_forks",
       [](Session& s) {
         return [&s] {
           const std::vector<std::span<const PodToPlace>> lists = {s.compiled, s.prepared, s.compiled};
           s.backend->try_forks(lists, {});
         };
       }},
      {"fork", [](Session& s) { return [&s] { s.opened = s.backend->fork(); }; }},
  };
  if (host_plugins) return calls;
  calls.push_back({"commit_batch that ranks nodes", [](Session& s) {
                     return [&s] { s.backend->commit_batch(std::span(s.compiled).first(1), {.ranks_nodes = true}); };
                   }});
  calls.push_back({"commit_batch", [](Session& s) { return [&s] { s.backend->commit_batch(s.compiled, {}); }; }});
  calls.push_back(
      {"commit_batch of prepared pods", [](Session& s) { return [&s] { s.backend->commit_batch(s.prepared, {}); }; }});
  return calls;
}

std::vector<Call> fork_calls() {
  return {
      {"Fork::commit_batch",
       [](Session& s) { return [&s] { s.fork->commit_batch(std::span(s.prepared).last(2), {}); }; }},
      {"Fork::commit_batch of a fork of a fork",
       [](Session& s) { return [&s] { s.child->commit_batch(std::span(s.prepared).last(2), {}); }; }},
      {"Fork::place", [](Session& s) { return [&s, node = s.any_node()] { s.fork->place(s.prepared.back(), node); }; }},
      {"Fork::evaluate", [](Session& s) { return [&s] { s.fork->evaluate(s.prepared.front()); }; }},
      {"Fork::evaluate of a fork of a fork",
       [](Session& s) { return [&s] { s.child->evaluate(s.prepared.front()); }; }},
      {"Fork::as_one", [](Session& s) { return calls_as_one(s, *s.fork); }},
      {"Fork::as_one of a fork of a fork", [](Session& s) { return calls_as_one(s, *s.child); }},
      {"Fork::fork", [](Session& s) { return [&s] { s.opened = s.fork->fork(); }; }},
      {"Fork::promote", [](Session& s) { return [&s] { EXPECT_TRUE(s.promotable->promote()); }; }, false},
      {"Fork::promote to a fork",
       [](Session& s) {
         return [&s] {
           EXPECT_TRUE(s.child->promote());
           s.child.reset();  // it takes no calls any more
         };
       },
       false},
  };
}

/// Of apply() with each kind of change, and with several.
std::vector<Call> changes_of(Engine engine, std::uint64_t seed, bool host_plugins) {
  std::vector<Call> calls;
  Session session(engine, seed, host_plugins);
  const std::vector<std::vector<ClusterChange>> lists = session.changes();
  for (std::size_t k = 0; k < lists.size(); ++k)
    calls.push_back(
        {"apply " + std::to_string(lists[k].size()) + " of kind " + std::to_string(lists[k].front().index()),
         [list = lists[k]](Session& s) { return [&s, list] { s.backend->apply(list); }; }});
  const std::vector<std::vector<ClusterChange>> of_forks = session.fork_changes();
  for (std::size_t k = 0; k < of_forks.size(); ++k)
    for (const bool child : {false, true})
      calls.push_back({(child ? "Fork::apply of a fork of a fork, list " : "Fork::apply, list ") + std::to_string(k),
                       [list = of_forks[k], child](Session& s) {
                         return [&s, list, child] { (child ? s.child : s.fork)->apply(list); };
                       }});
  return calls;
}

/// Runs the call when the n-th allocation fails. @return whether it was made
bool make_with_failure(const std::function<void()>& call, std::int64_t n, Failure failure, bool& has_failed) {
  bool is_made = false;
  bool ran_out = false;
  {
    const FailingAllocation failing(n, failure);
    try {
      call();
      is_made = true;
    } catch (const std::bad_alloc&) {
      ran_out = true;
    }
    has_failed = failing.has_failed();
  }
  EXPECT_TRUE(is_made || ran_out);
  EXPECT_TRUE(is_made || has_failed);
  return is_made;
}

/// A call whose memory runs out while the engine brings its derived state up again.
void fail_once_more(Session& session, std::int64_t n) {
  if (session.unknown.empty()) return;
  bool has_failed = false;
  make_with_failure([&] { test::evaluated(session.unknown.back(), *session.backend); }, n, Failure::kAllBehind,
                    has_failed);
}

std::string first_difference(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
    if (expected[i] != actual[i]) return "\n  expected: " + expected[i] + "\n  actual:   " + actual[i];
  return expected.size() == actual.size() ? std::string() : "\n  another number of answers";
}

/// BERTH_FAILURES: "all" for each allocation, which takes minutes; "few" for sanitizers, which make exceptions slow.
std::string_view setting() {
  static const char* const kSetting = std::getenv("BERTH_FAILURES");
  return kSetting != nullptr ? kSetting : "";
}

std::int64_t next_of(std::int64_t n) {
  if (setting() == "all") return n + 1;
  if (setting() == "few") return 4 * n;
  return n + 1 + (n > 12 ? n / 3 : 0);
}

/// In turn, where there are few.
std::vector<Failure> failures_of(std::size_t round) {
  if (setting() != "few") return {Failure::kOnce, Failure::kAllBehind};
  return {round % 2 == 0 ? Failure::kAllBehind : Failure::kOnce};
}

struct Parameters {
  Engine engine;
  bool host_plugins;
  friend void PrintTo(const Parameters& p, std::ostream* out) {
    *out << static_cast<int>(p.engine) << (p.host_plugins ? " with host plugins" : "");
  }
};

class AllOrNothing : public testing::TestWithParam<Parameters> {
 protected:
  std::unique_ptr<Session> open() const {
    return std::make_unique<Session>(GetParam().engine, seed_, GetParam().host_plugins);
  }

  void check(const Call& call) {
    const std::vector<std::string> before = open()->answers(call.commits);
    const std::unique_ptr<Session> twin = open();
    call.make (*twin)();
    const std::vector<std::string> after = twin->answers(call.commits);
    bool has_failed = true;
    std::size_t round = 0;
    for (std::int64_t n = 1; has_failed; n = next_of(n))
      for (const Failure failure : failures_of(round++)) {
        const std::unique_ptr<Session> session = open();
        const std::function<void()> made = call.make(*session);
        const std::string where = call.name + ", allocation " + std::to_string(n) +
                                  (failure == Failure::kOnce ? "" : " and all behind it") + ", seed " +
                                  std::to_string(seed_);
        ++failures_;
        if (!make_with_failure(made, n, failure, has_failed)) {
          if (n % 3 == 0) fail_once_more(*session, 1 + n % 50);
          EXPECT_EQ(first_difference(before, session->answers(call.commits)), "") << "not made: " << where;
          made();
        }
        EXPECT_EQ(first_difference(after, session->answers(call.commits)), "") << "made: " << where;
        if (HasFailure()) return;
      }
  }

  void check(const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      check(call);
      if (HasFailure()) return;
    }
    RecordProperty("failures", std::to_string(failures_));
  }

  std::uint64_t seed_ = test::small_case(1, GetParam().host_plugins);
  std::int64_t failures_ = 0;
};

TEST_P(AllOrNothing, CallsOfAnEngine) { check(engine_calls(GetParam().host_plugins)); }

TEST_P(AllOrNothing, CallsOfForks) { check(fork_calls()); }

TEST_P(AllOrNothing, ChangesOfTheCluster) { check(changes_of(GetParam().engine, seed_, GetParam().host_plugins)); }

/// Forks outlive their engine where no memory is left for a copy of what they read.
TEST_P(AllOrNothing, AnEngineGoesWithoutMemory) {
  const std::unique_ptr<Session> twin = open();
  twin->backend.reset();
  const Evaluation expected = twin->fork->evaluate(twin->prepared.front());
  const std::unique_ptr<Session> session = open();
  {
    const FailingAllocation failing(1, Failure::kAllBehind);
    session->backend.reset();
  }
  const Evaluation actual = session->fork->evaluate(session->prepared.front());
  ASSERT_EQ(expected.nodes.size(), actual.nodes.size());
  for (std::size_t i = 0; i < expected.nodes.size(); ++i) {
    EXPECT_EQ(expected.nodes[i].feasible, actual.nodes[i].feasible);
    EXPECT_EQ(expected.nodes[i].total, actual.nodes[i].total);
    EXPECT_EQ(twin->fork->node_name(expected.nodes[i].node), session->fork->node_name(actual.nodes[i].node));
  }
}

/// The first const call opens an engine again of which memory has run out, and the others read it meanwhile.
/// ThreadSanitizer finds what goes away under them.
TEST_P(AllOrNothing, ConstCallsRunInParallelWhereOneOpensTheEngineAgain) {
  std::int64_t opened_again = 0;
  for (std::int64_t n = 1; n < 2000; n *= 3) {
    const std::unique_ptr<Session> session = open();
    Backend& backend = *session->backend;
    bool has_failed = false;
    make_with_failure([&] { backend.prepare(session->unknown); }, n, Failure::kAllBehind, has_failed);
    opened_again += backend.stats().class_count == 0 ? 1 : 0;  // which is not counted where it is gone
    const CommitMark mark = backend.mark();
    std::vector<std::string> names;
    for (std::int32_t slot = 0; slot < backend.slot_count(); ++slot) names.emplace_back(backend.node_name({slot}));
    std::latch begin(4);
    const auto look = [&] {
      begin.arrive_and_wait();
      for (int looks = 0; looks < 100; ++looks) {
        EXPECT_EQ(backend.mark().position, mark.position);
        ASSERT_EQ(backend.slot_count(), static_cast<std::int32_t>(names.size()));
        for (std::size_t slot = 0; slot < names.size(); ++slot)
          EXPECT_EQ(backend.node_name({static_cast<std::int32_t>(slot)}), names[slot]);
        EXPECT_GE(backend.stats().dry_runs, 0);
      }
    };
    const auto ask = [&] {
      begin.arrive_and_wait();
      backend.verdicts(session->prepared.front());
    };
    std::vector<std::thread> threads;
    for (const std::function<void()>& calls : {std::function<void()>(look), std::function<void()>(ask)})
      for (int i = 0; i < 2; ++i) threads.emplace_back(calls);
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_TRUE(opened_again > 0 || GetParam().engine == Engine::kReference);
}

std::string name_of(const testing::TestParamInfo<Parameters>& info) {
  const char* const engines[] = {"Reference", "Cpu", "Device"};
  return engines[static_cast<int>(info.param.engine)] + std::string(info.param.host_plugins ? "WithHostPlugins" : "");
}

INSTANTIATE_TEST_SUITE_P(All, AllOrNothing,
                         testing::Values(Parameters{Engine::kReference, false}, Parameters{Engine::kReference, true},
                                         Parameters{Engine::kCpu, false}, Parameters{Engine::kCpu, true},
                                         Parameters{Engine::kDevice, false}, Parameters{Engine::kDevice, true}),
                         name_of);

}  // namespace
}  // namespace berth
