// SPDX-License-Identifier: Apache-2.0
// Progress callbacks: what they are told, by which thread, and what they may call.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/capi/cancelled.h"

namespace berth::test {
namespace {

struct Told {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  std::thread::id thread;
  berth_status reentered = BERTH_OK;
  berth_cancel* cancel = nullptr;  ///< null: the callback cancels nothing
};

void tell(void* user_data, std::uint64_t done, std::uint64_t total) {
  Told& told = *static_cast<Told*>(user_data);
  told.calls.emplace_back(done, total);
  told.thread = std::this_thread::get_id();
  std::uint64_t version = 0;
  told.reentered = berth_snapshot_version(loaded().snapshot.get(), &version, nullptr);
  if (told.cancel != nullptr) berth_cancel_trigger(told.cancel);
}

template <class Options>
Options telling(Told* told, Options options) {
  if (told == nullptr) return options;
  options.progress = tell;
  options.progress_user_data = told;
  options.cancel = told->cancel;
  return options;
}

struct TellingVerb {
  const char* name;
  std::uint64_t total;
  std::function<berth_status(berth_fork*, Told*, berth_result**)> make;
};

std::vector<TellingVerb> telling_verbs() {
  const Loaded& of = loaded();
  const auto schedule = [&of](std::uint32_t choice) {
    return [&of, choice](berth_fork* fork, Told* told, berth_result** result) {
      berth_schedule_options options = telling(told, berth_schedule_options(BERTH_SCHEDULE_OPTIONS_INIT));
      options.choice = choice;
      return berth_fork_schedule(fork, of.waiting.data(), of.waiting.size(), &options, result, nullptr);
    };
  };
  const auto drain = [&of](std::uint32_t flags) {
    return [&of, flags](berth_fork* fork, Told* told, berth_result** result) {
      berth_drain_options options = telling(told, berth_drain_options(BERTH_DRAIN_OPTIONS_INIT));
      options.flags = flags;
      options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
      return berth_fork_drain(fork, of.numbers.data(), kNodes / 2, &options, result, nullptr);
    };
  };
  const auto replace = [&of](std::uint32_t flags) {
    return [&of, flags](berth_fork* fork, Told* told, berth_result** result) {
      berth_drain_options options = telling(told, berth_drain_options(BERTH_DRAIN_OPTIONS_INIT));
      options.flags = flags;
      options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
      return berth_fork_replace(fork, of.numbers.data(), kNodes / 2, &options, of.new_node_list.data(), 2, 3, result,
                                nullptr);
    };
  };
  return {{"schedule by score", of.waiting.size(), schedule(BERTH_CHOICE_SCORE)},
          {"schedule by first fit", of.waiting.size(), schedule(BERTH_CHOICE_FIRST_FIT)},
          {"max_replicas", of.waiting.size(),
           [&of](berth_fork* fork, Told* told, berth_result** result) {
             const berth_max_replicas_options options =
                 telling(told, berth_max_replicas_options(BERTH_MAX_REPLICAS_OPTIONS_INIT));
             return berth_fork_max_replicas(fork, of.waiting.data(), of.waiting.size(), &options, result, nullptr);
           }},
          {"scale_up", of.new_node_list.size(),
           [&of](berth_fork* fork, Told* told, berth_result** result) {
             const berth_scale_up_options options = telling(told, berth_scale_up_options(BERTH_SCALE_UP_OPTIONS_INIT));
             return berth_fork_scale_up(fork, of.waiting.data(), 300, of.new_node_list.data(), of.new_node_list.size(),
                                        &options, result, nullptr);
           }},
          {"drain", kNodes / 2, drain(0)},
          {"drain together", kNodes / 2, drain(BERTH_DRAIN_TOGETHER)},
          {"replace", kNodes / 2, replace(0)},
          {"replace together", kNodes / 2, replace(BERTH_DRAIN_TOGETHER)}};
}

std::string told_answer(const TellingVerb& verb, Told* told, berth_status expected) {
  const OwnedFork fork = fork_of(loaded().snapshot.get());
  berth_result* result = nullptr;
  EXPECT_EQ(verb.make(fork.get(), told, &result), expected) << verb.name;
  return text_of(*OwnedResult(result));
}

TEST(Progress, IsToldByTheThreadOfTheCallAndEndsWithAllElements) {
  for (const TellingVerb& verb : telling_verbs()) {
    Told told;
    EXPECT_EQ(told_answer(verb, &told, BERTH_OK), told_answer(verb, nullptr, BERTH_OK)) << verb.name;
    ASSERT_FALSE(told.calls.empty()) << verb.name;
    std::uint64_t before = 0;
    for (const auto& [done, total] : told.calls) {
      EXPECT_EQ(total, verb.total) << verb.name;
      EXPECT_GT(done, before) << verb.name;
      before = done;
    }
    EXPECT_EQ(before, verb.total) << verb.name;
    EXPECT_EQ(told.thread, std::this_thread::get_id()) << verb.name;
    EXPECT_EQ(told.reentered, BERTH_E_REENTRY) << verb.name;
  }
}

TEST(Progress, ACallbackMayCancelItsCall) {
  for (const TellingVerb& verb : telling_verbs()) {
    if (std::string(verb.name) != "schedule by first fit" && std::string(verb.name) != "drain together") continue;
    const OwnedCancel cancel = make_cancel();
    Told told;
    told.cancel = cancel.get();
    told_answer(verb, &told, BERTH_CANCELLED);
    ASSERT_EQ(told.calls.size(), 1U) << verb.name;
    EXPECT_LT(told.calls.front().first, verb.total) << verb.name;
  }
}

}  // namespace
}  // namespace berth::test
