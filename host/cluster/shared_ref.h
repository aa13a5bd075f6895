// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace berth {

/// Owns a value together with other owners, each in one thread at a time, until one of them writes: it gets a copy of
/// its own. Unlike std::shared_ptr::use_count(), is_mine_alone() orders what other owners read before what this one
/// writes.
template <class T>
class SharedRef {
 public:
  SharedRef() = default;
  template <class... Arguments>
  static SharedRef make(Arguments&&... arguments) {
    SharedRef made;
    made.shared_ = new Shared(std::forward<Arguments>(arguments)...);
    return made;
  }
  SharedRef(const SharedRef& other) noexcept : shared_(other.shared_) {
    if (shared_ != nullptr) shared_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedRef(SharedRef&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  SharedRef& operator=(SharedRef other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~SharedRef() {
    if (shared_ != nullptr && shared_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared_;
  }

  explicit operator bool() const { return shared_ != nullptr; }
  const T& operator*() const { return shared_->value; }
  const T* operator->() const { return &shared_->value; }
  /// True: whatever other owners did in other threads before they let go happened before this.
  bool is_mine_alone() const { return shared_->owners.load(std::memory_order_acquire) == 1; }
  /// The value, of which other owners see no change; T() where there was none. Valid until this is copied or destroyed.
  T& write() {
    if (shared_ == nullptr || !is_mine_alone()) become_mine();
    return shared_->value;
  }
  /// The value without a copy, for one owner or what no owner reads.
  T& write_in_place() const { return shared_->value; }

 private:
  struct Shared {
    template <class... Arguments>
    explicit Shared(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {}
    std::atomic<std::size_t> owners{1};
    T value;
  };
  /// Apart, so that write() stays small where it is called.
  [[gnu::noinline]] void become_mine() { *this = shared_ == nullptr ? make() : make(std::as_const(shared_->value)); }

  Shared* shared_ = nullptr;
};

}  // namespace berth
