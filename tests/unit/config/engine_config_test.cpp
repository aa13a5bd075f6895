// SPDX-License-Identifier: Apache-2.0
#include "host/config/engine_config.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

std::string engine_json(const std::string& fields) {
  return R"({"apiVersion": "berth.dev/v1alpha1", "kind": "BerthEngineConfiguration")" +
         (fields.empty() ? "" : ", " + fields) + "}";
}

EngineConfig parse_engine(const std::string& fields) { return parse_engine_config(engine_json(fields), "engine.yaml"); }

Lines engine_problems(const std::string& fields) {
  return problems_in([&] { parse_engine(fields); });
}

TEST(EngineConfig, AnEmptyFileHasTheDefaults) {
  const EngineConfig config = parse_engine("");
  EXPECT_EQ(config.backend, "auto");
  EXPECT_EQ(config.seed, 0u);
  EXPECT_EQ(config.tie_break, TieBreak::kLoad);
  EXPECT_EQ(config.node_sampling, NodeSampling::kAll);
  EXPECT_EQ(config.threads, 0);
  EXPECT_EQ(config.row_bytes_max, std::uint64_t{1} << 30);
  EXPECT_EQ(config.batch_pods_max, 1 << 20);
  EXPECT_TRUE(config.upstream_bugs.empty_spread_selector_counts_nothing);
  EXPECT_TRUE(config.upstream_bugs.negative_namespace_selector_matches_all);
  EXPECT_EQ(config.device_ordinal, 0);
  EXPECT_EQ(config.device_memory_bytes_max, 0u);
  EXPECT_EQ(config.on_device_failure, DeviceFailure::kStop);
}

TEST(EngineConfig, EveryFieldIsRead) {
  const EngineConfig config = parse_engine(R"("backend": "cpu", "seed": 18446744073709551615, "tieBreak": "first",
      "nodeSampling": "kube", "threads": 3, "rowBytesMax": "512Mi", "batchPodsMax": 7,
      "upstreamBugs": {"emptySpreadSelectorCountsNothing": false})");
  EXPECT_EQ(config.backend, "cpu");
  EXPECT_EQ(config.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(config.tie_break, TieBreak::kFirst);
  EXPECT_EQ(config.node_sampling, NodeSampling::kKube);
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.row_bytes_max, std::uint64_t{512} << 20);
  EXPECT_EQ(config.batch_pods_max, 7);
  EXPECT_FALSE(config.upstream_bugs.empty_spread_selector_counts_nothing);
  EXPECT_TRUE(config.upstream_bugs.negative_namespace_selector_matches_all);
  EXPECT_EQ(parse_engine(R"("rowBytesMax": 4096)").row_bytes_max, 4096u);
}

TEST(EngineConfig, DeviceSettingsAreRead) {
  const EngineConfig config =
      parse_engine(R"("device": {"ordinal": 3, "memoryBytesMax": "60Gi", "onFailure": "rerunOnCpu"})");
  EXPECT_EQ(config.device_ordinal, 3);
  EXPECT_EQ(config.device_memory_bytes_max, std::uint64_t{60} << 30);
  EXPECT_EQ(config.on_device_failure, DeviceFailure::kRerunOnCpu);
  EXPECT_EQ(parse_engine(R"("device": {"memoryBytesMax": 4096})").device_memory_bytes_max, 4096u);
  EXPECT_EQ(parse_engine(R"("device": {"onFailure": "stop"})").on_device_failure, DeviceFailure::kStop);
  EXPECT_EQ(parse_engine(R"("device": {})").device_ordinal, 0);
}

TEST(EngineConfig, InvalidDeviceValuesAreReportedWithTheirPath) {
  EXPECT_EQ(engine_problems(R"("device": {"ordinal": -1, "memoryBytesMax": 0, "onFailure": "rerun-on-cpu"})"),
            (Lines{"device.ordinal: got -1, expected an integer of at least 0",
                   "device.memoryBytesMax: got 0, expected a number of bytes above 0, or a quantity such as \"512Mi\"",
                   "device.onFailure: got \"rerun-on-cpu\", expected stop or rerunOnCpu"}));
  EXPECT_EQ(engine_problems(R"("device": {"ordinal": "first", "memoryBytesMax": "all", "onFailure": 1, "name": "x"})"),
            (Lines{"device.ordinal: got \"first\", expected an integer",
                   "device.memoryBytesMax: got \"all\", expected a number of bytes above 0, or a quantity such as "
                   "\"512Mi\"",
                   "device.onFailure: got 1, expected a string", "device.name: unknown field"}));
  EXPECT_EQ(engine_problems(R"("device": 0)"), (Lines{"device: got 0, expected an object"}));
}

TEST(EngineConfig, YamlIsRead) {
  const EngineConfig config = parse_engine_config(
      "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\ntieBreak: kube\n", "engine.yaml");
  EXPECT_EQ(config.tie_break, TieBreak::kKube);
}

TEST(EngineConfig, InvalidValuesAreReportedWithTheExpectation) {
  EXPECT_EQ(engine_problems(R"("backend": "gpu", "seed": -1, "tieBreak": "best", "nodeSampling": "some",
                               "threads": 1025, "rowBytesMax": "big", "batchPodsMax": 0)"),
            (Lines{"backend: got \"gpu\", expected auto, reference, cpu or cuda",
                   "seed: got -1, expected an integer from 0 to 18446744073709551615",
                   "tieBreak: got \"best\", expected load, random, first or kube",
                   "nodeSampling: got \"some\", expected all or kube",
                   "threads: got 1025, expected an integer from 0 to 1024",
                   "rowBytesMax: got \"big\", expected a number of bytes above 0, or a quantity such as \"512Mi\"",
                   "batchPodsMax: got 0, expected an integer of at least 1"}));
}

TEST(EngineConfig, UnknownFieldsAreRefused) {
  EXPECT_EQ(engine_problems(R"("parallelism": 16, "threads": 1, "threads": 1)"),
            (Lines{"parallelism: unknown field", "threads: duplicate field"}));
  EXPECT_EQ(engine_problems(R"("upstreamBugs": {"all": true, "emptySpreadSelectorCountsNothing": 1})"),
            (Lines{"upstreamBugs.all: unknown field",
                   "upstreamBugs.emptySpreadSelectorCountsNothing: got 1, expected true or false"}));
}

TEST(EngineConfig, AnotherKindIsRefused) {
  EXPECT_EQ(problems_in([] { parse_engine_config(config_json(""), "engine.yaml"); }),
            (Lines{"apiVersion: got \"kubescheduler.config.k8s.io/v1\", expected \"berth.dev/v1alpha1\"",
                   "kind: got \"KubeSchedulerConfiguration\", expected \"BerthEngineConfiguration\""}));
}

TEST(EngineConfig, AMissingFileIsAnError) { EXPECT_THROW(load_engine_config("/does/not/exist"), InputError); }

TEST(EngineConfig, FlagNamesRoundTrip) {
  for (const char* name : {"load", "random", "first", "kube"}) EXPECT_EQ(to_string(parse_tie_break(name)), name);
  for (const char* name : {"all", "kube"}) EXPECT_EQ(to_string(parse_node_sampling(name)), name);
  EXPECT_EQ(parse_device_failure("stop"), DeviceFailure::kStop);
  EXPECT_EQ(parse_device_failure("rerun-on-cpu"), DeviceFailure::kRerunOnCpu);
  EXPECT_EQ(problems_in([] { parse_device_failure("retry"); }),
            Lines{": got \"retry\", expected stop or rerun-on-cpu"});
  EXPECT_EQ(problems_in([] { parse_tie_break("x"); }), Lines{": got \"x\", expected load, random, first or kube"});
  EXPECT_EQ(problems_in([] { parse_node_sampling(""); }), Lines{": got \"\", expected all or kube"});
}

TEST(EngineConfig, ProblemsNameTheirLine) {
  try {
    parse_engine_config("apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\nseed: -1\n", "e.yaml");
    ADD_FAILURE() << "read";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().at(0).location, "line 3, seed");
  }
}

}  // namespace
}  // namespace berth
