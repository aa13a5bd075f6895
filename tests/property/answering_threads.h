// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batching/backend.h"

namespace berth::test {

/// A fork, with what it has to answer: what another one answered that was opened at the same moment.
struct WaitingFork {
  std::unique_ptr<Fork> fork;
  std::vector<PodToPlace> pods;
  std::vector<std::string> expected;
  std::size_t number = 0;  ///< among those that were added
};

/// Threads that let forks answer as they come.
class AnsweringThreads {
 public:
  /// What a fork answers about pods. Called in several threads at once.
  using Ask = std::function<std::vector<std::string>(Fork& fork, const std::vector<PodToPlace>& pods)>;
  AnsweringThreads(std::size_t threads, Ask ask) : ask_(std::move(ask)) {
    for (std::size_t t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
  }
  ~AnsweringThreads() { finish(); }
  void add(WaitingFork fork) {
    const std::lock_guard alone(mutex_);
    fork.number = added_++;
    waiting_.push_back(std::move(fork));
    comes_.notify_one();
  }
  /// Waits for all answers. @return those that are wrong
  std::vector<std::string> finish() {
    {
      const std::lock_guard alone(mutex_);
      is_complete_ = true;
      comes_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return wrong_;
  }

 private:
  void work() {
    while (std::optional<WaitingFork> next = take()) {
      std::vector<std::string> answers = ask_(*next->fork, next->pods);
      if (answers == next->expected) continue;
      std::string problem = "fork " + std::to_string(next->number) + ":";
      for (std::size_t i = 0; i < std::max(answers.size(), next->expected.size()); ++i) {
        const std::string got = i < answers.size() ? answers[i] : "nothing";
        const std::string expected = i < next->expected.size() ? next->expected[i] : "nothing";
        if (got != expected) problem += "\n" + std::to_string(i) + ": expected " + expected + ", got " + got;
      }
      const std::lock_guard alone(mutex_);
      wrong_.push_back(std::move(problem));
    }
  }
  std::optional<WaitingFork> take() {
    std::unique_lock lock(mutex_);
    comes_.wait(lock, [&] { return is_complete_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    WaitingFork next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  Ask ask_;
  std::mutex mutex_;
  std::condition_variable comes_;
  std::deque<WaitingFork> waiting_;
  std::vector<std::string> wrong_;
  std::size_t added_ = 0;
  bool is_complete_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::test
