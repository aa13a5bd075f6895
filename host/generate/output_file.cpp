// SPDX-License-Identifier: Apache-2.0
#include "host/generate/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "host/objects/errors.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using Write = std::function<bool(std::FILE*)>;

constexpr const char* kGzipMode = "wb6";
constexpr mode_t kNewFileMode = 0666;  // less the umask

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw InputError(InputProblem{path, "", "cannot be written: " + reason});
}

[[noreturn]] void fail(const std::string& path, int error) {
  fail(path, std::string(std::strerror(error != 0 ? error : EIO)));
}

ssize_t write_compressed(void* file, const char* bytes, std::size_t count) {
  return gzwrite(static_cast<gzFile>(file), bytes, static_cast<unsigned>(count));
}

int close_compressed(void* file) { return gzclose(static_cast<gzFile>(file)) == Z_OK ? 0 : -1; }

/// Takes the descriptor, also when it returns null.
std::FILE* compressed_stream(int descriptor) {
  const gzFile file = gzdopen(descriptor, kGzipMode);
  if (file == nullptr) {
    ::close(descriptor);
    return nullptr;
  }
  cookie_io_functions_t functions{};
  functions.write = write_compressed;
  functions.close = close_compressed;
  std::FILE* stream = fopencookie(file, "w", functions);
  if (stream == nullptr) gzclose(file);
  return stream;
}

std::FILE* plain_stream(int descriptor) {
  std::FILE* stream = ::fdopen(descriptor, "wb");
  if (stream == nullptr) ::close(descriptor);
  return stream;
}

/// Writes and closes. @return 0, or the errno of the failure
int write_into(int descriptor, const std::string& path, const Write& write) {
  errno = 0;
  std::FILE* file = path.ends_with(".gz") ? compressed_stream(descriptor) : plain_stream(descriptor);
  if (file == nullptr) return errno != 0 ? errno : EIO;
  const bool is_written = write(file);
  const int write_error = errno;
  const bool is_closed = std::fclose(file) == 0;
  if (is_written && is_closed) return 0;
  const int error = is_written ? errno : write_error;
  return error != 0 ? error : EIO;
}

/// Opening a pipe would wait for its reader, who may never come.
int open_pipe(const std::string& path, std::chrono::milliseconds reader_wait) {
  constexpr std::chrono::milliseconds kLookEvery{20};
  const auto deadline = std::chrono::steady_clock::now() + reader_wait;
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0) {
      ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
      return descriptor;
    }
    if (errno != ENXIO) fail(path, errno);
    if (std::chrono::steady_clock::now() >= deadline) {
      fail(path, "it is a pipe that no program reads (waited " + std::to_string(reader_wait.count()) + " ms)");
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

void write_in_place(const std::string& path, const Write& write) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, kNewFileMode);
  if (descriptor < 0) fail(path, errno);
  const int error = write_into(descriptor, path, write);
  if (error != 0) fail(path, error);
}

/// A new file in the folder of another one; removed unless it has taken the other's place.
class FileBeside {
 public:
  explicit FileBeside(const std::string& path) : name_(path + "." + std::to_string(::getpid()) + ".tmp") {
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    error_ = descriptor_ < 0 ? errno : 0;
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  ~FileBeside() {
    if (error_ == 0 && !is_renamed_) ::unlink(name_.c_str());
  }

  int error() const { return error_; }  ///< why it could not be made; 0: it is there
  int descriptor() const { return descriptor_; }
  /// @return 0, or the errno of the failure
  int take_place_of(const std::string& path) {
    is_renamed_ = std::rename(name_.c_str(), path.c_str()) == 0;
    return is_renamed_ ? 0 : errno;
  }

 private:
  std::string name_;
  int descriptor_ = -1;
  int error_ = 0;
  bool is_renamed_ = false;
};

/// The old file may be written, or there is none: renaming would replace a file that is write-protected.
void require_writable(const std::string& path, bool exists) {
  if (exists && ::access(path.c_str(), W_OK) != 0) fail(path, errno);
}

/// @param old  of the file that is there; null: there is none
/// @return false when no file can be made beside it, or none can take its place
bool replace(const std::string& path, const struct stat* old, const Write& write) {
  FileBeside made(path);
  if (made.error() == EACCES || made.error() == EPERM || made.error() == EROFS || made.error() == ENAMETOOLONG) {
    return false;
  }
  if (made.error() != 0) fail(path, made.error());
  if (old != nullptr && ::fchmod(made.descriptor(), old->st_mode & 07777) != 0) fail(path, errno);
  if (const int error = write_into(made.descriptor(), path, write); error != 0) fail(path, error);
  const int error = made.take_place_of(path);
  if (error == EBUSY) return false;  // a mount point, as a single file of a container is one
  if (error != 0) fail(path, error);
  return true;
}

}  // namespace

void write_output_file(const std::string& path, const std::function<bool(std::FILE*)>& write,
                       std::chrono::milliseconds reader_wait) {
  errno = 0;
  if (path == "-") {
    if (write(stdout)) return;
    // A closed standard output is replaced by a socket without a peer when the program begins.
    if (errno == ENOTCONN || errno == EBADF) fail("standard output", std::string("it is closed"));
    fail("standard output", errno);
  }
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISFIFO(status.st_mode)) {
    if (const int error = write_into(open_pipe(path, reader_wait), path, write); error != 0) fail(path, error);
    return;
  }
  std::error_code ignored;
  const bool is_dangling_link = !exists && fs::is_symlink(fs::symlink_status(path, ignored));
  if ((exists && !S_ISREG(status.st_mode)) || is_dangling_link) return write_in_place(path, write);
  require_writable(path, exists);
  // The link stays a link.
  const std::string target = exists ? fs::canonical(path, ignored).string() : path;
  if (target.empty() || !replace(target, exists ? &status : nullptr, write)) write_in_place(path, write);
}

}  // namespace berth
