// SPDX-License-Identifier: Apache-2.0
// The calls of an engine in any order: events, batches cut by limits, evaluations between them, several marks and
// rollbacks, placements undone one by one, pods released.
// After each call the cpu backend must equal the reference.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/property/drawn_case.h"
#include "tests/property/paired_calls.h"

namespace berth {
namespace {

using test::Case;

void expect_one_state(Case drawn) {
  RC_PRE(!drawn.pods.empty());
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  test::PairedCalls(drawn, reference, cpu).make_all();
}

RC_GTEST_PROP(InterleavedCalls, LeaveBothBackendsInOneState, ()) {
  expect_one_state(Case(*rc::gen::arbitrary<std::uint64_t>()));
}

// 174015: a node begins to offer a resource that a nominated pod asks for.
RC_GTEST_PROP(InterleavedCalls, SeedsThatFailedOnce, ()) { expect_one_state(Case(174015)); }

RC_GTEST_PROP(InterleavedCalls, LeaveBothBackendsInOneStateWithHostPlugins, ()) {
  expect_one_state(Case(*rc::gen::arbitrary<std::uint64_t>(), true, true));
}

}  // namespace
}  // namespace berth
