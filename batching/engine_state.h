// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "batching/commit_state.h"

namespace berth {

/// The state of an engine, which is opened again before a call that finds it void.
/// @tparam State  a CommitState that can be made from const State& and CommitState::Reopened
template <class State>
class EngineState {
 public:
  explicit EngineState(std::unique_ptr<State> state) : state_(std::move(state)) {}

  /// For a call that may change the engine.
  /// @throws std::bad_alloc where it cannot be opened again; the next call tries again
  State& ready() {
    if (state_->is_void()) reopen();
    return *state_;
  }
  /// For const calls, which run in parallel: read(state) gets a state that nobody changes and that is not void.
  /// @param keep_ready  keep_ready(state) brings up to date what is read
  template <class KeepReady, class Read>
  auto read(KeepReady keep_ready, Read read) const {
    while (true) {
      {
        const std::shared_lock here(gate_);
        if (!state_->is_void()) {
          keep_ready(*state_);
          const auto reading = state_->shared();
          if (!state_->is_void()) return read(std::as_const(*state_));
        }
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
      state.begin_call();
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
  /// For what can be asked of a void state.
  State& any() const { return *state_; }

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

  mutable std::unique_ptr<State> state_;
  mutable std::shared_mutex gate_;  ///< of const calls: held alone by the one that opens the state again
};

}  // namespace berth
