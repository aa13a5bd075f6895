// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data that is not in this repository: published clusters and manifests (docs/testing.md).

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace berth::test {

/// The folder `data` in BERTH_SHARED, or in ../shared when that is not set. It need not exist.
inline std::filesystem::path shared_data_folder() {
  const char* shared = std::getenv("BERTH_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : "../shared") / "data";
}

}  // namespace berth::test

/// Skips the test when `path` is absent, and says which path and how to provide it.
#define BERTH_SKIP_WITHOUT_SHARED_DATA(path)                                                             \
  if (!std::filesystem::exists(path))                                                                    \
  GTEST_SKIP() << (path) << " is not in this repository. Set BERTH_SHARED to the folder that holds data" \
               << " (docs/testing.md) to run this test."
