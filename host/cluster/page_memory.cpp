// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/page_memory.h"

#include <array>
#include <atomic>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define BERTH_KEEPS_NO_PAGES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BERTH_KEEPS_NO_PAGES 1
#endif

namespace berth {
namespace {

#ifdef BERTH_KEEPS_NO_PAGES
constexpr std::size_t kKeptBytesMax = 0;
#else
constexpr std::size_t kKeptBytesMax = std::size_t{1} << 20;
#endif
std::atomic<std::size_t> kept_bytes_max = kKeptBytesMax;

void release(void* block) noexcept { ::operator delete[](block, kPageAlignment); }

/// The blocks of a thread: stacks by length. There are few lengths, since pages have a fixed number of entries.
class KeptBlocks {
 public:
  ~KeptBlocks() {
    for (Stack& stack : stacks_)
      while (stack.top != nullptr) release(pop(stack));
  }

  /// null: none of that length is kept
  void* take(std::size_t bytes) noexcept {
    for (Stack& stack : stacks_) {
      if (stack.bytes != bytes || stack.top == nullptr) continue;
      kept_bytes_ -= bytes;
      return pop(stack);
    }
    return nullptr;
  }
  bool keep(void* block, std::size_t bytes) noexcept {
    if (bytes < sizeof(void*) || kept_bytes_ + bytes > kept_bytes_max.load(std::memory_order_relaxed)) return false;
    for (Stack& stack : stacks_) {
      if (stack.bytes != bytes && stack.bytes != 0) continue;
      stack.bytes = bytes;
      *static_cast<void**>(block) = stack.top;
      stack.top = block;
      kept_bytes_ += bytes;
      return true;
    }
    return false;
  }

 private:
  struct Stack {
    std::size_t bytes = 0;  ///< of each block; 0: not in use
    void* top = nullptr;    ///< a block begins with the address of the next
  };
  static void* pop(Stack& stack) noexcept {
    void* const block = stack.top;
    stack.top = *static_cast<void**>(block);
    return block;
  }

  std::array<Stack, 8> stacks_{};
  std::size_t kept_bytes_ = 0;
};

/// Pages may outlive the blocks of their thread: those of static objects.
enum class Life : std::uint8_t { kNotYet, kThere, kOver };
constinit thread_local Life life = Life::kNotYet;

struct OfThread {
  OfThread() { life = Life::kThere; }
  ~OfThread() { life = Life::kOver; }
  KeptBlocks blocks;
};

KeptBlocks* kept_blocks() noexcept {
  if (life == Life::kOver) return nullptr;
  thread_local OfThread mine;
  return &mine.blocks;
}

}  // namespace

void set_kept_page_bytes_max(std::size_t bytes) noexcept { kept_bytes_max.store(bytes, std::memory_order_relaxed); }

void* take_page_block(std::size_t bytes) {
  KeptBlocks* const kept = kept_blocks();
  if (kept != nullptr)
    if (void* const block = kept->take(bytes)) return block;
  return ::operator new[](bytes, kPageAlignment);
}

void give_page_block(void* block, std::size_t bytes) noexcept {
  KeptBlocks* const kept = kept_blocks();
  if (kept == nullptr || !kept->keep(block, bytes)) release(block);
}

}  // namespace berth
