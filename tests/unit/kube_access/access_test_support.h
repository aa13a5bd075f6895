// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/access/surroundings.h"

namespace berth {

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth_access_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// @return the path of the file
  std::string write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
    return file.string();
  }
  std::string write_script(const std::string& name, const std::string& body) const {
    const std::string file = write(name, "#!/bin/sh\n" + body);
    chmod(file.c_str(), 0700);
    return file;
  }

 private:
  std::string path_;
};

/// An environment, a clock and a time of day that a test sets.
struct FakeSurroundings {
  VirtualClock clock{1'000'000'000};
  std::int64_t wall_us = 1'700'000'000'000'000;
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
  std::string root;

  Surroundings get() {
    return {environment, root, &clock, [this] { return wall_us; }};
  }
};

/// Whether `text` holds `part`; shows both where it is not as expected.
inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  const bool holds = text.find(part) != std::string::npos;
  return (holds ? testing::AssertionSuccess() : testing::AssertionFailure()) << "text: " << text << "\npart: " << part;
}

/// what() of the exception that `body` throws; empty when it throws nothing.
template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace berth
