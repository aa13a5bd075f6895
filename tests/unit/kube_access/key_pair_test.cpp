// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/key_pair.h"

#include <gtest/gtest.h>

#include "tests/unit/kube_access/access_test_support.h"
#include "tests/unit/kube_access/key_texts.h"

namespace berth {
namespace {

TEST(KeyPair, ACertificateAndItsKeyBelongTogether) {
  EXPECT_EQ(problem_of_key_pair(kCertificate1, kKey1), "");
  EXPECT_EQ(problem_of_key_pair(kCertificate1 + kCertificate2, "text before\n" + kKey1), "");  // with its chain
  EXPECT_EQ(problem_of_key_pair(kCertificate1 + kKey1, kCertificate1 + kKey1), "");            // as kubelets write them
}

TEST(KeyPair, SaysWhatIsWrong) {
  EXPECT_EQ(problem_of_key_pair(kCertificate1, kKey2), "the client certificate and key do not belong together");
  EXPECT_TRUE(contains(problem_of_key_pair("", kKey1), "the client certificate cannot be read"));
  EXPECT_TRUE(contains(problem_of_key_pair(kKey1, kKey1), "the client certificate cannot be read"));
  EXPECT_TRUE(contains(problem_of_key_pair(kCertificate1, ""), "the client key cannot be read"));
  EXPECT_TRUE(contains(problem_of_key_pair(kCertificate1, kEncryptedKey1), "not encrypted"));
  EXPECT_TRUE(contains(problem_of_key_pair(kCertificate1.substr(0, 200), kKey1), "certificate cannot be read"));
}

}  // namespace
}  // namespace berth
