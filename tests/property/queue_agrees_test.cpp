// SPDX-License-Identifier: Apache-2.0
// The queue against a plain model of it, in any order of calls: after each one every pod is in the same place, and the
// same pods are popped.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/property/queue_pair.h"

namespace berth {
namespace {

RC_GTEST_PROP(QueueAgreesTest, WithThePlainModelAfterEveryCall, ()) {
  test::QueuePair pair(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
  for (int i = 0; i < 150; ++i) {
    pair.step();
    pair.compare();
  }
}

}  // namespace
}  // namespace berth
