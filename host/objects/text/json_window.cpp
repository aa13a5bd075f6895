// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/json_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/objects/text/json_scan.h"

namespace berth {

JsonWindow::JsonWindow() : block_(std::make_shared<TextBlock>(0)) {
  std::memset(block_->data.get(), 0, kSlicePaddingBytes);
}

void JsonWindow::advance_to(const char* byte) {
  line_ += count_newlines(at(), byte);
  position_ = static_cast<std::size_t>(byte - block_->data.get());
}

void JsonWindow::drop_unread(std::uint64_t line) {
  position_ = block_->size;
  columns_before_block_ = 0;
  line_ = line;
}

std::string JsonWindow::place_of(const char* byte) const {
  const std::uint64_t line = line_ + count_newlines(at(), byte);
  const char* const begin = block_->data.get();
  const auto offset = static_cast<std::size_t>(byte - begin);
  const void* line_break = memrchr(begin, '\n', offset);
  const auto column = line_break == nullptr ? columns_before_block_ + offset + 1
                                            : static_cast<std::uint64_t>(byte - static_cast<const char*>(line_break));
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

void JsonWindow::renew(std::size_t bytes_min) {
  const std::size_t rest = unread().size();
  const void* line_break = memrchr(block_->data.get(), '\n', position_);
  const char* line_begin = line_break == nullptr ? block_->data.get() : static_cast<const char*>(line_break) + 1;
  columns_before_block_ = static_cast<std::uint64_t>(at() - line_begin) + (line_break ? 0 : columns_before_block_);

  auto block = std::make_shared<TextBlock>(std::max(bytes_min, rest * 2));
  std::copy_n(at(), rest, block->data.get());
  block->size = rest;
  block_ = std::move(block);
  position_ = 0;
}

void JsonWindow::read(ByteStream& input) {
  TextBlock& block = *block_;
  try {
    while (!at_end_ && block.size < block.capacity) {
      const std::size_t count = input.read(block.data.get() + block.size, block.capacity - block.size);
      block.size += count;
      at_end_ = count == 0;
    }
  } catch (const InputError&) {
    input_error_ = std::current_exception();
  }
  std::memset(block.data.get() + block.size, 0, kSlicePaddingBytes);
}

void JsonWindow::rethrow_input_error() { std::rethrow_exception(std::exchange(input_error_, nullptr)); }

}  // namespace berth
