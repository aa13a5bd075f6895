// SPDX-License-Identifier: Apache-2.0
// The part of a JSON text that is in memory while it is cut into items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "host/objects/text/byte_source.h"
#include "host/objects/text/item_batch.h"

namespace berth {

/// Bytes of a ByteStream from the first one that is not cut yet. Items point into the block of the window; a new window
/// is a new block, and the old one belongs to the batches of its items.
class JsonWindow {
 public:
  JsonWindow();

  const char* at() const { return block_->data.get() + position_; }
  const char* end() const { return block_->data.get() + block_->size; }
  std::string_view unread() const { return {at(), end()}; }
  const std::shared_ptr<TextBlock>& block() const { return block_; }

  std::uint64_t line() const { return line_; }  ///< of at()
  void set_line(std::uint64_t line) { line_ = line; }
  void advance_to(const char* byte);
  /// What is unread is of a document that is given up; the next one begins on `line`.
  void drop_unread(std::uint64_t line);
  /// "line 3, column 7". @param byte  not before at()
  std::string place_of(const char* byte) const;

  /// Begins a new block with the unread bytes. @param bytes_min  of the block; it has room for as much again in any
  /// case
  void renew(std::size_t bytes_min);
  /// Fills the block. An InputError of the input is kept for rethrow_input_error().
  void read(ByteStream& input);
  bool at_end() const { return at_end_; }  ///< of the input
  bool has_input_error() const { return input_error_ != nullptr; }
  [[noreturn]] void rethrow_input_error();

 private:
  std::shared_ptr<TextBlock> block_;
  std::size_t position_ = 0;  ///< everything before it in the block is done
  std::uint64_t line_ = 1;    ///< line of position_
  std::uint64_t columns_before_block_ = 0;
  bool at_end_ = false;
  std::exception_ptr input_error_;
};

}  // namespace berth
