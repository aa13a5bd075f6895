// SPDX-License-Identifier: Apache-2.0
#include "host/capi/saved_bytes.h"

#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>

#include "host/capi/api_error.h"
#include "host/objects/interruption.h"
#include "host/objects/utf8.h"

namespace berth::capi {
namespace {

constexpr int kCompressionLevel = 1;
/// That are read or decompressed between two looks at the interruption.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

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
void refuse_error(std::size_t status) {
  if (!is_done(status)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(status));
}

class Compression {
 public:
  explicit Compression(std::uint64_t size) : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    refuse_error(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kCompressionLevel));
    refuse_error(ZSTD_CCtx_setPledgedSrcSize(context_.get(), size));
  }
  void add(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t rest = 0;
    do {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      rest = ZSTD_compressStream2(context_.get(), &out, &in, end);
      refuse_error(rest);
      done_.append(buffer_, 0, out.pos);
    } while (end == ZSTD_e_end ? rest != 0 : in.pos < in.size);
  }
  std::string take() { return std::move(done_); }

 private:
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::string buffer_ = std::string(ZSTD_CStreamOutSize(), '\0');
  std::string done_;
};

}  // namespace

void BytesIn::throw_damaged() {
  throw ApiError(BERTH_E_INPUT, "snapshot", "is damaged: its parts do not fit together");
}

std::string BytesIn::text() {
  const std::string_view text = view();
  if (!is_utf8(text)) throw_damaged();
  return std::string(text);
}

std::string compressed(const Pieces& pieces) {
  Compression compression(pieces.size());
  for (const std::string& piece : pieces.list()) {
    check_interruption(current_interruption());
    compression.add(piece, ZSTD_e_continue);
  }
  compression.add({}, ZSTD_e_end);
  return compression.take();
}

bool decompress(std::string_view data, std::uint64_t size, std::string& full) {
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  full.reserve(static_cast<std::size_t>(size));
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  while (true) {
    check_interruption(current_interruption());
    const std::size_t before = full.size();
    const std::size_t in_before = in.pos;
    full.resize(before + std::min<std::uint64_t>(kBytesAtOnce, size - before));
    ZSTD_outBuffer out{full.data() + before, full.size() - before, 0};
    const std::size_t rest = ZSTD_decompressStream(context.get(), &out, &in);
    if (!is_done(rest)) return false;
    full.resize(before + out.pos);
    if (rest == 0 && in.pos == in.size) break;
    if (out.pos == 0 && in.pos == in_before) return false;  // it ends early, or goes on behind `size`
  }
  return full.size() == size;
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
