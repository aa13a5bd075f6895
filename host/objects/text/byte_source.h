// SPDX-License-Identifier: Apache-2.0
// Where bytes come from: files, standard input, memory; gzip and zstd are undone on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/errors.h"
#include "host/objects/text/text_limits.h"

namespace berth {

/// A sequence of bytes that is read once, front to back.
class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Stores between 1 and `capacity` bytes at `out` and returns how many; 0 only at the end (or for capacity 0).
  /// @throws InputError when the bytes cannot be read or decompressed.
  virtual std::size_t read(char* out, std::size_t capacity) = 0;
};

/// Reads until `capacity` bytes are there or the stream has ended.
std::size_t read_fully(ByteStream& stream, char* out, std::size_t capacity);

/// Bytes that someone else owns and keeps.
class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : rest_(bytes) {}
  std::size_t read(char* out, std::size_t capacity) override;

 private:
  std::string_view rest_;
};

/// `first`, then what `rest` still has. Does not own `rest`.
class PrefixedStream final : public ByteStream {
 public:
  PrefixedStream(std::string first, ByteStream& rest) : first_(std::move(first)), rest_(&rest) {}
  std::size_t read(char* out, std::size_t capacity) override;

 private:
  std::string first_;
  std::size_t used_ = 0;
  ByteStream* rest_;
};

/// A file or standard input, decompressed when its first bytes say gzip or zstd (the name does not matter).
///
/// Plain files are read, not mapped: a mapping would count the whole file as resident memory, and a file that shrinks
/// while it is mapped ends the process.
class FileSource final : public ByteStream {
 public:
  /// @param path  "-" is standard input
  /// @throws InputError naming `path` when it cannot be opened, is a directory, or is a named pipe that nobody writes
  ///         into for limits.pipe_wait.
  FileSource(std::string path, const TextLimits& limits);
  ~FileSource() override;

  /// @throws InputError also when more than limits.source_bytes_max bytes come out.
  std::size_t read(char* out, std::size_t capacity) override;
  const std::string& name() const { return path_; }
  std::uint64_t bytes_read() const { return bytes_read_; }            ///< after decompression
  std::uint64_t stored_bytes_read() const { return *stored_bytes_; }  ///< before decompression

 private:
  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_read_ = 0;
  std::unique_ptr<ByteStream> stream_;
  const std::uint64_t* stored_bytes_ = nullptr;  ///< of the innermost part of stream_
};

/// Replaces each directory by the regular files below it whose name ends in .json, .yaml or .yml (and .gz or .zst
/// behind it), in whatever case, bytewise by path; other paths stay as they are and in their place.
///
/// Links to files are followed. Links to directories are not, and directories below whose name begins with a dot are
/// not entered: that is where a mounted ConfigMap keeps what its links point at, and git what it keeps. A regular file
/// that is reached twice is read once, under its first name.
///
/// Left out and added to `problems`: what is missing or unreadable, a directory without a single such file, files of
/// such a name that are links to nowhere, pipes, sockets or devices, "-" a second time, and what goes beyond
/// `files_max`.
std::vector<std::string> expand_paths(const std::vector<std::string>& paths, std::vector<InputProblem>& problems,
                                      std::size_t files_max = TextLimits{}.files_max);

}  // namespace berth
