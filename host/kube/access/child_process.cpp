// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

namespace berth {
namespace {

using Time = std::chrono::steady_clock::time_point;

/// How long one wait for output lasts before the process is asked for its end, which no descriptor tells.
constexpr int kPollMs = 20;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

/// @return 0, or the error
int open_pipe(Descriptor& reader, Descriptor& writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  reader.reset(ends[0]);
  writer.reset(ends[1]);
  // Above the three that the child gets, which are free numbers in a process that closed its own.
  const int moved = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (moved < 0) return errno;
  writer.reset(moved);
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

/// What posix_spawn() is told, freed at the end.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// @return 0, or the error
  int prepare(int output, int errors) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    const int steps[] = {
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO),
        posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO),
        posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1),
        posix_spawnattr_setsigmask(&attributes_, &none),
        posix_spawnattr_setsigdefault(&attributes_, &all),
        posix_spawnattr_setpgroup(&attributes_, 0),
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP),
    };
    const auto* failed = std::find_if(std::begin(steps), std::end(steps), [](int error) { return error != 0; });
    return failed == std::end(steps) ? 0 : *failed;
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Ends a process at the latest when it is destroyed, also where reading its output runs out of memory.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (!is_over_) kill_and_wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_over() {
    if (!is_over_ && waitpid(id_, &status_, WNOHANG) == id_) is_over_ = true;
    return is_over_;
  }
  void kill_and_wait() {
    kill(-id_, SIGKILL);
    kill(id_, SIGKILL);  // where it has left its group
    while (waitpid(id_, &status_, 0) < 0 && errno == EINTR) continue;
    is_over_ = true;
  }
  int status() const { return status_; }

 private:
  pid_t id_;
  int status_ = 0;
  bool is_over_ = false;
};

/// Appends what can be read now, at most 64 KiB, to `out` while that holds less than `bytes_max`; closes `pipe` at its
/// end. @return false where bytes were dropped
bool read_some(Descriptor& pipe, std::string& out, std::size_t bytes_max) {
  char buffer[4096];
  bool is_whole = true;
  for (int i = 0; i < 16 && pipe.get() >= 0; ++i) {
    const ssize_t count = read(pipe.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      pipe.reset();
      break;
    }
    const std::size_t kept = std::min(static_cast<std::size_t>(count), bytes_max - out.size());
    out.append(buffer, kept);
    is_whole = is_whole && kept == static_cast<std::size_t>(count);
  }
  return is_whole;
}

void note_exit(int status, ChildResult& result) {
  if (WIFEXITED(status)) {
    result.end = ChildResult::End::kExited;
    result.code = WEXITSTATUS(status);
  } else {
    result.end = ChildResult::End::kKilledBySignal;
    result.code = WTERMSIG(status);
  }
}

void follow(Child& child, Descriptor& output, Descriptor& errors, const ChildLimits& limits,
            const std::atomic<bool>* is_cancelled, ChildResult& result) {
  const Time deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(limits.time_us);
  for (;;) {
    pollfd waits[] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}};
    poll(waits, 2, kPollMs);
    // Asked before reading: what it wrote before its end is in the pipes by then.
    const bool is_over = child.is_over();
    read_some(errors, result.errors, limits.error_bytes_kept);
    if (!read_some(output, result.output, limits.output_bytes_max)) {
      result.end = ChildResult::End::kTooMuchOutput;
      return child.kill_and_wait();
    }
    if (is_over) {
      while (output.get() >= 0) {
        const std::size_t before = result.output.size();
        if (!read_some(output, result.output, limits.output_bytes_max)) {
          result.end = ChildResult::End::kTooMuchOutput;
          return;
        }
        if (result.output.size() == before) break;
      }
      return note_exit(child.status(), result);
    }
    const bool is_stopped = is_cancelled != nullptr && is_cancelled->load(std::memory_order_relaxed);
    if (is_stopped || std::chrono::steady_clock::now() >= deadline) {
      result.end = is_stopped ? ChildResult::End::kCancelled : ChildResult::End::kTimedOut;
      return child.kill_and_wait();
    }
  }
}

}  // namespace

ChildResult run_child(const std::string& path, const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment, const ChildLimits& limits,
                      const std::atomic<bool>* is_cancelled) {
  ChildResult result;
  std::vector<std::string> argument_texts = {path};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  const std::vector<char*> argument_pointers = pointers_to(argument_texts);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  Descriptor output_reader, output_writer, errors_reader, errors_writer;
  SpawnPlan plan;
  result.error_number = open_pipe(output_reader, output_writer);
  if (result.error_number == 0) result.error_number = open_pipe(errors_reader, errors_writer);
  if (result.error_number == 0) result.error_number = plan.prepare(output_writer.get(), errors_writer.get());
  pid_t id = 0;
  if (result.error_number == 0) {
    result.error_number = posix_spawn(&id, path.c_str(), plan.actions(), plan.attributes(), argument_pointers.data(),
                                      variable_pointers.data());
  }
  if (result.error_number != 0) {
    if (result.error_number == ENOENT) result.end = ChildResult::End::kNotFound;
    return result;
  }
  Child child(id);
  output_writer.reset();
  errors_writer.reset();
  follow(child, output_reader, errors_reader, limits, is_cancelled, result);
  return result;
}

std::string find_program(const std::string& command, const std::string& search_path) {
  if (command.find('/') != std::string::npos) return command;
  std::string_view rest = search_path;
  while (!command.empty() && !rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!folder.starts_with('/')) continue;  // as Go: a program of the working directory is never found by its name
    std::string path = std::string(folder) + "/" + command;
    struct stat status = {};
    if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace berth
