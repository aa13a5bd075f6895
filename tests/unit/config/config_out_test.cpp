// SPDX-License-Identifier: Apache-2.0
#include "host/config/config_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "host/config/config_reader.h"
#include "host/config/scheduler_config.h"
#include "host/report/document_formats.h"
#include "host/report/output.h"

namespace berth::test {
namespace {

using nlohmann::json;

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(BERTH_CONFIG_DATA) + "/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

SchedulerConfig read(const std::string& text) { return parse_scheduler_config(text, "test", FeatureGates()); }

std::string config_json(const SchedulerConfig& config, ConfigSecrets secrets) {
  std::string text;
  Output output(text);
  write_config(config, secrets, *json_writer(output, 0));
  output.flush();
  return text;
}

/// Upstream writes fields that hold nothing, too.
void remove_empty(json& value) {
  if (value.is_object()) {
    for (auto at = value.begin(); at != value.end();) {
      remove_empty(*at);
      const json& left = *at;
      const bool is_empty_text = left.is_string() && left.get_ref<const std::string&>().empty();
      const bool is_empty_list = left.is_structured() && left.empty();
      const bool is_empty = left.is_null() || is_empty_text || is_empty_list || left == 0 || left == false;
      at = is_empty ? value.erase(at) : std::next(at);
    }
  } else if (value.is_array()) {
    for (json& element : value) remove_empty(element);
  }
}

/// Upstream shows arguments in the order of the file.
void sort_arguments(json& config) {
  for (json& profile : config["Profiles"])
    std::sort(profile["PluginConfig"].begin(), profile["PluginConfig"].end(),
              [](const json& a, const json& b) { return a["Name"] < b["Name"]; });
}

/// What reading settles and upstream's writing does not: see write_config().
struct ExtenderFields {
  const char* list = "extenders";
  const char* prefix = "urlPrefix";
  const char* ignorable = "ignorable";
};
json settled(json document, const ExtenderFields& names = {}) {
  if (!document.contains(names.list)) return document;
  json& extenders = document[names.list];
  for (json& extender : extenders) {
    auto prefix = extender[names.prefix].get<std::string>();
    while (prefix.ends_with('/')) prefix.pop_back();
    extender[names.prefix] = prefix;
  }
  std::stable_partition(extenders.begin(), extenders.end(),
                        [&](const json& extender) { return !extender.value(names.ignorable, false); });
  return document;
}

class ConfigOutTest : public testing::TestWithParam<const char*> {};

/// The recordings: kube-scheduler v1.35.4 --config NAME.yaml --write-config-to NAME.out.yaml.
TEST_P(ConfigOutTest, EveryFieldIsWhatKubeSchedulerWrites) {
  const std::string name = GetParam();
  const json ours = json::parse(config_json(read(text_of(name + ".yaml")), ConfigSecrets::kWritten));
  const json theirs = json::parse(config_document_from_text(text_of(name + ".out.yaml"), "upstream").json);
  EXPECT_EQ(settled(ours), settled(theirs)) << json::diff(settled(theirs), settled(ours)).dump(2);
}

/// The recordings: GET /configz of kube-scheduler v1.35.4 --config NAME.yaml --leader-elect=false.
TEST_P(ConfigOutTest, ConfigzIsWhatKubeSchedulerShows) {
  const std::string name = GetParam();
  SchedulerConfig config = read(text_of(name + ".yaml"));
  config.leader_election.leader_elect = false;
  json ours = json::parse(configz_json(config));
  json theirs = settled(json::parse(text_of(name + ".configz.json"))["componentconfig"],
                        {.list = "Extenders", .prefix = "URLPrefix", .ignorable = "Ignorable"});
  for (json* const config_of : {&ours, &theirs}) {
    sort_arguments(*config_of);
    remove_empty(*config_of);
  }
  EXPECT_EQ(ours, theirs) << json::diff(theirs, ours).dump(2);
}

TEST_P(ConfigOutTest, ReadingItBackGivesTheSameConfiguration) {
  for (const char* suffix : {".yaml", ".out.yaml"}) {
    const SchedulerConfig config = read(text_of(GetParam() + std::string(suffix)));
    const std::string written = config_json(config, ConfigSecrets::kWritten);
    const SchedulerConfig again = read(written);
    EXPECT_EQ(config_json(again, ConfigSecrets::kWritten), written);
    ASSERT_EQ(again.profiles.size(), config.profiles.size());
    for (std::size_t i = 0; i < config.profiles.size(); ++i)
      EXPECT_EQ(again.profiles[i].plugins, config.profiles[i].plugins);
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, ConfigOutTest,
                         testing::Values("defaults", "profiles", "extenders", "scheduler_plugins_off"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(ConfigOut, WithoutAFileItIsTheDefaults) {
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  config.client_connection.kubeconfig = "kc.yaml";
  EXPECT_EQ(json::parse(config_json(config, ConfigSecrets::kWritten)),
            json::parse(config_document_from_text(text_of("defaults.out.yaml"), "upstream").json));
}

TEST(ConfigOut, KeysAreWithheldFromOthersAndWrittenForReadingBack) {
  const SchedulerConfig config =
      read(R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
    "extenders":[{"urlPrefix":"https://x","filterVerb":"f","tlsConfig":{"certData":"AAEC/w==","keyData":"c2VjcmV0"}}]})");
  const std::string shown = config_json(config, ConfigSecrets::kWithheld);
  EXPECT_EQ(shown.find("c2VjcmV0"), std::string::npos);
  EXPECT_NE(shown.find("--- REDACTED ---"), std::string::npos);
  const SchedulerConfig again = read(config_json(config, ConfigSecrets::kWritten));
  EXPECT_EQ(again.extenders.front().tls->key_data, "secret");
  EXPECT_EQ(again.extenders.front().tls->cert_data, std::string("\0\1\2\xff", 4));
}

TEST(ConfigOut, NumbersOfClientConnectionAreUpstreamsWhereUnset) {
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  EXPECT_EQ(config.client_connection.qps, std::nullopt);
  EXPECT_NE(config_json(config, ConfigSecrets::kWritten).find(R"("qps":50})"), std::string::npos);
  config.client_connection.qps = 0.1f;
  EXPECT_NE(config_json(config, ConfigSecrets::kWritten).find(R"("qps":0.1})"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
