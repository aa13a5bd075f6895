// SPDX-License-Identifier: Apache-2.0
// The fuzz target's function on deliberately awkward inputs; libFuzzer searches for more (tests/fuzz).

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/config/config_test_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace berth {
namespace {

void run(const std::string& text) {
  for (const char choice : {'\0', '\1', '\2', '\3'}) {
    const std::string input = choice + text;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

TEST(ConfigNastyInput, RandomTextDoesNotCrashTheReaders) {
  const std::vector<std::string> texts = {
      "",
      "{",
      "}",
      "[",
      "null",
      "true",
      "0",
      "\"\"",
      "---",
      "...",
      "- - -",
      "a",
      ":",
      "? ",
      "!!binary x",
      "&a *a",
      "%YAML 9.9\n---\n",
      std::string("\0", 1),
      std::string("\xFF\xFE{\0", 4),
      "\xEF\xBB\xBF{}",
      "{\"\\ud800\": 1}",
      "\t- x",
      std::string(100'000, '['),
      std::string(100'000, '{'),
      "{\"a\":" + std::string(10'000, '['),
      std::string(50'000, '-') + "\n",
      "a: &a [*a]",
      "<<: {a: 1}",
      "x: !!float .nan",
      "Name=\x80=true,=,==,,AllAlpha=",
      config_json(R"("parallelism": 1e400)"),
      config_json(R"("parallelism": -9223372036854775809)"),
      config_json(R"("parallelism": 18446744073709551616)"),
      config_json(R"("": 1, "": 1)"),
      config_json(R"("profiles": [null, [], {}, 0, "x"])"),
      config_json(R"("extenders": [null])"),
      profile_json(R"("plugins": {"multiPoint": {"enabled": [null, {}, {"name": null}]}})"),
      profile_json(R"("plugins": null, "pluginConfig": [null, {"name": 0}, {"name": "NodeAffinity", "args": []}])"),
      args_json("NodeResourcesFit", R"({"ignoredResources": [null, [], {}], "scoringStrategy": []})"),
      args_json("NodeResourcesFit", R"({"scoringStrategy": {"requestedToCapacityRatio": 1, "resources": [null]}})"),
      args_json("NodeAffinity", R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}})"),
      args_json("NodeAffinity", R"({"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [null, 1]}})"),
      args_json("PodTopologySpread", R"({"defaultConstraints": [null, 3, {"topologyKey": 1}]})"),
      args_json("VolumeBinding", R"({"shape": [null]})"),
      args_json("DynamicResources", R"({"filterTimeout": {}})"),
  };
  for (const std::string& text : texts) run(text);
}

TEST(ConfigNastyInput, PrefixesOfAConfigurationDoNotCrashTheReaders) {
  const std::string whole = args_json("NodeResourcesFit", R"({"scoringStrategy": {"type": "RequestedToCapacityRatio",
      "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]}}})");
  for (std::size_t length = 0; length <= whole.size(); ++length) run(whole.substr(0, length));
}

TEST(ConfigNastyInput, ChangedBytesDoNotCrashTheReaders) {
  const std::string whole =
      config_json(R"("profiles": [{"plugins": {"score": {"enabled": [{"name": "ImageLocality"}]}}}])");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : {'\0', '"', '{', ']', ',', '\\', '\xC3'}) {
      std::string changed = whole;
      changed[at] = c;
      run(changed);
    }
  }
}

}  // namespace
}  // namespace berth
