// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/pod_footprint.h"

#include <gtest/gtest.h>

#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

ContainerPort host_port(std::int32_t port, std::string protocol = "", std::string ip = "") {
  ContainerPort result;
  result.host_port = port;
  result.protocol = std::move(protocol);
  result.host_ip = std::move(ip);
  return result;
}

TEST(WantedHostPorts, EmptyAddressAndProtocolMeanAnyAddressAndTcp) {
  EXPECT_EQ(wanted_host_ports(*make_spec({}, {host_port(8080)})), (std::vector<HostPort>{{"0.0.0.0", "TCP", 8080}}));
}

TEST(WantedHostPorts, AContainerPortWithoutHostPortIsNotWanted) {
  ContainerPort port;
  port.container_port = 80;
  EXPECT_TRUE(wanted_host_ports(*make_spec({}, {port, host_port(-1)})).empty());
}

TEST(WantedHostPorts, SidecarsCountAndOrdinaryInitContainersDoNot) {
  PodSpec spec;
  spec.init_containers.resize(2);
  spec.init_containers[0].ports = {host_port(80)};
  spec.init_containers[1].ports = {host_port(90, "UDP", "10.0.0.1")};
  spec.init_containers[1].restart_always = true;
  EXPECT_EQ(wanted_host_ports(spec), (std::vector<HostPort>{{"10.0.0.1", "UDP", 90}}));
}

TEST(WantedHostPorts, EachKeyIsListedOnce) {
  const auto spec = make_spec({}, {host_port(80), host_port(80, "TCP", "0.0.0.0"), host_port(80, "UDP")});
  EXPECT_EQ(wanted_host_ports(*spec).size(), 2U);
}

TEST(FootprintMemo, GivesEachSpecItsOwnFigures) {
  FootprintMemo memo;
  std::vector<PodPtr> pods;
  for (int i = 0; i < 3000; ++i) pods.push_back(make_pod("p" + std::to_string(i), "n", i));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3000; ++i) {
      ASSERT_EQ(memo.of(*pods[static_cast<std::size_t>(i)]).requested.milli_cpu, i);
    }
  }
}

TEST(FootprintMemo, ASpecEndsWithItsPods) {
  FootprintMemo memo;
  for (int i = 0; i < 3000; ++i) {
    PodPtr pod = make_pod("p", "n", i);
    const std::weak_ptr<const PodSpec> spec = pod->spec;
    ASSERT_EQ(memo.of(*pod).requested.milli_cpu, i) << "the latest one may have had the same address";
    pod = nullptr;
    ASSERT_TRUE(spec.expired());
  }
}

TEST(FootprintMemo, APodWithStatusResourcesHasItsOwnFigures) {
  const auto spec = make_spec({{"cpu", millis(100)}});
  Pod resized;
  resized.name = "resized";
  resized.spec = spec;
  auto rare = std::make_unique<PodRare>();
  rare->status_resources.push_back({"", {{"cpu", millis(900)}}, {}});
  resized.rare_fields = std::move(rare);
  FootprintMemo memo;
  EXPECT_EQ(memo.of(*make_pod("plain", "n", spec)).requested.milli_cpu, 100);
  EXPECT_EQ(memo.of(resized).requested.milli_cpu, pod_footprint(resized).requested.milli_cpu);
  EXPECT_EQ(memo.of(*make_pod("plain", "n", spec)).requested.milli_cpu, 100);
}

}  // namespace
}  // namespace berth
