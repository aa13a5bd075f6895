// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/kubeconfig.h"

#include <gtest/gtest.h>

#include "tests/unit/kube_access/access_test_support.h"

namespace berth {
namespace {

/// A kubeconfig with these fields of its cluster and its user, indented by four blanks.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n" + cluster + "users:\n- name: u\n  user:\n" +
         user + "contexts:\n- name: x\n  context: {cluster: c, user: u}\ncurrent-context: x\n";
}

const std::string kServer = "    server: https://10.0.0.1:6443\n";

Kubeconfig parse(const std::string& text, const std::string& master = {}) {
  return parse_kubeconfig(text, "kubeconfig", "/etc/kubernetes", master);
}

std::string problem_of(const std::string& text) {
  return message_of([&] { parse(text); });
}

TEST(Kubeconfig, ReadsEveryFieldOfTheCurrentContext) {
  const Kubeconfig config = parse(
      kubeconfig(kServer + "    tls-server-name: api.example\n    proxy-url: socks5://127.0.0.1:1080\n"
                           "    disable-compression: true\n"
                           "    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==\n",
                 "    client-certificate: pki/client.crt\n    client-key: /abs/client.key\n    tokenFile: ../token\n"));
  EXPECT_EQ(config.cluster.server, "https://10.0.0.1:6443");
  EXPECT_EQ(config.cluster.server_name, "api.example");
  EXPECT_EQ(config.cluster.proxy_url, "socks5://127.0.0.1:1080");
  EXPECT_TRUE(config.cluster.disables_compression);
  EXPECT_EQ(config.cluster.ca_pem, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(config.identity.certificate_file, "/etc/kubernetes/pki/client.crt");
  EXPECT_EQ(config.identity.key_file, "/abs/client.key");
  EXPECT_EQ(config.identity.token_file, "/etc/token");
  EXPECT_FALSE(config.exec.has_value());
}

TEST(Kubeconfig, ReadsJson) {
  const Kubeconfig config = parse(
      R"({"clusters": [{"name": "", "cluster": {"server": "http://a"}}, {"name": "c", "cluster": {"server": "https://b"}}],
          "users": null, "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"})");
  EXPECT_EQ(config.cluster.server, "https://b");
  EXPECT_TRUE(config.identity.token.empty());
}

TEST(Kubeconfig, ReadsOnlyWhatTheCurrentContextNames) {
  const std::string text =
      "clusters: [{name: c, cluster: {server: 'https://a'}}, {name: d, cluster: {server: 3}}]\n"
      "users: [{name: u, user: {token: t}}, {name: v, user: {as: root, auth-provider: {name: gcp}}}]\n"
      "contexts: [{name: x, context: {cluster: c, user: u}}, {name: z, context: {cluster: nowhere}}]\n"
      "current-context: x\nunknown: 1\n";
  EXPECT_EQ(parse(text).identity.token, "t");
}

TEST(Kubeconfig, MasterReplacesTheServerAndItsName) {
  const std::string text = kubeconfig(kServer + "    tls-server-name: a\n", "    token: t\n");
  const Kubeconfig config = parse(text, "https://other:1");
  EXPECT_EQ(config.cluster.server, "https://other:1");
  EXPECT_EQ(config.cluster.server_name, "");
  EXPECT_EQ(config.identity.token, "t");
}

TEST(Kubeconfig, MasterMakesAFileWithoutAContextUsable) {
  EXPECT_TRUE(contains(problem_of("clusters: []\n"), "current-context: is missing, expected the name of a context"));
  EXPECT_EQ(parse("clusters: []\n", "https://other:1").cluster.server, "https://other:1");
}

TEST(Kubeconfig, ReadsAnExecPlugin) {
  const Kubeconfig config = parse(kubeconfig(
      kServer + "    extensions:\n    - name: client.authentication.k8s.io/exec\n      extension: {audience: x}\n",
      "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: bin/get-token\n"
      "      args: [login, '--x']\n      env: [{name: A, value: b}]\n      interactiveMode: IfAvailable\n"
      "      provideClusterInfo: true\n      installHint: read the manual\n"));
  ASSERT_TRUE(config.exec.has_value());
  EXPECT_EQ(config.exec->command, "/etc/kubernetes/bin/get-token");
  EXPECT_EQ(config.exec->arguments, (std::vector<std::string>{"login", "--x"}));
  ASSERT_EQ(config.exec->environment.size(), 1u);
  EXPECT_EQ(config.exec->environment[0], (std::pair<std::string, std::string>("A", "b")));
  EXPECT_TRUE(config.exec->provides_cluster_info);
  EXPECT_EQ(config.exec->install_hint, "read the manual");
  EXPECT_EQ(config.cluster.exec_config_json, R"({"audience":"x"})");
}

TEST(Kubeconfig, DoesNotRunAPluginBesideAToken) {
  const std::string exec = "    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: get-token}\n";
  EXPECT_FALSE(parse(kubeconfig(kServer, "    token: t\n" + exec)).exec.has_value());
  EXPECT_TRUE(parse(kubeconfig(kServer, exec)).exec.has_value());
}

TEST(Kubeconfig, NamesFileLinePathValueAndExpectation) {
  EXPECT_EQ(problem_of(kubeconfig(kServer + "    insecure-skip-tls-verify: maybe\n", "    token: t\n")),
            "kubeconfig: line 7, clusters[0].cluster.insecure-skip-tls-verify: got \"maybe\", expected true or false");
}

struct Refused {
  std::string cluster;
  std::string user;
  std::string message;
};

TEST(Kubeconfig, RefusesWhatItCannotUse) {
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
  const std::vector<Refused> cases = {
      {"    insecure-skip-tls-verify: true\n", "    token: t\n", "server: is missing"},
      {"    server: ftp://a\n", "    token: t\n", "expected a URL with scheme http or https"},
      {"    server: 'https://a b'\n", "    token: t\n", "expected a URL without blanks"},
      {"    server: https://u:hunter2@a\n", "    token: t\n", "expected a URL without user information"},
      {"    server: 10.0.0.1/api\n", "    token: t\n", "expected a URL with its scheme where it has a path"},
      {kServer + "    proxy-url: ftp://u:hunter2@p\n", "    token: t\n", "scheme http, https or socks5"},
      {kServer + "    certificate-authority-data: hunter2\n", "    token: t\n", "expected base64"},
      {kServer + "    certificate-authority-data: aHVudGVyMg==\n", "    token: t\n", "expected the base64 of PEM"},
      {kServer + "    insecure-skip-tls-verify: true\n    certificate-authority: ca.crt\n", "    token: t\n",
       "has insecure-skip-tls-verify and a certificate authority"},
      {kServer +
           "    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==\n    certificate-authority: a\n",
       "    token: t\n", "has both certificate-authority-data and certificate-authority"},
      {kServer, "    token: 12345\n", "token: expected a string"},
      {kServer, "    token: 'hunter2 hunter2'\n", "expected a token of visible ASCII characters"},
      {kServer, "    password: [hunter2]\n", "password: expected a string"},
      {kServer, "    token: hunter2\n    username: a\n", "has a token and a username"},
      {kServer, "    client-certificate: a\n", "expected client-key-data or client-key with it"},
      {kServer, "    client-certificate: a\n    client-key-data: hunter2\n", "client-key-data: expected base64"},
      {kServer, "    client-certificate: a\n    client-key-data: YQ==\n    client-key: b\n",
       "has both client-key-data and client-key"},
      {kServer, "    as: root\n", "as: impersonation is not supported"},
      {kServer, "    as-groups: [a]\n", "as-groups: impersonation is not supported"},
      {kServer, "    as-user-extra: {a: [b]}\n", "as-user-extra: impersonation is not supported"},
      {kServer, "    auth-provider: {name: gcp, config: {access-token: hunter2}}\n",
       "auth-provider \"gcp\" is not supported"},
      {kServer, "    exec: {" + v1 + ", interactiveMode: Never}\n", "command: expected the command of the plugin"},
      {kServer, "    exec: {" + v1 + ", command: a}\n", "interactiveMode"},
      {kServer, "    exec: {" + v1 + ", command: a, interactiveMode: Always}\n", "there is no terminal"},
      {kServer, "    exec: {" + v1 + "alpha1, command: a}\n", "expected \"client.authentication.k8s.io/v1\" or"},
      {kServer, "    exec: {" + v1 + ", command: a, interactiveMode: Never, env: [{name: 'A=B', value: hunter2}]}\n",
       "expected the name of an environment variable"},
      {kServer, "    exec: {" + v1 + ", command: a, interactiveMode: Never, args: [{hunter2: 1}]}\n",
       "args[0]: expected a string"},
  };
  for (const Refused& refused : cases) {
    const std::string problem = problem_of(kubeconfig(refused.cluster, refused.user));
    EXPECT_TRUE(contains(problem, refused.message)) << refused.cluster << refused.user;
    EXPECT_FALSE(contains(problem, "hunter2"));
    EXPECT_FALSE(contains(problem, "12345"));
  }
}

TEST(Kubeconfig, RefusesNamesThatAreNotThere) {
  EXPECT_TRUE(contains(problem_of("current-context: nowhere\n"), "got \"nowhere\", expected the name of a context"));
  const std::string contexts = "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";
  EXPECT_TRUE(contains(problem_of(contexts), "clusters: has no cluster \"c\", which the current context names"));
  EXPECT_TRUE(contains(problem_of(contexts + "clusters: [{name: c, cluster: {server: 'https://a'}}]\n"),
                       "users: has no user \"u\", which the current context names"));
  EXPECT_TRUE(
      contains(problem_of("current-context: x\ncontexts: [{name: a}, {name: a}]\n"), "contexts[1].name: stands twice"));
}

TEST(Kubeconfig, MalformedTextDoesNotShowSecrets) {
  for (const std::string& text : std::vector<std::string>{
           "users:\n- name: u\n  user:\n    token: hunter2\n   password: hunter2\n", "{\"token\": \"hunter2\", }",
           "token: \"hunter2", "token: hunter2: hunter2\n", "a: &x hunter2\nb: *hunter2\n", "token: !!int hunter2\n"}) {
    const std::string problem = problem_of(text);
    EXPECT_FALSE((problem).empty()) << text;
    EXPECT_FALSE(contains(problem, "hunter2")) << text;
  }
}

TEST(Kubeconfig, ReadsAFileAndResolvesPathsFromItsFolder) {
  TemporaryFolder folder;
  const std::string path = folder.write("sub/config", kubeconfig(kServer, "    tokenFile: ../token\n"));
  EXPECT_EQ(read_kubeconfig(path).identity.token_file, folder.path() + "/token");
  EXPECT_TRUE(
      contains(message_of([&] { read_kubeconfig(folder.path() + "/none"); }), "none: No such file or directory"));
  EXPECT_TRUE(contains(message_of([&] { read_kubeconfig(folder.path()); }), "not a regular file"));
}

}  // namespace
}  // namespace berth
