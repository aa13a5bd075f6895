// SPDX-License-Identifier: Apache-2.0
// Any text is a scenario of `berth simulate` or an InputError, and likewise a workload file of `berth perf`: never a
// crash.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/errors.h"
#include "host/perf/perf_config.h"
#include "host/simulate/scenario_reader.h"

namespace {

using namespace berth;

template <class Body>
void accept_or_refuse(Body&& body) {
  try {
    body();
  } catch (const InputError& error) {
    if (error.problems().empty()) std::abort();  // a refusal that says nothing
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  accept_or_refuse([&] {
    std::vector<std::string> warnings;
    static_cast<void>(make_scenario(parse_scenario(text, "fuzz.yaml"), ClusterObjects(), warnings));
  });
  accept_or_refuse([&] {
    for (const PerfTestCase& test_case : parse_perf_file(text, "topic/fuzz.yaml").cases)
      if (test_case.workloads.empty() || test_case.ops.empty()) std::abort();
  });
  return 0;
}
