// SPDX-License-Identifier: Apache-2.0
// Any text is a configuration, an engine configuration and a gate flag, or an InputError: never a crash. The first byte
// selects the release and the gates. tests/unit/config/config_nasty_input_test.cpp runs the same function on a fixed
// set.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/errors.h"

namespace {

using namespace berth;

FeatureGates choose_gates(unsigned choice) {
  FeatureGates gates((choice & 1u) != 0 ? Release::k1_36 : Release::k1_35);
  if ((choice & 2u) != 0) gates.apply("AllAlpha=true");
  return gates;
}

template <class Body>
void accept_or_refuse(Body&& body) {
  try {
    body();
  } catch (const InputError& error) {
    if (error.problems().empty()) std::abort();  // a refusal that says nothing
  }
}

void check(const SchedulerConfig& config) {
  if (config.profiles.empty()) std::abort();
  for (const Profile& profile : config.profiles) {
    if (profile.at(ExtensionPoint::kQueueSort).size() != 1) std::abort();
    for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kScore)) {
      if (plugin.weight < 1) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const FeatureGates gates = choose_gates(data[0]);
  accept_or_refuse([&] { check(parse_scheduler_config(text, "fuzz", gates)); });
  accept_or_refuse([&] { static_cast<void>(parse_engine_config(text, "fuzz")); });
  accept_or_refuse([&] { FeatureGates(gates).apply(text); });
  return 0;
}
