// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCompressedWindowBytes = std::size_t{128} << 10;
constexpr std::string_view kGzipMagic{"\x1f\x8b", 2};
constexpr std::string_view kZstdMagic{"\x28\xb5\x2f\xfd", 4};

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw InputError(InputProblem{path, "", message});
}

/// Owns a file descriptor; standard input is borrowed.
class FileStream final : public ByteStream {
 public:
  FileStream(const std::string& path, std::chrono::milliseconds pipe_wait) : path_(path), is_owner_(path != "-") {
    // O_NONBLOCK: opening a named pipe would wait for its writer, who may never come.
    fd_ = !is_owner_ ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd_ < 0) fail(path_, std::string("cannot be opened: ") + std::strerror(errno));
    try {
      if (is_owner_) prepare(pipe_wait);
    } catch (...) {
      close();
      throw;
    }
  }
  ~FileStream() override { close(); }

  std::size_t read(char* out, std::size_t capacity) override {
    if (first_ && capacity > 0) {
      *out = *std::exchange(first_, std::nullopt);
      return 1;
    }
    for (;;) {
      const ssize_t count = ::read(fd_, out, capacity);
      if (count >= 0) {
        bytes_read_ += static_cast<std::uint64_t>(count);
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) fail(path_, std::string("cannot be read: ") + std::strerror(errno));
    }
  }

  const std::uint64_t& bytes_read() const { return bytes_read_; }

 private:
  void prepare(std::chrono::milliseconds pipe_wait) {
    struct stat status = {};
    if (::fstat(fd_, &status) != 0) fail(path_, std::string("cannot be read: ") + std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail(path_, "is a directory, expected a file");
    if (S_ISFIFO(status.st_mode)) wait_for_writer(pipe_wait);
    const int flags = ::fcntl(fd_, F_GETFL);
    ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK);
  }

  /// Returns once a program has the pipe open for writing, or has had it. How long that program then takes to write is
  /// its own affair.
  void wait_for_writer(std::chrono::milliseconds pipe_wait) {
    constexpr int kLookEveryMs = 20;
    const auto deadline = std::chrono::steady_clock::now() + pipe_wait;
    do {
      char byte = 0;
      const ssize_t count = ::read(fd_, &byte, 1);
      if (count == 1) {
        first_ = byte;
        ++bytes_read_;
      }
      if (count != 0) return;  // a byte, or EAGAIN: there is a writer
      pollfd waiting{fd_, POLLIN, 0};
      ::poll(&waiting, 1, kLookEveryMs);
      if ((waiting.revents & POLLHUP) != 0) return;
    } while (std::chrono::steady_clock::now() < deadline);
    fail(path_, "is a pipe that no program writes into (waited " + std::to_string(pipe_wait.count()) + " ms)");
  }

  void close() {
    if (is_owner_ && fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  std::string path_;
  bool is_owner_;
  int fd_ = -1;
  std::optional<char> first_;  ///< read while waiting for the writer of a pipe
  std::uint64_t bytes_read_ = 0;
};

/// The compressed bytes that a decoder has not taken yet.
class CompressedInput {
 public:
  CompressedInput(std::string path, std::unique_ptr<ByteStream> stream)
      : path_(std::move(path)), stream_(std::move(stream)), window_(kCompressedWindowBytes) {}

  /// Reads on when the window is empty. False at the end of the file.
  bool fill() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = stream_->read(window_.data(), window_.size());
    return end_ > 0;
  }
  char* data() { return window_.data() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  void take(std::size_t count) { begin_ += count; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<char> window_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// One or more gzip members, one after the other.
class GunzipStream final : public ByteStream {
 public:
  explicit GunzipStream(CompressedInput input) : input_(std::move(input)) {
    constexpr int kGzipWindowBits = 15 + 16;
    if (inflateInit2(&inflate_, kGzipWindowBits) != Z_OK) fail(input_.path(), "zlib could not start");
  }
  ~GunzipStream() override { inflateEnd(&inflate_); }

  std::size_t read(char* out, std::size_t capacity) override {
    const auto wanted = static_cast<uInt>(std::min<std::size_t>(capacity, std::size_t{1} << 30));
    inflate_.next_out = reinterpret_cast<Bytef*>(out);
    inflate_.avail_out = wanted;
    while (inflate_.avail_out == wanted && wanted > 0) {
      if (!input_.fill()) {
        if (!between_members_) fail(input_.path(), "ends in the middle of its gzip data");
        return 0;
      }
      step();
    }
    return wanted - inflate_.avail_out;
  }

 private:
  void step() {
    if (between_members_) start_member();
    inflate_.next_in = reinterpret_cast<Bytef*>(input_.data());
    const auto offered = static_cast<uInt>(input_.size());
    inflate_.avail_in = offered;
    const int result = inflate(&inflate_, Z_NO_FLUSH);
    input_.take(offered - inflate_.avail_in);
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      const char* why = inflate_.msg != nullptr ? inflate_.msg : zError(result);
      fail(input_.path(), std::string("gzip data is corrupt: ") + why);
    }
  }

  void start_member() {
    inflateReset(&inflate_);
    between_members_ = false;
  }

  CompressedInput input_;
  z_stream inflate_ = {};
  bool between_members_ = false;
};

class UnzstdStream final : public ByteStream {
 public:
  explicit UnzstdStream(CompressedInput input) : input_(std::move(input)), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~UnzstdStream() override { ZSTD_freeDCtx(context_); }

  std::size_t read(char* out, std::size_t capacity) override {
    ZSTD_outBuffer output{out, capacity, 0};
    while (output.pos == 0 && capacity > 0) {
      // What a full output left inside the decoder comes out without new input.
      if (!flush_pending_ && !input_.fill()) {
        if (!at_frame_end_) fail(input_.path(), "ends in the middle of its zstd data");
        return 0;
      }
      step(output);
    }
    return output.pos;
  }

 private:
  void step(ZSTD_outBuffer& output) {
    ZSTD_inBuffer in{input_.data(), input_.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_, &output, &in);
    if (ZSTD_isError(result)) fail(input_.path(), std::string("zstd data is corrupt: ") + ZSTD_getErrorName(result));
    input_.take(in.pos);
    at_frame_end_ = result == 0;
    flush_pending_ = !at_frame_end_ && output.pos == output.size;
  }

  CompressedInput input_;
  ZSTD_DCtx* context_;
  bool at_frame_end_ = false;
  bool flush_pending_ = false;
};

/// Owns `rest`; gives the bytes that were looked at first.
class PeekedStream final : public ByteStream {
 public:
  PeekedStream(std::string first, std::unique_ptr<ByteStream> rest)
      : rest_(std::move(rest)), joined_(std::move(first), *rest_) {}
  std::size_t read(char* out, std::size_t capacity) override { return joined_.read(out, capacity); }

 private:
  std::unique_ptr<ByteStream> rest_;
  PrefixedStream joined_;
};

std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> file, const std::string& path) {
  std::array<char, kZstdMagic.size()> magic{};
  const std::size_t count = read_fully(*file, magic.data(), magic.size());
  const std::string first(magic.data(), count);
  auto whole = std::make_unique<PeekedStream>(first, std::move(file));
  if (first.starts_with(kGzipMagic)) return std::make_unique<GunzipStream>(CompressedInput(path, std::move(whole)));
  if (first.starts_with(kZstdMagic)) return std::make_unique<UnzstdStream>(CompressedInput(path, std::move(whole)));
  return whole;
}

bool has_known_extension(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  name = lower;
  for (const std::string_view packing : {".gz", ".zst"}) {
    if (name.ends_with(packing)) {
      name.remove_suffix(packing.size());
      break;
    }
  }
  return name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml");
}

/// Gathers the files of all paths of a load.
class PathExpansion {
 public:
  PathExpansion(std::vector<InputProblem>& problems, std::size_t files_max)
      : problems_(problems), files_max_(files_max) {}

  void add(const std::string& path) {
    std::error_code error;
    if (path == "-") {
      if (std::exchange(stdin_seen_, true)) {
        problems_.push_back({path, "", "standard input is named twice"});
      } else {
        files_.push_back(path);
      }
    } else if (const fs::file_status status = fs::status(path, error); fs::is_directory(status)) {
      add_directory(path);
    } else if (!fs::exists(status)) {
      const bool is_missing = status.type() == fs::file_type::not_found;
      problems_.push_back({path, "", is_missing ? "no such file or directory" : "cannot be read: " + error.message()});
    } else {
      add_file(path);
    }
  }

  std::vector<std::string> take() { return std::move(files_); }

 private:
  void add_directory(const std::string& directory) {
    std::vector<std::string> found;
    std::error_code error;
    fs::recursive_directory_iterator entry(directory, error);
    while (!error && entry != fs::recursive_directory_iterator() && found.size() <= files_max_) {
      if (entry->path().filename().native().starts_with('.')) entry.disable_recursion_pending();
      if (has_known_extension(entry->path().native())) found.push_back(entry->path().native());
      entry.increment(error);
    }
    if (error) problems_.push_back({directory, "", "cannot be listed: " + error.message()});
    std::sort(found.begin(), found.end());
    const bool has_any =
        std::count_if(found.begin(), found.end(), [this](const std::string& path) { return add_entry(path); }) > 0;
    if (error || has_any) return;
    problems_.push_back({directory, "", "holds no .json, .yaml or .yml file (.gz and .zst of them included)"});
  }

  /// False when the entry is neither a file nor a problem: a directory with the name of a file.
  bool add_entry(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) return false;
    if (fs::is_regular_file(status)) {
      add_file(path);
    } else if (status.type() == fs::file_type::not_found) {
      problems_.push_back({path, "", "is a link to a file that does not exist"});
    } else if (error) {
      problems_.push_back({path, "", "cannot be read: " + error.message()});
    } else {
      problems_.push_back({path, "", "is a pipe, socket or device, expected a file; to read it, name it by itself"});
    }
    return true;
  }

  void add_file(const std::string& path) {
    struct stat status = {};
    const bool is_regular = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_regular && !seen_.emplace(status.st_dev, status.st_ino).second) return;
    if (files_.size() < files_max_) {
      files_.push_back(path);
    } else if (!std::exchange(is_over_limit_, true)) {
      problems_.push_back({"", "", "more than " + std::to_string(files_max_) + " files are given"});
    }
  }

  std::vector<InputProblem>& problems_;
  std::size_t files_max_;
  std::vector<std::string> files_;
  std::set<std::pair<dev_t, ino_t>> seen_;  ///< regular files
  bool stdin_seen_ = false;
  bool is_over_limit_ = false;
};

}  // namespace

std::size_t read_fully(ByteStream& stream, char* out, std::size_t capacity) {
  std::size_t total = 0;
  while (total < capacity) {
    const std::size_t count = stream.read(out + total, capacity - total);
    if (count == 0) break;
    total += count;
  }
  return total;
}

std::size_t MemoryStream::read(char* out, std::size_t capacity) {
  const std::size_t count = std::min(capacity, rest_.size());
  std::copy_n(rest_.data(), count, out);
  rest_.remove_prefix(count);
  return count;
}

std::size_t PrefixedStream::read(char* out, std::size_t capacity) {
  if (used_ == first_.size()) return rest_->read(out, capacity);
  const std::size_t count = std::min(capacity, first_.size() - used_);
  std::copy_n(first_.data() + used_, count, out);
  used_ += count;
  return count;
}

FileSource::FileSource(std::string path, const TextLimits& limits)
    : path_(std::move(path)), bytes_max_(limits.source_bytes_max) {
  auto file = std::make_unique<FileStream>(path_, limits.pipe_wait);
  stored_bytes_ = &file->bytes_read();
  stream_ = decompressed(std::move(file), path_);
}

FileSource::~FileSource() = default;

std::size_t FileSource::read(char* out, std::size_t capacity) {
  const std::size_t count = stream_->read(out, capacity);
  bytes_read_ += count;
  if (bytes_read_ > bytes_max_) {
    fail(path_, "is larger than the limit of " + std::to_string(bytes_max_) + " bytes (after decompression)");
  }
  return count;
}

std::vector<std::string> expand_paths(const std::vector<std::string>& paths, std::vector<InputProblem>& problems,
                                      std::size_t files_max) {
  PathExpansion expansion(problems, files_max);
  for (const std::string& path : paths) expansion.add(path);
  return expansion.take();
}

}  // namespace berth
