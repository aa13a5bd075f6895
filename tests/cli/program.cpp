// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::test {
namespace {

/// The folder of this process, removed at its end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("berth-cli-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

const Folder& folder() {
  static const Folder instance;
  return instance;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

ProgramRun run_berth(const std::vector<std::string>& arguments, const std::string& input,
                     const std::string& redirections) {
  return run_program(BERTH_PROGRAM, arguments, input, redirections);
}

ProgramRun run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input,
                       const std::string& redirections) {
  const std::string in = write_file("stdin", input);
  const std::string out = folder().file("stdout");
  const std::string err = folder().file("stderr");
  std::string command = "LC_ALL=C " + quoted(program);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  command += " <" + quoted(in) + " >" + quoted(out) + " 2>" + quoted(err) + " " + redirections;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out), read_file(err)};
}

std::string write_file(const std::string& name, const std::string& content) {
  const std::string path = folder().file(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string small_cluster() {
  return R"(apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}]}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: c}
spec: {unschedulable: true}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: running}
  spec: {nodeName: a, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
  status: {phase: Running}
- apiVersion: v1
  kind: Pod
  metadata: {name: fits}
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: too-big}
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3500m}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: gated}
  spec: {schedulingGates: [{name: wait}], containers: [{name: c, image: i}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: other}
  spec: {schedulerName: other, containers: [{name: c, image: i}]}
)";
}

}  // namespace berth::test
