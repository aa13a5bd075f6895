// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/scheduler/loop/store_client.h"

namespace berth::test {

/// What becomes of one API call.
struct CallFault {
  bool is_lost = false;       ///< it does not reach the store, and no answer comes
  bool loses_answer = false;  ///< it is done, and no answer comes
  bool is_answered_twice = false;
  StoreStatus refusal = {};     ///< not a success: it does not reach the store, and this is the answer
  std::int64_t delay_us = 0;    ///< until it reaches the store
  std::int64_t answer_us = 0;   ///< from there until the answer comes
  std::int64_t failure_us = 0;  ///< and from then, where it is a failure
};

/// A client of a store that fails as told, on the store's clock.
class FaultyClient : public ApiClient {
 public:
  using Plan = std::function<CallFault(const ApiCall&)>;
  /// @param plan  asked once for each call; the store outlives the client
  FaultyClient(ObjectStore& store, Plan plan) : clock_(store.clock()), inner_(store), plan_(std::move(plan)) {}

  void start(std::uint64_t id, const ApiCall& call) override {
    const CallFault fault = plan_(call);
    if (!fault.is_lost) at(clock_.now_us() + fault.delay_us, [this, id, call, fault] { make(id, call, fault); });
  }
  std::vector<ApiAnswer> take_answers() override {
    while (!steps_.empty() && steps_.begin()->first.first <= clock_.now_us()) {
      const std::function<void()> step = std::move(steps_.begin()->second);
      steps_.erase(steps_.begin());
      step();
    }
    return std::exchange(answers_, {});
  }
  std::int64_t next_answer_us() const override { return steps_.empty() ? kNeverUs : steps_.begin()->first.first; }

 private:
  void at(std::int64_t time_us, std::function<void()> step) {
    steps_.emplace(std::pair(time_us, next_step_++), std::move(step));
  }
  void make(std::uint64_t id, const ApiCall& call, const CallFault& fault) {
    std::vector<ApiAnswer> answers{{id, fault.refusal}};
    if (fault.refusal.is_success()) {
      inner_.start(id, call);
      answers = inner_.take_answers();
    }
    if (fault.loses_answer) return;
    if (fault.is_answered_twice) answers.push_back(answers.front());
    const std::int64_t failure_us = answers.front().status.is_success() ? 0 : fault.failure_us;
    at(clock_.now_us() + fault.answer_us + failure_us,
       [this, answers] { answers_.insert(answers_.end(), answers.begin(), answers.end()); });
  }

  const Clock& clock_;
  StoreClient inner_;
  Plan plan_;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> steps_;
  std::uint64_t next_step_ = 0;
  std::vector<ApiAnswer> answers_;
};

}  // namespace berth::test
