// SPDX-License-Identifier: Apache-2.0
// Extenders of a configuration: docs/behaviour/scheduler-core.md 7.5.

#include "host/config/extenders.h"

#include <gtest/gtest.h>

#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

std::string extenders(const std::string& list) { return config_json(R"("extenders": [)" + list + "]"); }

TEST(Extenders, EveryFieldIsRead) {
  const SchedulerConfig config = parse(extenders(R"({"urlPrefix": "https://x:1/a//", "filterVerb": "f",
      "prioritizeVerb": "p", "preemptVerb": "e", "bindVerb": "b", "weight": 3, "enableHTTPS": true,
      "tlsConfig": {"insecure": false, "serverName": "s", "certFile": "c", "keyFile": "k", "caFile": "a",
        "certData": "Y2VydA==", "keyData": "a2V5", "caData": "/+8A"},
      "httpTimeout": "1.5s", "nodeCacheCapable": true, "ignorable": true,
      "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": true}, {"name": "example.com/fpga"}]})"));
  ASSERT_EQ(config.extenders.size(), 1u);
  const Extender& extender = config.extenders[0];
  EXPECT_EQ(extender.url_prefix, "https://x:1/a");
  EXPECT_EQ(extender.filter_verb, "f");
  EXPECT_EQ(extender.prioritize_verb, "p");
  EXPECT_EQ(extender.preempt_verb, "e");
  EXPECT_EQ(extender.bind_verb, "b");
  EXPECT_EQ(extender.weight, 3);
  EXPECT_TRUE(extender.enable_https);
  ASSERT_TRUE(extender.tls.has_value());
  EXPECT_EQ(extender.tls->server_name, "s");
  EXPECT_EQ(extender.tls->cert_file, "c");
  EXPECT_EQ(extender.tls->key_file, "k");
  EXPECT_EQ(extender.tls->ca_file, "a");
  EXPECT_EQ(extender.tls->cert_data, "cert");
  EXPECT_EQ(extender.tls->key_data, "key");
  EXPECT_EQ(extender.tls->ca_data, std::string("\xFF\xEF\0", 3));
  EXPECT_EQ(extender.http_timeout_us, 1'500'000);
  EXPECT_TRUE(extender.node_cache_capable);
  EXPECT_TRUE(extender.ignorable);
  ASSERT_EQ(extender.managed_resources.size(), 2u);
  EXPECT_EQ(extender.managed_resources[0].name, "example.com/gpu");
  EXPECT_TRUE(extender.managed_resources[0].ignored_by_scheduler);
  EXPECT_FALSE(extender.managed_resources[1].ignored_by_scheduler);
}

TEST(Extenders, DefaultsAreEmpty) {
  const Extender extender = parse(extenders(R"({"urlPrefix": "http://x"})")).extenders.at(0);
  EXPECT_EQ(extender.weight, 0);
  EXPECT_EQ(extender.http_timeout_us, 0);
  EXPECT_FALSE(extender.tls.has_value());
  EXPECT_FALSE(extender.ignorable);
}

TEST(Extenders, IgnorableExtendersMoveToTheEnd) {
  const SchedulerConfig config = parse(extenders(
      R"({"urlPrefix": "a", "ignorable": true}, {"urlPrefix": "b"}, {"urlPrefix": "c", "ignorable": true}, {"urlPrefix": "d"})"));
  Lines order;
  for (const Extender& extender : config.extenders) order.push_back(extender.url_prefix);
  EXPECT_EQ(order, (Lines{"b", "d", "a", "c"}));
}

TEST(Extenders, ExtenderIgnoredResourcesReplaceThoseOfNodeResourcesFitInEveryProfile) {
  const std::string fit = R"("pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["old"]}}])";
  const std::string profiles = R"("profiles": [{"schedulerName": "a", )" + fit + R"(}, {"schedulerName": "b"}])";
  const SchedulerConfig config = parse(config_json(profiles + R"(, "extenders": [{"urlPrefix": "x", "managedResources":
                    [{"name": "x.com/a", "ignoredByScheduler": true}, {"name": "x.com/b"}]}])"));
  for (const Profile& profile : config.profiles) {
    EXPECT_EQ(profile.args.node_resources_fit.ignored_resources, Lines{"x.com/a"});
  }
  EXPECT_EQ(parse(config_json(profiles)).profiles.at(0).args.node_resources_fit.ignored_resources, Lines{"old"});
}

TEST(Extenders, AUrlIsRequired) {
  EXPECT_EQ(problems_of(extenders("{}")), Lines{"extenders[0].urlPrefix: expected a URL: the field is required"});
}

TEST(Extenders, APrioritizerNeedsAWeight) {
  EXPECT_EQ(problems_of(extenders(R"({"urlPrefix": "x", "prioritizeVerb": "p"})")),
            Lines{"extenders[0].weight: got nothing, expected an integer above 0, because prioritizeVerb is set"});
}

TEST(Extenders, AtMostOneExtenderBinds) {
  EXPECT_EQ(problems_of(extenders(R"({"urlPrefix": "x", "bindVerb": "b"}, {"urlPrefix": "y", "bindVerb": "b"})")),
            Lines{"extenders: got 2 extenders with a bindVerb, expected at most one"});
}

TEST(Extenders, ManagedResourcesAreExtendedAndUniqueAcrossExtenders) {
  EXPECT_EQ(problems_of(extenders(R"({"urlPrefix": "x", "managedResources": [{"name": "cpu"}, {}, {"name": "x.com/a"}]},
                                     {"urlPrefix": "y", "managedResources": [{"name": "x.com/a"}]})")),
            (Lines{"extenders[0].managedResources[0].name: got \"cpu\", expected the name of an extended resource, as "
                   "\"example.com/device\"",
                   "extenders[0].managedResources[1].name: got nothing, expected the name of an extended resource, as "
                   "\"example.com/device\"",
                   "extenders[1].managedResources[0].name: got \"x.com/a\", expected a resource that no other entry of "
                   "any extender manages"}));
}

TEST(Extenders, UnknownFieldsAreRefused) {
  EXPECT_EQ(problems_of(extenders(R"({"urlPrefix": "x", "url": "y", "tlsConfig": {"cert": ""},
                                      "managedResources": [{"name": "x.com/a", "ignored": true}]})")),
            (Lines{"extenders[0].url: unknown field", "extenders[0].tlsConfig.cert: unknown field",
                   "extenders[0].managedResources[0].ignored: unknown field"}));
}

TEST(Extenders, InvalidBase64IsRefusedWithoutPrintingIt) {
  for (const char* bad : {"secret!=", "abc", "=", "ab=c", "a===", "===="}) {
    EXPECT_EQ(problems_of(extenders(R"({"urlPrefix": "x", "tlsConfig": {"keyData": ")" + std::string(bad) + R"("}})")),
              Lines{"extenders[0].tlsConfig.keyData: expected base64"})
        << bad;
  }
}

TEST(Extenders, ATimeoutMustBeADuration) {
  EXPECT_EQ(problems_of(extenders(R"({"urlPrefix": "x", "httpTimeout": "5"})")),
            Lines{"extenders[0].httpTimeout: got \"5\", expected a duration such as \"15s\""});
}

}  // namespace
}  // namespace berth
