// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace berth {

/// What takes back one change of a model, or ends it for good. A step is noted before its change, so that the change
/// needs no memory that going back would need; it does nothing until it is told what was changed.
class UndoStep {
 public:
  UndoStep() = default;
  UndoStep(const UndoStep&) = delete;
  UndoStep& operator=(const UndoStep&) = delete;
  virtual ~UndoStep() = default;
  /// Neither of the two allocates.
  virtual void undo() noexcept = 0;
  virtual void finish() noexcept {}
};

/// The steps of one call that must happen as a whole or not at all.
class UndoSteps {
 public:
  UndoSteps() = default;
  /// A copy of what has steps has none.
  UndoSteps(const UndoSteps& /*other*/) noexcept {}
  UndoSteps& operator=(const UndoSteps&) = delete;
  /// Notes a step. @throws std::bad_alloc, and notes none
  template <class Step, class... Args>
  Step& add(Args&&... args) {
    if (steps_.size() == steps_.capacity()) steps_.reserve(std::max<std::size_t>(16, 2 * steps_.capacity()));
    auto step = std::make_unique<Step>(std::forward<Args>(args)...);
    Step& noted = *step;
    steps_.push_back(std::move(step));
    return noted;
  }
  /// Takes everything back, newest first.
  void undo_all() noexcept {
    for (; !steps_.empty(); steps_.pop_back()) steps_.back()->undo();
  }
  void finish_all() noexcept {
    for (const auto& step : steps_) step->finish();
    steps_.clear();
    if (steps_.capacity() > kKept) std::vector<std::unique_ptr<UndoStep>>().swap(steps_);
  }

 private:
  static constexpr std::size_t kKept = 4096;  ///< room that stays for the next call
  std::vector<std::unique_ptr<UndoStep>> steps_;
};

}  // namespace berth
