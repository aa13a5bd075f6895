// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <utility>

#include "batching/commit_state.h"
#include "host/objects/interruption.h"

namespace berth {

/// The state of an engine, which is opened again before a call that finds it void.
/// @tparam State  a CommitState that can be made from const State& and CommitState::Reopened
template <class State>
class EngineState {
 public:
  explicit EngineState(std::unique_ptr<State> state) : state_(std::move(state)) {}
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;
  /// Waits for forks that read the state, before its rows go.
  ~EngineState() { state_->end(); }

  /// For a call that may change the engine, beside which there is no other.
  /// @throws std::bad_alloc where it cannot be opened again; the next call tries again
  State& ready() {
    if (state_->is_void()) reopen();
    return *state_;
  }
  /// Runs change(state) alone with the state, and opens it again where that has left it void. Where there is no memory
  /// for it, or the call is interrupted meanwhile, the next call does.
  template <class Change>
  void change_and_open(Change change) {
    {
      State& state = ready();
      const auto alone = state.exclusive();
      change(state);
    }
    try {
      ready();
    } catch (const std::bad_alloc&) {
      return;
    } catch (const Interrupted&) {
      return;
    }
  }
  /// For const calls, which run in parallel: read(state) gets a state that nobody changes, that is not void, and that
  /// is ready for the pods, where Backend::prepare() has seen them.
  template <class Read>
  auto read(std::span<const PodToPlace> pods, Read read) const {
    for (int attempts = 0; attempts < kAttemptsMax; ++attempts) {
      {
        const std::shared_lock here(gate_);
        const auto reading = state_->shared();
        if (!state_->is_void() && !state_->any_outdated(pods)) return read(std::as_const(*state_));
      }
      change(pods, [](State& /*state*/) {});
    }
    // Forks in other threads bring new terms each time, or a plugin on the host whose answers are stale at once.
    return change(pods, [&](State& state) { return read(std::as_const(state)); });
  }
  /// The same for const calls that cannot run in parallel: change(state) is alone with the state.
  template <class Change>
  auto change(std::span<const PodToPlace> pods, Change change) const {
    const std::unique_lock alone(gate_);
    if (state_->is_void()) reopen();
    const auto writing = state_->exclusive();
    state_->keep_prepared(pods);
    return change(*state_);
  }
  /// For const calls that ask for less: look(state) reads what no fork changes, or holds CommitState::shared(). The
  /// state may be void.
  template <class Look>
  auto look(Look look) const {
    const std::shared_lock here(gate_);
    return look(std::as_const(*state_));
  }
  /// Backend::node_name()
  std::string_view node_name(std::int32_t slot) const {
    return look([&](const State& state) {
      if (!state.is_void()) return state.snapshot.node_name(slot);
      const auto reading = state.shared();
      return state.node_name(slot);  // from the cluster
    });
  }
  /// Backend::open_fork(), in parallel with const calls.
  std::unique_ptr<Fork> open_fork(const std::shared_ptr<const ForkParent>& parent) const {
    while (true) {
      {
        const std::shared_lock here(gate_);
        if (std::unique_ptr<Fork> fork = state_->open_fork(parent)) return fork;
      }
      const std::unique_lock alone(gate_);
      if (state_->is_void()) reopen();
    }
  }
  /// Backend::as_one() without the version of the engine.
  void as_one(const std::function<void()>& calls) {
    State& state = ready();
    {
      const auto alone = state.exclusive();
      state.begin_calls();
    }
    const auto take_back = [&](bool ran_out) {
      const auto alone = state.exclusive();
      state.take_back_call(ran_out);
    };
    try {
      calls();
    } catch (const std::bad_alloc&) {
      take_back(true);
      throw;
    } catch (...) {
      take_back(false);
      throw;
    }
    const auto alone = state.exclusive();
    state.keep_call();
  }
  /// Before the first call.
  State& opened() { return *state_; }

 private:
  void reopen() const {
    if (state_->is_in_call()) throw std::bad_alloc();  // of which the state is void: the call fails as a whole
    {
      const auto alone = state_->exclusive();
      state_->close();
    }
    auto next = std::make_unique<State>(std::as_const(*state_), CommitState::Reopened());
    next->take_over(*state_);
    state_ = std::move(next);
  }

  /// Before a call reads alone.
  static constexpr int kAttemptsMax = 3;

  mutable std::unique_ptr<State> state_;
  /// Of const calls: held alone by one that opens the state again, or prepares pods. Comes before
  /// CommitState::shared().
  mutable ReadersAndWriter gate_;
};

}  // namespace berth
