// SPDX-License-Identifier: Apache-2.0
// The files of deploy/ do what the pages say: rights, flags, configuration, no root, a root file system that is not
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/cli/scheduler_options.h"
#include "host/config/config_reader.h"

namespace berth::test {
namespace {

using nlohmann::json;
/// [group/resource] -> verbs
using Rights = std::map<std::string, std::set<std::string>>;

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<json> documents_of(const std::string& text) {
  std::vector<json> documents;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n---\n", at), text.size());
    const std::string one = text.substr(at, end - at);
    if (one.find("kind:") != one.npos)
      documents.push_back(json::parse(config_document_from_text(one, "manifest").json));
    at = end + 5;
  }
  return documents;
}

json find(const std::vector<json>& documents, const std::string& kind, const std::string& name = {}) {
  for (const json& document : documents)
    if (document["kind"] == kind && (name.empty() || document["metadata"]["name"] == name)) return document;
  ADD_FAILURE() << "there is no " << kind << " " << name;
  return {};
}

Rights rights_of(const json& role) {
  Rights rights;
  for (const json& rule : role["rules"])
    for (const json& group : rule["apiGroups"])
      for (const json& resource : rule["resources"])
        for (const json& verb : rule["verbs"]) {
          const std::string name = group.get<std::string>().empty() ? "core" : group.get<std::string>();
          EXPECT_TRUE(rights[name + "/" + resource.get<std::string>()].insert(verb).second) << rule;
        }
  return rights;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(part);
  }
  return parts;
}

/// Rows of the table below "## <heading>".
std::vector<std::vector<std::string>> table(const std::string& page, const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(page.substr(page.find("## " + heading)));
  std::string line;
  std::getline(in, line);
  for (; std::getline(in, line) && !line.starts_with("## ");)
    if (line.starts_with("| ") && !line.starts_with("| Group")) rows.push_back(split(line, '|'));
  return rows;
}

Rights written_rights() {
  Rights rights;
  for (const auto& row : table(text_of("docs/scheduler/rbac.md"), "In the whole cluster"))
    for (const std::string& verb : split(row.at(3), ',')) rights[row.at(1) + "/" + row.at(2)].insert(verb);
  return rights;
}

void check_rights(const std::vector<json>& documents, const std::string& name, const std::string& name_space) {
  const Rights written = written_rights();
  EXPECT_GE(written.size(), 20u);
  EXPECT_EQ(rights_of(find(documents, "ClusterRole")), written);
  const json role = find(documents, "Role");
  EXPECT_EQ(rights_of(role), (Rights{{"coordination.k8s.io/leases", {"create", "get", "update"}}}));
  EXPECT_EQ(role["metadata"]["namespace"], name_space);
  for (const json& rule : role["rules"]) {
    if (rule["verbs"] == json::array({"create"})) continue;
    EXPECT_EQ(rule["resourceNames"], json::array({name}));
  }
  const json reader = find(documents, "RoleBinding", name + "-extension-apiserver-authentication-reader");
  EXPECT_EQ(reader["metadata"]["namespace"], "kube-system");
  for (const json& document : documents) {
    const std::string kind = document["kind"];
    if (kind != "ClusterRoleBinding" && kind != "RoleBinding") continue;
    const json subject = {{"kind", "ServiceAccount"}, {"name", name}, {"namespace", name_space}};
    EXPECT_EQ(document["subjects"], json::array({subject}));
  }
}

void check_deployment(const std::vector<json>& documents, const std::string& name, int replicas) {
  const json deployment = find(documents, "Deployment");
  EXPECT_EQ(deployment["spec"]["replicas"], replicas);
  const json pod = deployment["spec"]["template"]["spec"];
  EXPECT_EQ(pod["serviceAccountName"], name);
  EXPECT_EQ(pod["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(pod["securityContext"]["runAsUser"], 65532);
  const json container = pod["containers"][0];
  EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], true);
  EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
  EXPECT_EQ(container["command"], json::array({"kube-scheduler"}));
  EXPECT_EQ(container["livenessProbe"]["httpGet"], json({{"path", "/livez"}, {"port", 10259}, {"scheme", "HTTPS"}}));
  EXPECT_EQ(container["readinessProbe"]["httpGet"], json({{"path", "/readyz"}, {"port", 10259}, {"scheme", "HTTPS"}}));
  EXPECT_EQ(container["args"], json::array({"--config=/etc/berth/scheduler-config.yaml"}));
  EXPECT_EQ(container["volumeMounts"][0]["mountPath"], "/etc/berth");
  EXPECT_EQ(pod["volumes"][0]["configMap"]["name"], name);
}

SchedulerConfig config_in(const std::vector<json>& documents) {
  const json map = find(documents, "ConfigMap");
  return parse_scheduler_config(map["data"]["scheduler-config.yaml"].get<std::string>(), "config map", FeatureGates());
}

/// What `helm template` prints. Empty where helm is not there.
std::string helm_template(const std::string& options) {
  const std::string root = BERTH_SOURCE_DIR;
  const std::string command = "PATH=\"$PATH:" + root + "/build/helm\" helm template release " + root +
                              "/deploy/charts/berth --namespace sched " + options + " 2>/dev/null";
  std::string text;
  std::FILE* const out = ::popen(command.c_str(), "r");
  std::array<char, 4096> piece{};
  for (std::size_t count = 0; (count = std::fread(piece.data(), 1, piece.size(), out)) > 0;)
    text.append(piece.data(), count);
  ::pclose(out);
  return text;
}

TEST(ManifestsTest, TheDeploymentHasTheRightsThatAreWrittenDown) {
  const std::vector<json> documents = documents_of(text_of("deploy/berth-scheduler.yaml"));
  EXPECT_EQ(documents.size(), 8u);
  check_rights(documents, "berth-scheduler", "kube-system");
  check_deployment(documents, "berth-scheduler", 2);
}

TEST(ManifestsTest, TheDeploymentsConfigurationIsRead) {
  const SchedulerConfig config = config_in(documents_of(text_of("deploy/berth-scheduler.yaml")));
  EXPECT_EQ(config.profiles.at(0).scheduler_name, "berth-scheduler");
  EXPECT_EQ(config.leader_election.resource_name, "berth-scheduler");
  EXPECT_TRUE(config.leader_election.leader_elect);
}

TEST(ManifestsTest, NothingIsNeededBeyondTheBootstrapRoles) {
  Rights allowed;
  std::istringstream file(text_of("tests/deploy/bootstrap_roles.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string group, resource, verbs;
    words >> group >> resource >> verbs;
    for (const std::string& verb : split(verbs, ',')) allowed[group + "/" + resource].insert(verb);
  }
  for (const auto& [resource, verbs] : written_rights())
    for (const std::string& verb : verbs) EXPECT_TRUE(allowed[resource].contains(verb)) << resource << " " << verb;
}

TEST(ManifestsTest, EveryRightHasItsReason) {
  for (const char* heading : {"In the whole cluster", "In the scheduler's namespace"}) {
    const auto rows = table(text_of("docs/scheduler/rbac.md"), heading);
    EXPECT_GE(rows.size(), 2u);
    for (const auto& row : rows) EXPECT_GT(row.back().size(), 10u) << row.at(2);
  }
}

TEST(ManifestsTest, TheStaticPodRunsKubeSchedulerWithFlagsThatAreRead) {
  const json pod = documents_of(text_of("deploy/static-pod.yaml")).at(0);
  const std::vector<std::string> command = pod["spec"]["containers"][0]["command"];
  std::vector<std::string> arguments = scheduler_arguments(command.front(), {command.begin() + 1, command.end()});
  ASSERT_EQ(arguments.front(), "scheduler");
  std::reverse(arguments.begin(), arguments.end());
  arguments.pop_back();
  CLI::App app;
  SchedulerFlags flags;
  add_scheduler_options(app, flags);
  app.parse(arguments);
  EXPECT_EQ(flags.kubeconfig, "/etc/kubernetes/scheduler.conf");
  EXPECT_EQ(flags.server.address, "127.0.0.1");
  EXPECT_EQ(flags.leader_elect, true);
}

TEST(ManifestsTest, TheChartGivesTheSame) {
  const std::vector<json> documents = documents_of(helm_template(""));
  if (documents.empty()) GTEST_SKIP() << "helm is not installed: go install helm.sh/helm/v3/cmd/helm@v3.19.5";
  check_rights(documents, "berth-scheduler", "sched");
  check_deployment(documents, "berth-scheduler", 2);
  EXPECT_EQ(config_in(documents).leader_election.resource_namespace, "sched");
}

TEST(ManifestsTest, TheChartTakesTheValuesOfSchedulerPluginsChart) {
  const std::string options =
      "--set scheduler.name=mine --set scheduler.replicaCount=1 --set scheduler.leaderElect=false --set "
      "scheduler.image=repo/berth:x --set scheduler.resources.requests.cpu=2 --set scheduler.nodeSelector.a=b --set "
      "'scheduler.tolerations[0].key=t' --set scheduler.priorityClassName= --set 'plugins.disabled={ImageLocality}' "
      "--set 'pluginConfig[0].name=InterPodAffinity' --set 'pluginConfig[0].args.hardPodAffinityWeight=7'";
  const std::vector<json> documents = documents_of(helm_template(options));
  if (documents.empty()) GTEST_SKIP() << "helm is not installed: go install helm.sh/helm/v3/cmd/helm@v3.19.5";
  check_rights(documents, "mine", "sched");
  check_deployment(documents, "mine", 1);
  const json pod = find(documents, "Deployment")["spec"]["template"]["spec"];
  EXPECT_EQ(pod["containers"][0]["image"], "repo/berth:x");
  EXPECT_EQ(pod["nodeSelector"], json({{"a", "b"}}));
  EXPECT_EQ(pod["tolerations"][0]["key"], "t");
  EXPECT_FALSE(pod.contains("priorityClassName"));
  const SchedulerConfig config = config_in(documents);
  EXPECT_FALSE(config.leader_election.leader_elect);
  EXPECT_FALSE(config.profiles.at(0).enables(ExtensionPoint::kScore, "ImageLocality"));
  EXPECT_EQ(config.profiles.at(0).args.inter_pod_affinity.hard_pod_affinity_weight, 7);
}

}  // namespace
}  // namespace berth::test
