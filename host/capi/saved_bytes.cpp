// SPDX-License-Identifier: Apache-2.0
#include "host/capi/saved_bytes.h"

#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>
#include <stdexcept>

#include "host/capi/api_error.h"
#include "host/objects/interruption.h"
#include "host/objects/utf8.h"

namespace berth::capi {
namespace {

constexpr int kCompressionLevel = 1;
/// That are read between two looks at the interruption.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
/// Of the content of a frame: as long as for_pieces() has them.
constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;

[[noreturn]] void throw_of_file(const std::string& path, const std::string& what) {
  throw ApiError(BERTH_E_INPUT, path, what + ": " + std::strerror(errno));
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// A file that goes unless it is kept.
class NewFile {
 public:
  NewFile(std::string path, const std::string& wanted)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wbx")) {
    if (file_ == nullptr) throw_of_file(wanted, "cannot be written (" + path_ + ")");
  }
  ~NewFile() {
    file_.reset();
    if (!is_kept_) std::remove(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool write(std::string_view bytes) { return std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size(); }
  /// Completes it and gives it its name. @return false with errno
  bool keep_as(const std::string& path) {
    if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return false;
    file_.reset();
    is_kept_ = std::rename(path_.c_str(), path.c_str()) == 0;
    return is_kept_;
  }

 private:
  std::string path_;
  File file_;
  bool is_kept_ = false;
};

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

/// @return false: another error than that memory ran out
bool is_done(std::size_t status) {
  if (ZSTD_isError(status) && ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return !ZSTD_isError(status);
}

/// Which says how long its content is.
std::string frame_of(std::string_view content) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size =
      ZSTD_compressCCtx(context.get(), frame.data(), frame.size(), content.data(), content.size(), kCompressionLevel);
  if (!is_done(size)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

struct FrameIn {
  std::string_view bytes;
  std::size_t begin = 0;  ///< in the content of all
  std::size_t size = 0;   ///< of its content
};

/// @return nullopt: they are none of compressed(), or their contents are not `size` bytes in all
std::optional<std::vector<FrameIn>> frames_in(std::string_view data, std::uint64_t size) {
  std::vector<FrameIn> frames;
  std::size_t begin = 0;
  while (!data.empty()) {
    const std::size_t length = ZSTD_findFrameCompressedSize(data.data(), data.size());
    if (!is_done(length)) return std::nullopt;
    const unsigned long long content = ZSTD_getFrameContentSize(data.data(), data.size());
    if (content > kFrameBytesMax || content > size - begin) return std::nullopt;  // unknown is a large number
    const auto content_size = static_cast<std::size_t>(content);
    if (content_size > 0) frames.push_back({data.substr(0, length), begin, content_size});
    begin += content_size;
    data.remove_prefix(length);
  }
  if (begin != size) return std::nullopt;
  return frames;
}

}  // namespace

void BytesIn::throw_damaged() {
  throw ApiError(BERTH_E_INPUT, "snapshot", "is damaged: its parts do not fit together");
}

std::string BytesIn::text() {
  const std::string_view text = view();
  if (!is_utf8(text)) throw_damaged();
  return std::string(text);
}

std::string compressed(const Pieces& pieces, WorkArena& arena) {
  std::vector<std::string_view> contents;
  for (const std::string& piece : pieces.list())
    for_pieces(piece, [&](std::string_view content) { contents.push_back(content); });
  std::vector<std::string> frames(contents.size());
  const Interruption* const interruption = current_interruption();
  arena.for_each(frames.size(), [&](std::size_t i) {
    check_interruption(interruption);
    frames[i] = frame_of(contents[i]);
  });
  std::string all;
  for (const std::string& frame : frames) all += frame;
  return all;
}

bool decompress(std::string_view data, std::uint64_t size, WorkArena& arena, Bytes& full) {
  const std::optional<std::vector<FrameIn>> frames = frames_in(data, size);
  if (!frames) return false;
  full = Bytes(static_cast<std::size_t>(size));
  std::atomic<bool> is_whole = true;
  const Interruption* const interruption = current_interruption();
  arena.for_each(frames->size(), [&](std::size_t i) {
    check_interruption(interruption);
    const FrameIn& frame = (*frames)[i];
    const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    if (context == nullptr) throw std::bad_alloc();
    const std::size_t written = ZSTD_decompressDCtx(context.get(), full.data() + frame.begin, frame.size,
                                                    frame.bytes.data(), frame.bytes.size());
    if (!is_done(written) || written != frame.size) is_whole.store(false, std::memory_order_relaxed);
  });
  return is_whole.load(std::memory_order_relaxed);
}

std::string read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) throw_of_file(path, "cannot be opened");
  std::string bytes;
  std::size_t size = 0;
  do {
    check_interruption(current_interruption());
    const std::size_t before = bytes.size();
    bytes.resize(before + kBytesAtOnce);
    size = std::fread(bytes.data() + before, 1, kBytesAtOnce, file.get());
    bytes.resize(before + size);
  } while (size > 0);
  if (std::ferror(file.get()) != 0) throw_of_file(path, "cannot be read");
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  NewFile file(path + "." + std::to_string(::getpid()) + ".tmp", path);
  bool is_written = true;
  for_pieces(bytes, [&](std::string_view piece) { is_written = is_written && file.write(piece); });
  if (!is_written || !file.keep_as(path)) throw_of_file(path, "cannot be written");
}

}  // namespace berth::capi
