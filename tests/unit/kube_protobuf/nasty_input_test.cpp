// SPDX-License-Identifier: Apache-2.0
// The fuzz target's function on deliberately awkward inputs; libFuzzer searches for more (tests/fuzz).

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "host/kube/protobuf/proto_tables.h"
#include "tests/unit/kube_protobuf/wire_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace berth {
namespace {

void run(std::string_view message, const std::string& bytes) {
  const auto number = find_proto_message(message) - proto_messages().data();
  const std::string input = static_cast<char>(number) + bytes;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

const std::string kPod =
    wire(1, wire(1, "web-0") + wire(3, "shop") + wire(5, "u") + wire(6, "12") + wire(8, wire(1, 1'700'000'000)) +
                wire(11, wire(1, "app") + wire(2, "web")) + wire(12, wire(1, "note") + wire(2, "\xFF\"")) +
                wire(13, wire(1, "ReplicaSet") + wire(6, 1)) + wire(17, "managed")) +
    wire(2, wire(1, wire(1, "data") + wire(2, wire(1, wire(1, "/x")))) +
                wire(2, wire(1, "c") + wire(8, wire(2, wire(1, "cpu") + wire(2, wire(1, "1"))))) + wire(4, 30) +
                wire(22, wire(1, "k") + wire(5, -1)) + wire(25, -7)) +
    wire(3, wire(1, "Pending") + wire(2, wire(1, "PodScheduled") + wire(2, "False")));

std::vector<std::string> seeds() {
  return {kPod, watch_frame("ADDED", enveloped("Pod", kPod)), watch_frame("ADDED", enveloped("Pod", kPod)).substr(4),
          enveloped("PodList", wire(1, wire(2, "7")) + wire(2, kPod) + wire(2, kPod)),
          enveloped("Status", wire(3, "gone") + wire(6, 410))};
}

TEST(ProtobufNastyInput, PrefixesAreReadOrRefused) {
  for (const std::string& seed : seeds())
    for (std::size_t length = 0; length <= seed.size(); ++length) run("Pod", seed.substr(0, length));
}

TEST(ProtobufNastyInput, ChangedBytesAreReadOrRefused) {
  std::mt19937 dice(1);
  for (const std::string& seed : seeds()) {
    for (int round = 0; round < 20; ++round) {
      for (std::size_t at = 0; at < seed.size(); ++at) {
        std::string changed = seed;
        changed[at] = static_cast<char>(dice());
        run("Pod", changed);
        changed.erase(dice() % changed.size(), dice() % 9);
        run("Pod", changed);
      }
    }
  }
}

TEST(ProtobufNastyInput, EachMessageTakesAnyBytesOrRefusesThem) {
  std::mt19937 dice(2);
  for (const ProtoMessage& message : proto_messages()) {
    for (int round = 0; round < 200; ++round) {
      std::string bytes;
      for (unsigned field = 0; field < dice() % 6; ++field) {
        const auto number = static_cast<std::uint32_t>(1 + dice() % 40);
        const auto inner = static_cast<std::uint32_t>(1 + dice() % 3);
        bytes += dice() % 2 == 0 ? wire(number, static_cast<std::int64_t>(dice())) : wire(number, wire(inner, "x"));
      }
      run(message.name, bytes);
    }
  }
}

}  // namespace
}  // namespace berth
