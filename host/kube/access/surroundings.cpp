// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/surroundings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "host/objects/json_writer.h"

namespace berth {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

std::runtime_error unreadable(const std::string& path, int error) {
  return std::runtime_error("cannot read " + path + ": " + std::strerror(error));
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

std::string Surroundings::variable(std::string_view name) const {
  std::string value;
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      value = entry.substr(name.size() + 1);
    }
  }
  return value;
}

Surroundings Surroundings::of_this_process() {
  Surroundings around;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) around.environment.emplace_back(*entry);
  around.clock = &RealClock::shared();
  around.wall_time_us = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
  };
  return around;
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    throw std::runtime_error(std::string("cannot read the host's name: ") + std::strerror(errno));
  }
  return name.data();
}

std::string read_small_file(const std::string& path) {
  const OpenFile file(path);
  if (file.get() < 0) throw unreadable(path, errno);
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) throw unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error("cannot read " + path + ": it is not a regular file");
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw unreadable(path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kFileBytesMax) throw std::runtime_error("cannot read " + path + ": it is larger than 1 MiB");
  }
}

std::string escaped_for_message(std::string_view text, std::size_t bytes_max) {
  std::string out;
  JsonWriter(out).value(text.substr(0, bytes_max));
  if (text.size() > bytes_max) out += "...";
  return out;
}

}  // namespace berth
