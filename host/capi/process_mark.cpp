// SPDX-License-Identifier: Apache-2.0
#include "host/capi/process_mark.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

namespace berth::capi {
namespace {

constexpr std::size_t kPageBytes = 4096;

}  // namespace

ProcessMark::ProcessMark() : page_(nullptr), process_(getpid()) {
  void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  if (madvise(page, kPageBytes, MADV_WIPEONFORK) != 0) {
    munmap(page, kPageBytes);
    return;
  }
  page_ = static_cast<volatile unsigned char*>(page);
  *page_ = 1;
}

ProcessMark::~ProcessMark() {
  if (page_ != nullptr) munmap(const_cast<unsigned char*>(page_), kPageBytes);
}

bool ProcessMark::is_here() const noexcept { return page_ != nullptr ? *page_ == 1 : getpid() == process_; }

}  // namespace berth::capi
