// SPDX-License-Identifier: Apache-2.0
// What the program does with input that is no dump of a cluster, or of a cluster without nodes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/objects/dump_command.h"
#include "tests/cli/program.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

ProgramRun schedule(const std::string& input, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"schedule", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_berth(arguments, input);
}

const std::string kNoNode =
    "berth: warning: the input has no Node, so no pod can be placed; a dump with all that is read: " +
    std::string(kDumpCommand) + "\n";

struct FailedDump {
  std::string text;
  std::string error;
};

void PrintTo(const FailedDump& dump, std::ostream* out) { *out << dump.error; }

class FailedDumps : public testing::TestWithParam<FailedDump> {};

TEST_P(FailedDumps, AreErrorsThatSayWhatTheyLookLike) {
  for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--skip-invalid"}, {"-q"}}) {
    const ProgramRun run = schedule(GetParam().text, more);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("berth: " + GetParam().error), std::string::npos) << run.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FailedDumps,
    testing::Values(
        FailedDump{"", "-: is empty, expected Kubernetes objects: did the command that wrote it fail?\n"},
        FailedDump{" \n\n", "-: is empty, expected"},
        FailedDump{"# nothing\n---\n---\n# at all\n", "the input holds no object at all: did the command that"},
        FailedDump{"{}", "-: line 1: is an empty object, expected"},
        FailedDump{"---\n{}\n", "-: line 2: is an empty object, expected"},
        FailedDump{R"({"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden","message":"no"})",
                   "-: line 1: is a Status object (code 403, Forbidden): \"no\", expected"},
        FailedDump{R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]})", "-: line 1: is a Table, which"},
        FailedDump{"apiVersion: v1\nkind: Config\nusers: []\n", "-: line 1: is a kubeconfig, which says"},
        FailedDump{"<html><body>502 Bad Gateway</body></html>", "-: is HTML or XML, such as"},
        FailedDump{"NAME   STATUS   ROLES\nn1   Ready   <none>\n", "-: is a table that kubectl prints"},
        FailedDump{"Name:         web-0\nNamespace:    x\n", "-: is what kubectl describe prints"},
        FailedDump{"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n",
                   "-: line 4: a mapping or a list cannot be a field name (a template"},
        FailedDump{R"({"items":null})", "the input holds no object, only null in place of the items of a list"},
        FailedDump{R"({"kind":"List","apiVersion":"v1","items":null})", "the input holds no object, only null"},
        FailedDump{"[]", "the input holds no object, only null in place of the items of a list, or []"},
        FailedDump{"kind: PodList\nitems:\n", "the input holds no object, only null"},
        FailedDump{"null", "the input holds no object at all"}, FailedDump{"7", "-: line 1: got a lone scalar"},
        FailedDump{R"({"kind":"List","apiVersion":"v1","items":[{"kind":"ConfigMap","apiVersion":"v1"}]})",
                   "the input holds 1 object, none of a kind that Berth reads; the first kind is v1/ConfigMap\n"}));

TEST(Input, AnEmptyListIsAClusterWithoutNodesAndSaysSo) {
  for (const char* text : {R"({"kind":"List","apiVersion":"v1","items":[]})", R"({"kind":"PodList","items":[]})",
                           "kind: List\nitems: []\n"}) {
    const ProgramRun run = schedule(text);
    EXPECT_EQ(run.exit_code, 0) << text;
    EXPECT_EQ(run.err, kNoNode) << text;
    EXPECT_EQ(schedule(text, {"-q"}).err, "");
  }
}

TEST(Input, PodsWithoutNodesAreUnplacedAndTheRunSaysSo) {
  const ProgramRun run =
      schedule(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})",
               {"--fail-unplaced"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err, kNoNode);
}

TEST(Input, AnEmptyFileBesideGoodOnesIsAnError) {
  const std::string nodes = write_file("good.yaml", small_cluster());
  const std::string empty = write_file("empty.json", "");
  const ProgramRun run = run_berth({"schedule", "-f", nodes, empty});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err,
            "berth: " + empty + ": is empty, expected Kubernetes objects: did the command that wrote it fail?\n");
}

TEST(Input, SkipInvalidSaysTheSameProblemOnce) {
  std::string text = small_cluster();
  for (int i = 0; i < 200; ++i)
    text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad-" + std::to_string(i) + "}\nspec: {priority: high}\n";
  const ProgramRun run = schedule(text, {"--skip-invalid", "-o", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.err.find("left out Pod default/bad-0: -: line "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("got \"high\", expected an integer (and 199 more like it)\n"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("berth: 200 invalid objects left out (--skip-invalid)\n"), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 2) << run.err;
}

TEST(Input, AFileOfCommentsBesideGoodOnesIsAWarning) {
  const std::string nodes = write_file("good.yaml", small_cluster());
  const std::string comments = write_file("comments.yaml", "# later\n---\n# more\n");
  const ProgramRun run = run_berth({"schedule", "-f", nodes, comments});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "berth: warning: " + comments + ": holds no object, only comments or empty documents\n");
}

TEST(Input, ErrorsNameTheLineOfTheField) {
  const std::string pod = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
  "spec": {
    "priority": "high"}})";
  EXPECT_EQ(schedule(pod).err, "berth: -: line 3, spec.priority (Pod default/p): got \"high\", expected an integer\n");
  const ProgramRun list = schedule("{\"apiVersion\":\"v1\",\"kind\":\"List\",\n\"items\":[\n" + pod + "]}");
  EXPECT_NE(list.err.find("berth: -: line 5, items[0].spec.priority (Pod default/p): got \"high\""), std::string::npos)
      << list.err;
}

TEST(Input, WithoutExpansionOnlyPodsOfTheInputArePlaced) {
  const std::string input = small_cluster() + R"(---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}
)";
  const auto pods = [&](const std::vector<std::string>& more) {
    return Json::parse(schedule(input, more).out)["stats"]["pods"].get<int>();
  };
  EXPECT_EQ(pods({"-o", "json"}), pods({"-o", "json", "--no-expand"}) + 3);
}

TEST(Input, MoreThreadsThanCoresPrintNothing) {
  const ProgramRun run = schedule(small_cluster(), {"--threads", "1024"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
}

TEST(Input, APipeInADirectoryIsAnErrorAndDoesNotHang) {
  const std::string directory = std::filesystem::path(write_file("marker", "")).parent_path() / "pipes";
  std::filesystem::create_directories(directory);
  ASSERT_EQ(mkfifo((directory + "/b.json").c_str(), 0600), 0);
  const ProgramRun run = run_berth({"schedule", "-f", directory});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("/b.json: is a pipe, socket or device, expected a file"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace berth::test
