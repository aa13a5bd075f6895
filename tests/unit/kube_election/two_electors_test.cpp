// SPDX-License-Identifier: Apache-2.0
// Electors against one lease, with delays, lost requests, lost answers, outages, stops and jumps of the time of day: no
// two may write at one time.

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/kube/election/leader_elector.h"
#include "tests/unit/kube_election/lease_server.h"

namespace berth {
namespace {

constexpr std::int64_t kMs = 1000;

/// A request on its way to the server, or its answer on the way back.
struct Message {
  std::int64_t due_us = 0;
  std::uint64_t id = 0;
  HttpRequest request;
  HttpResponse response;
  bool is_answer = false;
  bool is_answer_lost = false;
};

struct Process {
  std::unique_ptr<LeaderElector> elector;
  std::vector<Message> messages;
  std::int64_t wall_offset_us = 0;
};

class Race {
 public:
  explicit Race(std::uint64_t seed) : dice_(seed) {
    for (Process& process : processes_) start(process);
  }

  void step() {
    clock_.advance_by(50 * kMs);
    const std::int64_t now_us = clock_.now_us();
    if (chance(0.002)) outage_end_us_ = now_us + draw(30'000) * kMs;
    for (Process& process : processes_) {
      if (chance(0.0005)) process.wall_offset_us += (draw(7200) - 3600) * 1'000'000;
      if (chance(0.0005)) process.elector->stop();
      // A process that ended, or was killed, is started again with another identity.
      if (process.elector->is_done() || chance(0.0003)) start(process);
      send(process);
      deliver(process);
    }
    check();
  }
  std::int64_t led_steps() const { return led_steps_; }
  std::size_t leaders_seen() const { return leaders_.size(); }

 private:
  void start(Process& process) {
    process.messages.clear();
    const std::string identity = "p" + std::to_string(++started_);
    process.elector = std::make_unique<LeaderElector>(
        ElectionOptions{.settings = {}, .identity = identity}, clock_,
        [&] { return clock_.now_us() + process.wall_offset_us; }, dice_());
  }
  void send(Process& process) {
    while (auto next = process.elector->next_request()) {
      Message message;
      message.id = next->id;
      message.request = std::move(next->request);
      message.due_us = clock_.now_us() + delay_us();
      const bool is_lost = chance(0.1) || clock_.now_us() < outage_end_us_;
      if (is_lost) {
        message.is_answer = true;
        message.response.problem = "lost";
        message.due_us = clock_.now_us() + draw(5000) * kMs;
      }
      message.is_answer_lost = chance(0.1);
      process.messages.push_back(std::move(message));
    }
  }
  void deliver(Process& process) {
    std::vector<Message> due;
    std::vector<Message> rest;
    for (Message& message : process.messages) {
      (message.due_us <= clock_.now_us() ? due : rest).push_back(std::move(message));
    }
    process.messages = std::move(rest);
    for (Message& message : due) {
      if (message.is_answer) {
        process.elector->on_response(message.id, message.response);
        continue;
      }
      message.response = server_.answer(message.request);
      if (message.is_answer_lost) message.response = {.problem = "timeout"};
      message.is_answer = true;
      message.due_us = clock_.now_us() + delay_us();
      process.messages.push_back(std::move(message));
    }
  }
  void check() {
    int writers = 0;
    for (const Process& process : processes_) {
      if (!process.elector->may_write()) continue;
      ++writers;
      leaders_.insert(process.elector->leader());
    }
    ASSERT_LE(writers, 1) << "at " << clock_.now_us();
    led_steps_ += writers;
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(dice_); }
  std::int64_t draw(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(dice_); }
  /// Mostly short, at times longer than every deadline.
  std::int64_t delay_us() { return chance(0.05) ? draw(20'000) * kMs : draw(200) * kMs; }

  std::mt19937_64 dice_;
  VirtualClock clock_{1'000'000'000};
  LeaseServer server_;
  std::vector<Process> processes_ = std::vector<Process>(3);
  std::set<std::string> leaders_;
  std::int64_t outage_end_us_ = 0;
  std::int64_t led_steps_ = 0;
  int started_ = 0;
};

TEST(TwoElectors, NeverBothMayWrite) {
  constexpr int kSeeds = 60;
  constexpr int kSteps = 10'000;
  std::int64_t led_steps = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Race race(seed);
    for (int i = 0; i < kSteps && !testing::Test::HasFatalFailure(); ++i) race.step();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
    led_steps += race.led_steps();
    EXPECT_GE(race.leaders_seen(), 2u) << "seed " << seed;
  }
  EXPECT_GT(led_steps, kSeeds * kSteps / 4);  // there is a leader for much of the time
}

}  // namespace
}  // namespace berth
