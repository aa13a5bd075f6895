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

RC_GTEST_PROP(InterleavedCalls, LeaveBothBackendsInOneState, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(!drawn.pods.empty());
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  test::PairedCalls(drawn, reference, cpu).make_all();
}

RC_GTEST_PROP(InterleavedCalls, LeaveBothBackendsInOneStateWithHostPlugins, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>(), true, true);
  RC_PRE(!drawn.pods.empty());
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  test::PairedCalls(drawn, reference, cpu).make_all();
}

}  // namespace
}  // namespace berth
