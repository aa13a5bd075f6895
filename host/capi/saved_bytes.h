// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bytes of saved snapshots: written, compressed, read and kept in files in pieces, between which a call may be
// interrupted.

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/capi/stop_watch.h"
#include "host/objects/work_arena.h"

namespace berth::capi {

/// A long text in pieces, so that it is not copied when it grows.
class Pieces {
 public:
  /// What is to be appended to.
  std::string& last() {
    if (pieces_.empty() || pieces_.back().size() >= kPieceBytes) pieces_.emplace_back().reserve(kPieceBytes);
    return pieces_.back();
  }
  void append(Pieces other) {
    for (std::string& piece : other.pieces_) pieces_.push_back(std::move(piece));
  }
  std::uint64_t size() const {
    std::uint64_t size = 0;
    for (const std::string& piece : pieces_) size += piece.size();
    return size;
  }
  const std::deque<std::string>& list() const { return pieces_; }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  std::deque<std::string> pieces_;
};

/// Numbers of 8 bytes, texts and lists behind their length.
class BytesOut {
 public:
  void number(std::uint64_t number) { pieces_.last().append(reinterpret_cast<const char*>(&number), sizeof number); }
  void text(std::string_view text) {
    number(text.size());
    for_pieces(text, [&](std::string_view piece) { pieces_.last() += piece; });
  }
  /// As one text, of the numbers as they stand in memory.
  template <class Number>
  void column(const std::vector<Number>& numbers) {
    text({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)});
  }
  void text(Pieces text) {
    number(text.size());
    pieces_.append(std::move(text));
  }
  /// @param write  write(element)
  template <class List, class Write>
  void list(const List& list, Write write) {
    number(list.size());
    LooksAtTimes looks;
    for (const auto& element : list) {
      looks.at_next();
      write(element);
    }
  }
  const Pieces& pieces() const { return pieces_; }

 private:
  Pieces pieces_;
};

/// Reads what BytesOut wrote. @throws ApiError where the bytes end early, or say of a list that it is longer than they
class BytesIn {
 public:
  explicit BytesIn(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t number = 0;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  /// @throws ApiError also where it is not UTF-8
  std::string text();
  std::string_view view() { return take(number()); }
  template <class Read>
  void list(Read read) {
    const std::uint64_t count = number();
    if (count > rest_.size()) throw_damaged();
    LooksAtTimes looks;
    for (std::uint64_t i = 0; i < count; ++i) {
      looks.at_next();
      read();
    }
  }
  /// What BytesOut::column() wrote.
  template <class Number>
  std::vector<Number> column() {
    const std::string_view bytes = view();
    if (bytes.size() % sizeof(Number) != 0) throw_damaged();
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  bool is_at_end() const { return rest_.empty(); }
  [[noreturn]] static void throw_damaged();

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw_damaged();
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return taken;
  }

  std::string_view rest_;
};

/// Bytes that are written once.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size) : data_(std::make_unique_for_overwrite<char[]>(size)), size_(size) {}
  char* data() { return data_.get(); }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
};

/// Frames of zstd of up to 1 MiB, so that threads compress and decompress them.
std::string compressed(const Pieces& pieces, WorkArena& arena);
/// @param full  [out] @return false: it is not such data of that many bytes
bool decompress(std::string_view data, std::uint64_t size, WorkArena& arena, Bytes& full);

/// The whole file. @throws ApiError BERTH_E_INPUT naming it
std::string read_file(const std::string& path);
/// The file has its old content until the new one is complete. @throws ApiError BERTH_E_INPUT naming it
void write_file(const std::string& path, std::string_view bytes);

}  // namespace berth::capi
