// SPDX-License-Identifier: Apache-2.0
// FileCredentials, ExecCredentials and open_server_access().

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "host/kube/access/exec_credentials.h"
#include "host/kube/access/file_credentials.h"
#include "host/kube/access/open_access.h"
#include "tests/unit/kube_access/access_test_support.h"
#include "tests/unit/kube_access/key_texts.h"

namespace berth {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
const std::string kV1 = "client.authentication.k8s.io/v1";
const std::string kCertificate = "-----BEGIN CERTIFICATE-----\n";

// ---- files

TEST(FileCredentials, ReadsATokenFileAgainAfterFiftySeconds) {
  TemporaryFolder folder;
  FakeSurroundings around;
  const std::string path = folder.write("token", " one\n");
  FileCredentials credentials({.token_file = path}, around.get());
  folder.write("token", "two\n");
  around.clock.advance_by(49 * kSecond);
  EXPECT_EQ(credentials.current().authorization, "Bearer one");
  around.clock.advance_by(kSecond);
  EXPECT_EQ(credentials.current().authorization, "Bearer two");
}

TEST(FileCredentials, ReadsATokenFileAgainAfterA401) {
  TemporaryFolder folder;
  FakeSurroundings around;
  FileCredentials credentials({.token_file = folder.write("token", "one")}, around.get());
  folder.write("token", "two");
  credentials.note_unauthorized();
  EXPECT_EQ(credentials.current().authorization, "Bearer two");
}

TEST(FileCredentials, AFileThatIsGoneOrEmptyChangesNothing) {
  TemporaryFolder folder;
  FakeSurroundings around;
  const std::string path = folder.write("token", "one");
  FileCredentials credentials({.token_file = path}, around.get());
  folder.write("token", " \n");
  around.clock.advance_by(60 * kSecond);
  EXPECT_EQ(credentials.current().authorization, "Bearer one");
  std::filesystem::remove(path);
  around.clock.advance_by(60 * kSecond);
  EXPECT_EQ(credentials.current().authorization, "Bearer one");
  EXPECT_TRUE(contains(message_of([&] { FileCredentials({.token_file = path}, around.get()); }), "No such file"));
  EXPECT_EQ(FileCredentials({.token = "t", .token_file = path}, around.get()).current().authorization, "Bearer t");
}

TEST(FileCredentials, ATokenFileWinsOverAToken) {
  TemporaryFolder folder;
  FakeSurroundings around;
  FileCredentials credentials({.token = "text", .token_file = folder.write("token", "file")}, around.get());
  EXPECT_EQ(credentials.current().authorization, "Bearer file");
}

TEST(FileCredentials, ATokenThatCannotStandInAHeaderIsRefusedAndNotShown) {
  TemporaryFolder folder;
  FakeSurroundings around;
  const std::string path = folder.write("token", "hunter2\r\nX-Other: 1");
  const std::string message = message_of([&] { FileCredentials({.token_file = path}, around.get()); });
  EXPECT_TRUE(contains(message, "visible ASCII"));
  EXPECT_FALSE(contains(message, "hunter2"));
}

TEST(FileCredentials, CertificateAndKeyChangeTogether) {
  TemporaryFolder folder;
  FakeSurroundings around;
  const std::string certificate = folder.write("crt", kCertificate1);
  const std::string key = folder.write("key", kKey1);
  FileCredentials credentials({.certificate_file = certificate, .key_file = key}, around.get());
  folder.write("crt", kCertificate2);
  around.clock.advance_by(60 * kSecond);
  EXPECT_EQ(credentials.current().certificate_pem, kCertificate1);
  EXPECT_EQ(credentials.current().key_pem, kKey1);
  folder.write("key", kKey2);
  around.clock.advance_by(60 * kSecond);
  EXPECT_EQ(credentials.current().certificate_pem, kCertificate2);
  EXPECT_EQ(credentials.current().key_pem, kKey2);
}

TEST(FileCredentials, NamesTheFilesOfACertificateThatCannotBeUsed) {
  TemporaryFolder folder;
  FakeSurroundings around;
  const FileIdentity identity = {.certificate_file = folder.write("crt", kCertificate1),
                                 .key_file = folder.write("key", kKey2)};
  EXPECT_EQ(
      message_of([&] { FileCredentials(identity, around.get()); }),
      "the client certificate and key do not belong together: " + folder.path() + "/crt and " + folder.path() + "/key");
}

TEST(FileCredentials, GivesBasicAuthentication) {
  FakeSurroundings around;
  FileCredentials credentials({.username = "a", .password = "b:c"}, around.get());
  EXPECT_EQ(credentials.current().authorization, "Basic YTpiOmM=");
}

// ---- plugins

class ExecCredentialsTest : public testing::Test {
 protected:
  using ExecCredentialsPtr = std::unique_ptr<ExecCredentials>;
  ExecCredentialsPtr plugin(const std::string& body, ExecConfig config = {}, const ChildLimits& limits = {}) {
    config.command = folder.write_script("plugin", "echo run >> " + folder.path() + "/runs\n" + body);
    config.api_version = kV1;
    const ExecCluster cluster = {.server = "https://a", .ca_pem = "ca", .config_json = "{\"x\":1}"};
    return std::make_unique<ExecCredentials>(config, cluster, around.get(), limits);
  }
  static std::string answer(const std::string& status) {
    return "echo '{\"apiVersion\": \"" + kV1 + "\", \"kind\": \"ExecCredential\", \"status\": {" + status + "}}'\n";
  }
  std::size_t runs() const {
    return std::filesystem::exists(folder.path() + "/runs") ? read_small_file(folder.path() + "/runs").size() / 4 : 0;
  }
  void pass(std::int64_t duration_us) {
    around.clock.advance_by(duration_us);
    around.wall_us += duration_us;
  }
  TemporaryFolder folder;
  FakeSurroundings around;
};

TEST_F(ExecCredentialsTest, RunsOnceForACredentialWithoutExpiry) {
  const ExecCredentialsPtr credentials = plugin(answer("\"token\": \"t\""));
  EXPECT_EQ(runs(), 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(credentials->current().authorization, "Bearer t");
  around.wall_us += 1'000'000 * kSecond;
  around.clock.advance_by(1'000'000 * kSecond);
  credentials->current();
  EXPECT_EQ(runs(), 1u);
}

TEST_F(ExecCredentialsTest, RunsAgainBeforeItsCredentialExpires) {
  around.wall_us = 1'767'225'600 * kSecond;  // 2026-01-01T00:00:00Z
  const ExecCredentialsPtr credentials = plugin(answer("\"token\": \"t'$(wc -l < " + folder.path() +
                                                       "/runs)'\", \"expirationTimestamp\": \"2026-01-01T00:10:00Z\""));
  EXPECT_EQ(credentials->current().authorization, "Bearer t1");
  pass(539 * kSecond);
  EXPECT_EQ(credentials->current().authorization, "Bearer t1");
  credentials->wait();
  EXPECT_EQ(runs(), 1u);
  pass(kSecond);
  EXPECT_EQ(credentials->current().authorization, "Bearer t1");  // without waiting for the run
  credentials->wait();
  EXPECT_EQ(credentials->current().authorization, "Bearer t2");
}

TEST_F(ExecCredentialsTest, AShortCredentialIsRefreshedAfterThreeQuartersOfItsTime) {
  around.wall_us = 1'767'225'600 * kSecond;
  const ExecCredentialsPtr credentials =
      plugin(answer("\"token\": \"t\", \"expirationTimestamp\": \"2026-01-01T00:00:08Z\""));
  credentials->current();
  pass(6 * kSecond - 1);
  credentials->current();
  credentials->wait();
  EXPECT_EQ(runs(), 1u);
  pass(1);
  credentials->current();
  credentials->wait();
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecCredentialsTest, AnExpiredCredentialIsNotGiven) {
  around.wall_us = 1'767'225'600 * kSecond;
  const ExecCredentialsPtr credentials =
      plugin("[ $(wc -l < " + folder.path() + "/runs) = 1 ] || exit 1\n" +
             answer("\"token\": \"t\", \"expirationTimestamp\": \"2026-01-01T00:00:10Z\""));
  EXPECT_EQ(credentials->current().authorization, "Bearer t");
  pass(9 * kSecond);
  EXPECT_EQ(credentials->current().authorization, "Bearer t");
  credentials->wait();
  EXPECT_EQ(credentials->current().authorization, "Bearer t");  // the run failed, and the credential is still good
  pass(kSecond + 1);
  EXPECT_TRUE(contains(message_of([&] { credentials->current(); }), "ended with exit status 1"));
}

TEST_F(ExecCredentialsTest, RunsAgainAfterA401AtMostOnceASecond) {
  const ExecCredentialsPtr credentials = plugin(answer("\"token\": \"t\""));
  credentials->current();
  credentials->note_unauthorized();
  credentials->current();
  credentials->wait();
  EXPECT_EQ(runs(), 1u);
  pass(kSecond);
  credentials->current();
  credentials->wait();
  credentials->current();
  credentials->wait();
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecCredentialsTest, ARefusedCredentialIsNotGivenWhereThePluginFails) {
  const ExecCredentialsPtr credentials =
      plugin("[ $(wc -l < " + folder.path() + "/runs) = 1 ] || exit 1\n" + answer("\"token\": \"t\""));
  credentials->current();
  credentials->note_unauthorized();
  pass(kSecond);
  EXPECT_EQ(credentials->current().authorization, "Bearer t");
  credentials->wait();
  EXPECT_TRUE(contains(message_of([&] { credentials->current(); }), "ended with exit status 1"));
}

TEST_F(ExecCredentialsTest, ARunUnderWayIsCancelledAtTheEnd) {
  ExecCredentialsPtr credentials =
      plugin("[ $(wc -l < " + folder.path() + "/runs) = 1 ] || exec sleep 60\n" + answer("\"token\": \"t\""));
  credentials->current();
  credentials->note_unauthorized();
  pass(kSecond);
  credentials->current();
  const auto start = std::chrono::steady_clock::now();
  credentials.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(ExecCredentialsTest, GivesACertificateWithItsKey) {
  const auto status = [](std::string certificate, std::string key) {
    for (std::string* text : {&certificate, &key}) {
      for (std::size_t at = 0; (at = text->find('\n', at)) != std::string::npos; at += 3) text->replace(at, 1, "\\\\n");
    }
    return answer("\"clientCertificateData\": \"" + certificate + "\", \"clientKeyData\": \"" + key + "\"");
  };
  const ExecCredentialsPtr credentials = plugin(status(kCertificate1, kKey1));
  const ClientIdentity identity = credentials->current();
  EXPECT_EQ(identity.certificate_pem, kCertificate1);
  EXPECT_EQ(identity.key_pem, kKey1);
  const ExecCredentialsPtr mixed = plugin(status(kCertificate1, kKey2));
  EXPECT_TRUE(contains(message_of([&] { mixed->current(); }), "do not belong together"));
  EXPECT_EQ(identity.authorization, "");
}

TEST_F(ExecCredentialsTest, PassesArgumentsEnvironmentAndClusterInfo) {
  around.environment.push_back("B=old");
  ExecConfig config;
  config.arguments = {"a b", "c"};
  config.environment = {{"B", "new"}};
  config.provides_cluster_info = true;
  const ExecCredentialsPtr credentials =
      plugin("printf '%s|%s|%s|%s' \"$1\" \"$2\" \"$B\" \"$KUBERNETES_EXEC_INFO\" > " + folder.path() + "/seen\n" +
                 answer("\"token\": \"t\""),
             config);
  credentials->current();
  EXPECT_EQ(read_small_file(folder.path() + "/seen"),
            "a b|c|new|{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":"
            "{\"cluster\":{\"server\":\"https://a\",\"certificate-authority-data\":\"Y2E=\",\"config\":{\"x\":1}},"
            "\"interactive\":false}}");
}

TEST_F(ExecCredentialsTest, AFailureShowsStderrEscapedAndIsKeptForFiveSeconds) {
  const ExecCredentialsPtr credentials = plugin("printf 'no \\033[31mlogin\\n' >&2; exit 4");
  const std::string message = message_of([&] { credentials->current(); });
  EXPECT_TRUE(contains(message, "ended with exit status 4; its stderr: \"no \\u001b[31mlogin\\n\""));
  EXPECT_EQ(message_of([&] { credentials->current(); }), message);
  EXPECT_EQ(runs(), 1u);
  around.clock.advance_by(5 * kSecond);
  EXPECT_EQ(message_of([&] { credentials->current(); }), message);
  credentials->wait();
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecCredentialsTest, AMissingCommandIsNamedWithItsHint) {
  ExecConfig config;
  config.command = "no-such-plugin-of-berth";
  config.install_hint = "install\x1b it";
  ExecCredentials credentials(config, {}, around.get());
  EXPECT_EQ(
      message_of([&] { credentials.current(); }),
      "credential plugin \"no-such-plugin-of-berth\" was not found in PATH; the kubeconfig says how to install it: "
      "\"install\\u001b it\"");
  config.command = "/nowhere/plugin";
  ExecCredentials absolute(config, {}, around.get());
  EXPECT_TRUE(contains(message_of([&] { absolute.current(); }), "\"/nowhere/plugin\" was not found; the kubeconfig"));
}

TEST_F(ExecCredentialsTest, TimeAndOutputAreLimited) {
  const ExecCredentialsPtr slow = plugin("sleep 60", {}, {.time_us = 100'000});
  EXPECT_TRUE(contains(message_of([&] { slow->current(); }), "did not end within 0 s"));
  const ExecCredentialsPtr loud = plugin("cat /dev/zero", {}, {.output_bytes_max = 100});
  EXPECT_TRUE(contains(message_of([&] { loud->current(); }), "wrote more than 100 bytes"));
}

TEST_F(ExecCredentialsTest, AnswersThatAreNoCredentialAreRefusedAndNotShown) {
  const auto refusal = [&](const std::string& body) {
    const ExecCredentialsPtr credentials = plugin(body);
    const std::string message = message_of([&] { credentials->current(); });
    EXPECT_FALSE(contains(message, "hunter2")) << body;
    return message;
  };
  EXPECT_FALSE((refusal("echo hunter2")).empty());
  EXPECT_FALSE((refusal("true")).empty());
  EXPECT_TRUE(contains(
      refusal("echo '{\"apiVersion\": \"client.authentication.k8s.io/v1beta1\", \"kind\": \"ExecCredential\"}'"),
      "apiVersion: got \"client.authentication.k8s.io/v1beta1\", expected"));
  EXPECT_TRUE(contains(refusal("echo '{\"apiVersion\": \"" + kV1 + "\", \"kind\": \"ExecCredential\"}'"),
                       "status: is missing"));
  EXPECT_TRUE(contains(refusal(answer("")), "status: has no credential"));
  EXPECT_TRUE(contains(refusal(answer("\"clientKeyData\": \"hunter2\"")), "only one of clientCertificateData"));
  EXPECT_TRUE(contains(refusal(answer("\"token\": {\"hunter2\": 1}")), "status.token: expected a string"));
  EXPECT_TRUE(contains(refusal(answer("\"token\": \"hunter2\\\\n\\\\nhunter2\"")), "visible ASCII"));
  EXPECT_TRUE(
      contains(refusal(answer("\"token\": \"hunter2\", \"expirationTimestamp\": \"soon\"")), "expirationTimestamp"));
}

TEST_F(ExecCredentialsTest, SeveralThreadsMayAsk) {
  const ExecCredentialsPtr credentials = plugin(answer("\"token\": \"t\""));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        EXPECT_EQ(credentials->current().authorization, "Bearer t");
        credentials->note_unauthorized();
        around.clock.advance_by(kSecond / 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FileCredentials, SeveralThreadsMayAsk) {
  TemporaryFolder folder;
  FakeSurroundings around;
  FileCredentials credentials({.token_file = folder.write("token", "t")}, around.get());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        EXPECT_EQ(credentials.current().authorization, "Bearer t");
        credentials.note_unauthorized();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- the whole

class OpenAccessTest : public testing::Test {
 protected:
  ServerAccess open(const AccessOptions& options) { return open_server_access(options, around.get()); }
  void put_service_account() {
    around.root = folder.path();
    folder.write("var/run/secrets/kubernetes.io/serviceaccount/token", "sa-token\n");
    folder.write("var/run/secrets/kubernetes.io/serviceaccount/ca.crt", kCertificate);
    around.environment = {"KUBERNETES_SERVICE_HOST=10.96.0.1", "KUBERNETES_SERVICE_PORT=443"};
  }
  std::string write_config(const std::string& cluster, const std::string& user) {
    return folder.write("config",
                        "clusters: [{name: c, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user +
                            "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n");
  }
  TemporaryFolder folder;
  FakeSurroundings around;
};

TEST_F(OpenAccessTest, UsesTheServiceAccountOfThePod) {
  put_service_account();
  const ServerAccess access = open({});
  EXPECT_EQ(access.url, "https://10.96.0.1:443");
  EXPECT_EQ(access.ca_pem, kCertificate);
  EXPECT_EQ(access.credentials->current().authorization, "Bearer sa-token");
}

TEST_F(OpenAccessTest, PutsAnIPv6HostInBrackets) {
  put_service_account();
  around.environment[0] = "KUBERNETES_SERVICE_HOST=fd00::1";
  EXPECT_EQ(open({}).url, "https://[fd00::1]:443");
}

TEST_F(OpenAccessTest, SaysWhatIsMissingOutsideAPod) {
  EXPECT_TRUE(contains(message_of([&] { open({}); }), "--kubeconfig and --master are not set"));
  around.environment = {"KUBECONFIG=/etc/kubernetes/admin.conf"};  // not read, as in kube-scheduler
  EXPECT_TRUE(contains(message_of([&] { open({}); }), "there is no API server"));
  put_service_account();
  std::filesystem::remove(folder.path() + "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_TRUE(contains(message_of([&] { open({}); }), "serviceaccount/token: No such file"));
}

TEST_F(OpenAccessTest, MasterAloneIsAnonymous) {
  put_service_account();
  const ServerAccess access = open({.master = "10.0.0.1:8080"});
  EXPECT_EQ(access.url, "http://10.0.0.1:8080");
  EXPECT_EQ(access.credentials->current(), ClientIdentity());
  EXPECT_EQ(open({.master = "https://a/b/"}).url, "https://a/b");
  EXPECT_TRUE(contains(message_of([&] { open({.master = "ldap://a"}); }), "--master: expected a URL"));
}

TEST_F(OpenAccessTest, ReadsTheKubeconfigsAuthority) {
  folder.write("ca.crt", kCertificate);
  const std::string path = write_config("server: 'https://a:6443/', certificate-authority: ca.crt", "token: t");
  const ServerAccess access = open({.kubeconfig = path});
  EXPECT_EQ(access.url, "https://a:6443");
  EXPECT_EQ(access.ca_pem, kCertificate);
  EXPECT_EQ(access.credentials->current().authorization, "Bearer t");
  EXPECT_EQ(open({.kubeconfig = path, .master = "https://b"}).url, "https://b");
  folder.write("ca.crt", "hunter2");
  EXPECT_TRUE(contains(message_of([&] { open({.kubeconfig = path}); }), "ca.crt as certificate authority"));
}

TEST_F(OpenAccessTest, SendsNoIdentityOverHttp) {
  const std::string path = write_config("server: 'http://a'", "token: t");
  EXPECT_EQ(open({.kubeconfig = path}).credentials->current(), ClientIdentity());
}

TEST_F(OpenAccessTest, RunsTheKubeconfigsPlugin) {
  folder.write_script("plugin", "echo '{\"apiVersion\": \"" + kV1 +
                                    "\", \"kind\": \"ExecCredential\", \"status\": {\"token\": \"p\"}}'\n");
  const std::string path =
      write_config("server: 'https://a'", "exec: {apiVersion: " + kV1 + ", command: ./plugin, interactiveMode: Never}");
  EXPECT_EQ(open({.kubeconfig = path}).credentials->current().authorization, "Bearer p");
}

}  // namespace
}  // namespace berth
