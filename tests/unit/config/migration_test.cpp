// SPDX-License-Identifier: Apache-2.0
#include "host/config/migration.h"

#include <gtest/gtest.h>

#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(MigrationHint, GathersTheChangesOfEveryLaterVersion) {
  const std::string of_beta3 = migration_hint("kubescheduler.config.k8s.io/v1beta3");
  EXPECT_TRUE(has(of_beta3, "write apiVersion kubescheduler.config.k8s.io/v1 here")) << of_beta3;
  EXPECT_TRUE(has(of_beta3, "SelectorSpread")) << of_beta3;
  EXPECT_FALSE(has(of_beta3, "TaintToleration")) << of_beta3;
  const std::string of_beta2 = migration_hint("kubescheduler.config.k8s.io/v1beta2");
  EXPECT_TRUE(has(of_beta2, "SelectorSpread") && has(of_beta2, "TaintToleration")) << of_beta2;
  EXPECT_FALSE(has(of_beta2, "NodeLabel")) << of_beta2;
  const std::string of_beta1 = migration_hint("kubescheduler.config.k8s.io/v1beta1");
  EXPECT_TRUE(has(of_beta1, "SelectorSpread") && has(of_beta1, "NodeLabel")) << of_beta1;
  EXPECT_TRUE(has(migration_hint("kubescheduler.config.k8s.io/v1alpha1"), "another structure"));
}

TEST(MigrationHint, IsEmptyForOtherVersionsAndGroups) {
  for (const char* version : {"kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v2", "v1beta3", "",
                              "apps/v1beta2", "kubescheduler.config.k8s.io/"}) {
    EXPECT_EQ(migration_hint(version), "") << version;
  }
}

TEST(MigrationHint, StandsBehindTheProblemOfTheVersion) {
  const Lines lines = problems_of(
      R"({"apiVersion": "kubescheduler.config.k8s.io/v1beta2", "kind": "KubeSchedulerConfiguration",
          "healthzBindAddress": "0.0.0.0:10251"})");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "apiVersion: got \"kubescheduler.config.k8s.io/v1beta2\", expected \"kubescheduler.config.k8s.io/v1\"");
  EXPECT_EQ(lines[1].rfind("apiVersion: to migrate from v1beta2, write apiVersion ", 0), 0u) << lines[1];
  EXPECT_EQ(lines[2].rfind("healthzBindAddress: no longer exists", 0), 0u) << lines[2];
}

}  // namespace
}  // namespace berth
