// SPDX-License-Identifier: Apache-2.0
#include "tests/failure/failing_allocations.h"

#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace berth::test {
namespace {

constexpr std::int64_t kOff = INT64_MIN;

std::atomic<std::int64_t> left{kOff};  ///< allocations until the one that fails
std::atomic<bool> fails_on{false};
std::atomic<bool> failed{false};

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
std::array<Range, 8> of_tbb;
std::size_t of_tbb_count = 0;

int note_library(dl_phdr_info* library, std::size_t /*size*/, void* /*context*/) {
  if (library->dlpi_name == nullptr || std::strstr(library->dlpi_name, "libtbb") == nullptr) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || of_tbb_count == of_tbb.size()) continue;
    const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    of_tbb[of_tbb_count++] = {begin, begin + segment.p_memsz};
  }
  return 0;
}

bool is_in_tbb(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < of_tbb_count; ++i)
    if (address >= of_tbb[i].begin && address < of_tbb[i].end) return true;
  return false;
}

bool is_to_fail(const void* caller) {
  if (left.load(std::memory_order_relaxed) == kOff || is_in_tbb(caller)) return false;
  const std::int64_t behind = left.fetch_sub(1, std::memory_order_relaxed);
  if (behind > 1 || behind < -(INT64_C(1) << 60) || (behind < 1 && !fails_on)) return false;
  failed = true;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
  if (is_to_fail(caller)) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  void* const memory = allocate(size, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingAllocation::FailingAllocation(std::int64_t n, Failure failure) {
  if (of_tbb_count == 0) dl_iterate_phdr(note_library, nullptr);
  failed = false;
  fails_on = failure == Failure::kAllBehind;
  left = n;
}

FailingAllocation::~FailingAllocation() { left = kOff; }

bool FailingAllocation::has_failed() const { return failed; }

}  // namespace berth::test

namespace {
constexpr std::size_t kPlain = 1;
std::size_t size_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }
}  // namespace

void* operator new(std::size_t size) {
  return berth::test::allocate_or_throw(size, kPlain, __builtin_return_address(0));
}
void* operator new[](std::size_t size) {
  return berth::test::allocate_or_throw(size, kPlain, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return berth::test::allocate_or_throw(size, size_of(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return berth::test::allocate_or_throw(size, size_of(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return berth::test::allocate(size, kPlain, __builtin_return_address(0));
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return berth::test::allocate(size, kPlain, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
