// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth {

/// What the process says to its caller; docs/cli.md.
enum class ExitCode : int {
  kDone = 0,
  kError = 1,      ///< the question was not answered
  kUsage = 2,      ///< the question was not understood
  kUnplaced = 3,   ///< --fail-unplaced, and some pod found no node
  kDevice = 4,     ///< the question was not answered: no device can be used, or the device failed
  kDifferent = 5,  ///< replay and diff: the runs did not decide the same
};

}  // namespace berth
