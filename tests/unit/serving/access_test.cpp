// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "host/objects/json_writer.h"
#include "host/serving/authentication.h"
#include "host/serving/authorization.h"
#include "tests/unit/serving/scripted_client.h"
#include "tests/unit/serving/test_certificates.h"

namespace berth::test {
namespace {

constexpr std::string_view kAllowed = R"({"status":{"allowed":true}})";
constexpr std::string_view kNotAllowed = R"({"status":{"allowed":false,"reason":"RBAC: no"}})";
constexpr std::string_view kJane =
    R"({"status":{"authenticated":true,"user":{"username":"jane","uid":"7","groups":["dev"],"extra":{"k":["v"]}}}})";

class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    authentication_.client = &client_;
    authentication_.skips_lookup = true;
    authorization_.client = &client_;
  }
  ~AccessTest() override {
    for (const std::string& path : files_) std::filesystem::remove(path);
  }

  /// Both are made at the first question, and stay.
  ServedAnswer ask(const std::string& path, const RequestIdentity& identity = {}, const std::string& method = "GET") {
    if (!authenticates_) authenticates_.emplace(authentication_, clock_, log_, sleep_);
    if (!authorizes_) authorizes_.emplace(authorization_, clock_, sleep_);
    DelegatedAccess access(*authenticates_, *authorizes_, log_);
    ServedRequest request{method, path, {}, "", {}};
    std::optional<ServedAnswer> answer = access.check(identity, request);
    user_ = request.user;
    return answer.value_or(ServedAnswer{});
  }

  static RequestIdentity with_token(const std::string& token) {
    RequestIdentity identity;
    identity.headers.emplace("authorization", "Bearer " + token);
    return identity;
  }
  static RequestIdentity with(const TestAuthority::Client& client) {
    RequestIdentity identity;
    identity.certificates = client.chain();
    return identity;
  }

  std::string file(const std::string& text) {
    files_.push_back(std::filesystem::temp_directory_path() /
                     ("berth_access_" + std::to_string(::getpid()) + "_" + std::to_string(files_.size())));
    std::ofstream(files_.back()) << text;
    return files_.back();
  }

  ScriptedClient client_;
  VirtualClock clock_{1'000'000'000};
  std::int64_t slept_us_ = 0;
  ReviewClient::Sleep sleep_ = [this](std::int64_t us) { slept_us_ += us; };
  std::string logged_;
  ServingLog log_ = [this](const std::string& text) { logged_ += text + "\n"; };
  AuthenticationOptions authentication_;
  AuthorizationOptions authorization_;
  std::optional<Authentication> authenticates_;
  std::optional<Authorization> authorizes_;
  ServedUser user_;
  std::vector<std::string> files_;
};

TEST_F(AccessTest, HealthIsForEveryoneAndAsksNobody) {
  for (const char* path : {"/healthz", "/readyz", "/livez"}) EXPECT_EQ(ask(path).status, 200) << path;
  EXPECT_EQ(user_.name, "system:anonymous");
  EXPECT_TRUE(client_.requests.empty());
}

TEST_F(AccessTest, PathsBelowHealthAreNotForEveryone) {
  client_.answer(201, std::string(kNotAllowed));
  EXPECT_EQ(ask("/healthz/ping").status, 403);
}

TEST_F(AccessTest, AStarAtTheEndIsAPrefix) {
  authorization_.always_allowed_paths = {"metrics*", "/"};
  authorization_.client = nullptr;
  EXPECT_EQ(ask("/metrics/slis").status, 200);
  EXPECT_EQ(ask("/").status, 200);
  EXPECT_EQ(ask("/healthz").status, 403);
  authorization_.always_allowed_paths = {"/a*b"};
  EXPECT_THROW(Authorization(authorization_, clock_), std::runtime_error);
}

TEST_F(AccessTest, WithoutAKubeconfigWhatIsNotHealthIsForbiddenInUpstreamsWords) {
  authentication_.client = nullptr;
  authorization_.client = nullptr;
  const ServedAnswer answer = ask("/secret");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.content_type, "application/json");
  // What kube-scheduler v1.35.4 answers.
  EXPECT_EQ(answer.body,
            "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \"status\": \"Failure\",\n"
            "  \"message\": \"forbidden: User \\\"system:anonymous\\\" cannot get path \\\"/secret\\\"\",\n"
            "  \"reason\": \"Forbidden\",\n  \"details\": {},\n  \"code\": 403\n}\n");
  EXPECT_EQ(ask("/healthz", with_token("any")).status, 200);  // tokens are not looked at
  EXPECT_EQ(user_.name, "system:anonymous");
}

TEST_F(AccessTest, ATokenIsReviewedAndThenTheAccess) {
  client_.answer(201, std::string(kJane));
  client_.answer(201, std::string(kAllowed));
  EXPECT_EQ(ask("/metrics", with_token("abc")).status, 200);
  EXPECT_EQ(user_.name, "jane");
  EXPECT_EQ(user_.groups, (std::vector<std::string>{"dev", "system:authenticated"}));
  ASSERT_EQ(client_.requests.size(), 2u);
  EXPECT_EQ(client_.requests[0].path, "/apis/authentication.k8s.io/v1/tokenreviews");
  EXPECT_EQ(client_.requests[0].method, "POST");
  EXPECT_EQ(client_.requests[0].body,
            R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":"abc"}})");
  EXPECT_EQ(client_.requests[1].path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  EXPECT_EQ(client_.requests[1].body,
            R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"nonResourceAttributes":)"
            R"({"path":"/metrics","verb":"get"},"user":"jane","groups":["dev","system:authenticated"],)"
            R"("extra":{"k":["v"]},"uid":"7"}})");
}

TEST_F(AccessTest, AnswersHoldForTheirTime) {
  client_.answer(201, std::string(kJane));
  client_.answer(201, std::string(kNotAllowed));
  EXPECT_EQ(ask("/metrics", with_token("abc")).status, 403);
  clock_.advance_by(9'999'999);
  EXPECT_EQ(ask("/metrics", with_token("abc")).status, 403);
  EXPECT_EQ(client_.requests.size(), 2u);
  clock_.advance_by(1);
  client_.answer(201, std::string(kJane));
  client_.answer(201, std::string(kAllowed));
  EXPECT_EQ(ask("/metrics", with_token("abc")).status, 200);
  EXPECT_EQ(client_.requests.size(), 4u);
}

TEST_F(AccessTest, ATokenThatDoesNotHoldIs401AndRemembered) {
  client_.answer(201, R"({"status":{"authenticated":false}})");
  const ServedAnswer answer = ask("/metrics", with_token("abc"));
  EXPECT_EQ(answer.status, 401);
  EXPECT_NE(answer.body.find("\"message\": \"Unauthorized\""), std::string::npos);
  EXPECT_EQ(ask("/healthz", with_token("abc")).status, 401);
  EXPECT_EQ(client_.requests.size(), 1u);
}

TEST_F(AccessTest, AReviewThatFailsIsTriedAgainAndThenNeverAYes) {
  EXPECT_EQ(ask("/metrics", with_token("abc")).status, 401);  // as upstream
  EXPECT_EQ(client_.requests.size(), 5u);
  EXPECT_GT(slept_us_, 3'000'000);
  client_.requests.clear();
  EXPECT_EQ(ask("/metrics").status, 500);
  EXPECT_EQ(client_.requests.size(), 5u);
  EXPECT_EQ(logged_.find("abc"), std::string::npos) << "a token stands in the log";
}

TEST_F(AccessTest, ARefusedReviewIsNotTriedAgain) {
  client_.answer(403, "no\x1b[31m");
  EXPECT_EQ(ask("/metrics").status, 500);
  EXPECT_EQ(client_.requests.size(), 1u);
  EXPECT_EQ(logged_.find('\x1b'), std::string::npos);
}

TEST_F(AccessTest, AnswersThatCannotBeReadAreNeverAYes) {
  for (const char* body :
       {"", "[]", "{}", R"({"status":{"allowed":"yes"}})", R"({"status":{"allowed":true,"denied":true}})",
        R"({"status":{"allowed":true,"reason":7}})"}) {
    client_.answer(201, body);
    EXPECT_NE(ask("/metrics").status, 200) << body;
    clock_.advance_by(10'000'000);
  }
}

TEST_F(AccessTest, MastersMayAll) {
  client_.answer(201, R"({"status":{"authenticated":true,"user":{"username":"root","groups":["system:masters"]}}})");
  EXPECT_EQ(ask("/anything", with_token("abc")).status, 200);
  EXPECT_EQ(client_.requests.size(), 1u);
}

TEST_F(AccessTest, ACertificateNamesItsUser) {
  const TestAuthority authority("clients");
  authentication_.client_ca_file = file(authority.pem());
  client_.answer(201, std::string(kAllowed));
  EXPECT_EQ(ask("/metrics", with(authority.client("prom", {"monitoring", "more"}))).status, 200);
  EXPECT_EQ(user_.name, "prom");
  EXPECT_EQ(user_.groups, (std::vector<std::string>{"monitoring", "more", "system:authenticated"}));
  EXPECT_TRUE(user_.extra.at("authentication.kubernetes.io/credential-id").front().starts_with("X509SHA256="));
}

TEST_F(AccessTest, CertificatesThatDoNotHoldAre401) {
  const TestAuthority authority("clients");
  const TestAuthority other("clients");
  authentication_.client_ca_file = file(authority.pem());
  EXPECT_EQ(ask("/healthz", with(other.client("prom", {"system:masters"}))).status, 401);
  EXPECT_EQ(ask("/healthz", with(authority.client("prom", {}, -1))).status, 401);
  EXPECT_EQ(ask("/healthz", with(authority.client("prom", {}, 1, "serverAuth"))).status, 401);
  EXPECT_EQ(ask("/healthz", with(authority.client("prom", {}))).status, 200);
}

TEST_F(AccessTest, AProxyIsBelievedForItsNameAlone) {
  const TestAuthority proxies("proxies");
  authentication_.request_header.ca_file = file(proxies.pem());
  authentication_.request_header.allowed_names = {"front"};
  RequestIdentity identity = with(proxies.client("front", {}));
  identity.headers = {
      {"X-Remote-User", "jane"}, {"x-remote-group", "a"}, {"X-Remote-Group", "b"}, {"X-Remote-Extra-Sc%6Fpes", "s"}};
  client_.answer(201, std::string(kAllowed));
  EXPECT_EQ(ask("/metrics", identity).status, 200);
  EXPECT_EQ(user_.name, "jane");
  EXPECT_EQ(user_.groups, (std::vector<std::string>{"a", "b", "system:authenticated"}));
  EXPECT_EQ(user_.extra.at("scopes"), std::vector<std::string>{"s"});
  RequestIdentity imposter = with(proxies.client("imposter", {}));
  imposter.headers = {{"X-Remote-User", "jane"}, {"X-Remote-Group", "system:masters"}};
  EXPECT_EQ(ask("/metrics", imposter).status, 401);
  RequestIdentity without;
  without.headers = {{"X-Remote-User", "jane"}};
  EXPECT_EQ(ask("/healthz", without).status, 200);
  EXPECT_EQ(user_.name, "system:anonymous");
}

TEST_F(AccessTest, TheClusterSaysWhichAuthoritiesCount) {
  const TestAuthority clients("clients");
  const TestAuthority proxies("proxies");
  authentication_.skips_lookup = false;
  std::string map = R"({"data":{"requestheader-username-headers":"[\"X-Me\"]","requestheader-allowed-names":"[]",)";
  JsonWriter(map += R"("client-ca-file":)").value(clients.pem());
  JsonWriter(map += R"(,"requestheader-client-ca-file":)").value(proxies.pem());
  client_.answer(200, map + "}}");
  authenticates_.emplace(authentication_, clock_, log_, sleep_);
  authenticates_->look_up();
  EXPECT_EQ(client_.requests.front().path, Authentication::kConfigMapPath);
  EXPECT_EQ(ask("/healthz", with(clients.client("prom", {}))).status, 200);
  EXPECT_EQ(user_.name, "prom");
  RequestIdentity proxied = with(proxies.client("any", {}));
  proxied.headers = {{"x-me", "jane"}};
  EXPECT_EQ(ask("/healthz", proxied).status, 200);
  EXPECT_EQ(user_.name, "jane");
  const TestAuthority newer("clients");
  std::string changed = R"({"data":{)";
  JsonWriter(changed += R"("client-ca-file":)").value(newer.pem());
  client_.answer(200, changed + "}}");
  clock_.advance_by(60'000'000);
  EXPECT_EQ(ask("/healthz", with(newer.client("new", {}))).status, 200);
  EXPECT_EQ(user_.name, "new");
}

TEST_F(AccessTest, ALookupThatFailsIsToleratedOrNot) {
  authentication_.skips_lookup = false;
  Authentication tolerant(authentication_, clock_, log_, sleep_);
  EXPECT_NO_THROW(tolerant.look_up());
  EXPECT_NE(logged_.find("continuing without"), std::string::npos);
  authentication_.tolerates_lookup_failure = false;
  Authentication strict(authentication_, clock_, log_, sleep_);
  EXPECT_THROW(strict.look_up(), std::runtime_error);
}

TEST_F(AccessTest, AFileThatHoldsNoCertificateIsRefusedAtStart) {
  authentication_.client_ca_file = file("no certificate");
  EXPECT_THROW(Authentication(authentication_, clock_, log_), std::runtime_error);
  authentication_.client_ca_file = "/does/not/exist";
  EXPECT_THROW(Authentication(authentication_, clock_, log_), std::runtime_error);
}

TEST(ExpiringCacheTest, TheOneAskedForLongestAgoGoesFirst) {
  ExpiringCache<int> cache(2);
  cache.put("a", 1, 10, 0);
  cache.put("b", 2, 10, 0);
  EXPECT_EQ(cache.find("a", 0), 1);
  cache.put("c", 3, 10, 0);
  EXPECT_EQ(cache.find("b", 0), std::nullopt);
  EXPECT_EQ(cache.find("a", 9), 1);
  EXPECT_EQ(cache.find("a", 10), std::nullopt);
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace berth::test
