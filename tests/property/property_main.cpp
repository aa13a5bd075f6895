// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

/// Thousands of cases unless RC_PARAMS says otherwise; a failure prints the RC_PARAMS that reproduces it.
int main(int argc, char** argv) {
  setenv("RC_PARAMS", "max_success=1000", 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
