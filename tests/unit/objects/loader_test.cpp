// SPDX-License-Identifier: Apache-2.0
#include "host/objects/loader.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

std::string named(const std::string& kind, const std::string& name, const std::string& metadata = "",
                  const std::string& rest = "") {
  const std::string api = kind == "PriorityClass" ? "scheduling.k8s.io/v1" : "v1";
  return R"({"apiVersion":")" + api + R"(","kind":")" + kind + R"(","metadata":{"name":")" + name + "\"" + metadata +
         R"(},"spec":{})" + rest + "}\n";
}

struct TemporaryFolder {
  std::filesystem::path path;
  explicit TemporaryFolder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("berth_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

TEST(Loader, DuplicateNamesAreAProblemAndTheFirstObjectStays) {
  const auto result = load_cluster_from_text(
      named("Node", "n", R"(,"labels":{"a":"1"})") + named("Node", "n") + named("Pod", "p") +
          named("Pod", "p", R"(,"namespace":"default")") + named("Pod", "p", R"(,"namespace":"other")") +
          named("Namespace", "x") + named("Namespace", "x") + named("Service", "s") + named("Service", "s"),
      "f.json", {});
  const auto repeated = [](int line, const std::string& object, int first) {
    return "f.json: line " + std::to_string(line) + " (" + object +
           "): stands in the input twice, expected one object of a name; the first, on line " + std::to_string(first) +
           ", is kept";
  };
  EXPECT_EQ(texts(result.problems), (Strings{repeated(2, "Node n", 1), repeated(4, "Pod default/p", 3),
                                             repeated(7, "Namespace x", 6), repeated(9, "Service default/s", 8)}));
  EXPECT_EQ(result.objects.nodes.size(), 1u);
  EXPECT_FALSE(result.objects.nodes[0]->labels.empty());
  EXPECT_EQ(result.objects.pods.size(), 2u);
  EXPECT_EQ(result.left_out.size(), 4u);
  EXPECT_EQ(result.left_out[1].object, "Pod default/p");
}

TEST(Loader, DuplicatePodUidsAreAProblem) {
  const auto result = load_cluster_from_text(named("Pod", "a", R"(,"uid":"u")") + named("Pod", "b", R"(,"uid":"u")") +
                                                 named("Pod", "c", R"(,"uid":"default/d")") + named("Pod", "d"),
                                             "f", {});
  EXPECT_EQ(
      texts(result.problems),
      Strings{"f: line 2 (Pod default/b): has the uid \"u\" of another pod; the first is kept (and 1 more like it)"});
  EXPECT_EQ(result.problem_count, 2);
  EXPECT_EQ(result.objects.pods.size(), 2u);
}

TEST(Loader, AFinishedPodsNameMustBeUnique) {
  const auto result =
      load_cluster_from_text(named("Pod", "a") + named("Pod", "a", "", R"(,"status":{"phase":"Failed"})"), "f", {});
  EXPECT_EQ(result.problem_count, 1);
  EXPECT_EQ(result.objects.terminal_pod_count, 0);
  EXPECT_EQ(result.objects.pods.size(), 1u);
}

TEST(Loader, ABadObjectDoesNotAffectOthers) {
  const auto result = load_cluster_from_text(
      named("Node", "a") + R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"b"},"spec":{"taints":7}})" +
          named("Node", "c"),
      "f", {});
  ASSERT_EQ(result.objects.nodes.size(), 2u);
  EXPECT_EQ(result.objects.nodes[1]->name, "c");
  ASSERT_EQ(result.left_out.size(), 1u);
  EXPECT_EQ(result.left_out[0].object, "Node b");
  EXPECT_NE(result.left_out[0].reason.find("spec.taints (Node b): got 7, expected an array"), std::string::npos);
  EXPECT_THROW(result.throw_if_problems(), InputError);
}

TEST(Loader, InputOrderChangesOnlyTheOrderOfTheResult) {
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"priorityClassName":"high"}})";
  const std::string high =
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":5})";
  EXPECT_EQ(load_good(pod + high).pods.at(0)->priority, 5);
  EXPECT_EQ(load_good(high + pod).pods.at(0)->priority, 5);
}

TEST(Loader, KeepsInputOrderForAnyNumberOfThreads) {
  std::string text = R"({"apiVersion":"v1","kind":"PodList","items":[)";
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    text += R"({"metadata":{"name":"pod-)" + std::to_string(i) + R"(","labels":{"app":"a)" + std::to_string(i % 7) +
            R"("}},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" + std::to_string(i % 5) +
            R"("}}}]}},)";
  }
  text.back() = ']';
  text += '}';
  for (const int threads : {1, 2, 4}) {
    LoadOptions options;
    options.threads = threads;
    options.text.block_bytes = 16 << 10;
    const ClusterObjects objects = load_good(text, options);
    ASSERT_EQ(objects.pods.size(), static_cast<std::size_t>(kCount));
    for (int i = 0; i < kCount; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(objects.pods[at]->name, "pod-" + std::to_string(i));
      // Equal content is shared, also between threads.
      ASSERT_EQ(objects.pods[at]->spec, objects.pods[at % 5]->spec);
      ASSERT_EQ(objects.pods[at]->labels.bytes().data(), objects.pods[at % 7]->labels.bytes().data());
    }
  }
}

TEST(Loader, ReadsFilesAndFoldersAndNamesThemInProblems) {
  const TemporaryFolder folder("loader");
  folder.write("b.json", named("Node", "b"));
  folder.write("a.yaml",
               "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: "
               "p}\nspec: {priority: x}\n");
  const LoadResult result = load_cluster({folder.path.string()});
  ASSERT_EQ(result.objects.nodes.size(), 2u);
  EXPECT_EQ(result.objects.nodes[0]->name, "a");
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_EQ(result.problems[0].source, (folder.path / "a.yaml").string());
  EXPECT_EQ(result.problems[0].location, "line 8, spec.priority");
  EXPECT_GT(result.objects.bytes_read, 100u);
}

TEST(Loader, AMissingFileIsAProblemAndOthersAreRead) {
  const TemporaryFolder folder("missing");
  const auto path = folder.write("n.json", named("Node", "n"));
  const LoadResult result = load_cluster({"/no/such/file.json", path});
  EXPECT_EQ(result.problem_count, 1);
  EXPECT_EQ(result.objects.nodes.size(), 1u);
}

TEST(Loader, TheFirstOfTwoObjectsOfOneNameIsNamedWithItsFile) {
  const TemporaryFolder folder("twice");
  const std::string a = folder.write("a.json", named("Node", "n"));
  const std::string b = folder.write("b.json", "\n" + named("Node", "n"));
  EXPECT_EQ(texts(load_cluster({folder.path.string()}).problems),
            Strings{b + ": line 2 (Node n): stands in the input twice, expected one object of a name; the first, in " +
                    a + " on line 1, is kept"});
}

TEST(Loader, ProblemsNameTheLineOfTheFieldInEveryForm) {
  const std::string json =
      "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{\"apiVersion\": \"v1\",\n\"kind\": "
      "\"Node\",\n\"metadata\": "
      "{\"name\": \"n\"},\n\"spec\": {\n\"taints\": [\n{\"key\": 7,\n\"effect\": \"NoSchedule\"}]}}]}";
  EXPECT_EQ(problems_with_lines(json),
            Strings{"test: line 7, items[0].spec.taints[0].key (Node n): got 7, expected a string"});
  std::string lines = json;
  std::erase(lines, '\n');
  EXPECT_EQ(problems_with_lines("\n\n" + lines),
            Strings{"test: line 3, items[0].spec.taints[0].key (Node n): got 7, expected a string"});
  EXPECT_EQ(problems_with_lines(
                "kind: Node\napiVersion: v1\nmetadata: {name: node}\nspec:\n  taints:\n  - effect: NoSchedule\n    "
                "key: 7\n"),
            Strings{"test: line 7, spec.taints[0].key (Node node): got 7, expected a string"});
  EXPECT_EQ(problems_with_lines("{\"apiVersion\":\"v1\",\n\"kind\":\"Node\",\n\"metadata\":\n{}}"),
            Strings{"test: line 3, metadata.name (Node): absent, expected a name"})
      << "an absent field is on the line of the object around it";
}

TEST(Loader, AnIntegerOfMoreThan64BitsIsAFloatAndNotMalformed) {
  const std::string start = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"x":[)";
  for (const char* number : {"7071111107111111111140", "18446744073709551616", "-9223372036854775809"}) {
    EXPECT_EQ(load_good(start + number + R"(, "\"18446744073709551616"]})").nodes.size(), 1U) << number;
  }
  const auto problems = problems_of("[7071111107111111111140\n,0]");
  EXPECT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems.at(0), "test: items[0]: got 7.071111107111112e+21, expected an object");
  EXPECT_NE(problems_of(start + "1e999]}").at(0).find("malformed JSON"), std::string::npos);
}

TEST(Loader, ReportsTheProgressOfReading) {
  const TemporaryFolder folder("progress");
  const std::string text = named("Node", "n");
  const std::string path = folder.write("n.json", text);
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  LoadOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  load_cluster({path}, options);
  EXPECT_EQ(last, text.size());
  EXPECT_EQ(total, text.size());
}

TEST(Loader, WithoutExpansionWorkloadsMakeNoPods) {
  LoadOptions options;
  options.expand_workloads = false;
  const ClusterObjects objects = load_good(
      "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r}\nspec: {replicas: 3, selector: {}, template: "
      "{metadata: "
      "{}, spec: {containers: [{name: c}]}}}\n",
      options);
  EXPECT_TRUE(objects.pods.empty());
  ASSERT_EQ(objects.workloads.size(), 1U);
  EXPECT_EQ(objects.workloads[0].expanded_pod_count, 0);
}

TEST(Loader, MalformedTextIsAProblemWithItsLocation) {
  const LoadResult result = load_cluster_from_text(named("Node", "a") + "{\"kind\":\"Node\",]", "f.json", {});
  EXPECT_EQ(result.problem_count, 1);
  EXPECT_EQ(result.objects.nodes.size(), 1u);
  const auto inside = problems_of(
      R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":tru}}]})");
  ASSERT_EQ(inside.size(), 1u);
  EXPECT_NE(inside[0].find("items[0]: malformed JSON"), std::string::npos) << inside[0];
}

TEST(Loader, NonObjectItemsAreProblems) {
  const auto problems = problems_of(R"({"apiVersion":"v1","kind":"List","items":[7,null,[]]})");
  EXPECT_EQ(problems.size(), 3u);
}

TEST(Loader, OnePageOfAListIsAWarningWithItsPlace) {
  const std::string said =
      " is one page of a list (metadata.continue), expected the other pages in the input too; kubectl get without "
      "--raw "
      "writes a list as a whole";
  const auto warnings = [](const std::string& text) {
    return load_cluster_from_text(text, "test", {}).objects.warnings;
  };
  const std::string items = R"("items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}])";
  const std::string page = R"("metadata":{"resourceVersion":"7","continue":"eyJ2Ijo"})";
  const std::string head = R"({"apiVersion":"v1","kind":"NodeList",)";
  const Strings expected = {"test: line 2:" + said};
  EXPECT_EQ(warnings(head + "\n" + page + "," + items + "}"), expected);
  EXPECT_EQ(warnings(head + items + ",\n" + page + "}"), expected) << "as kubectl orders the fields";
  EXPECT_EQ(warnings("apiVersion: v1\nkind: NodeList\nmetadata: {continue: abc}\nitems: []\n"),
            (Strings{"test: line 3:" + said}));
  EXPECT_EQ(warnings(R"({"apiVersion":"v1","kind":"List","items":[)" + head + items + "," + page + "}]}"),
            (Strings{"test: line 1, items[0]:" + said}));
  for (const std::string last : {R"("metadata":{"continue":""})", R"("metadata":{"resourceVersion":"continue"})"})
    EXPECT_EQ(warnings(head + last + "," + items + "}"), Strings{});
}

TEST(Loader, FilesWithoutObjectsAreOneWarning) {
  const TemporaryFolder folder("comments");
  for (const char* name : {"a.yaml", "b.yaml", "c.yaml"}) folder.write(name, "# later\n");
  EXPECT_EQ(load_cluster({folder.path.string()}, {}).objects.warnings,
            (Strings{(folder.path / "a.yaml").string() +
                     ": holds no object, only comments or empty documents (and 2 more like it)"}));
}

// Files are read ahead of those that are appended; for sanitizers.
TEST(Loader, ManyFilesAreReadWhileOthersAreAppended) {
  const TemporaryFolder folder("many");
  constexpr int kFiles = 300;
  for (int i = 0; i < kFiles; ++i) {
    const std::string number = std::to_string(kFiles + i);
    folder.write("empty-" + number + ".yaml", "# later\n");
    folder.write("node-" + number + ".yaml", named("Node", "n" + number));
  }
  const LoadResult result = load_cluster({folder.path.string()}, {});
  EXPECT_EQ(result.objects.nodes.size(), static_cast<std::size_t>(kFiles));
  EXPECT_EQ(result.objects.warnings,
            (Strings{(folder.path / "empty-300.yaml").string() +
                     ": holds no object, only comments or empty documents (and 299 more like it)"}));
}

TEST(Loader, StopsAtTheObjectLimit) {
  LoadOptions options;
  options.objects_max = 3;
  options.threads = 1;
  std::string text;
  for (int i = 0; i < 5; ++i) text += named("Node", "n" + std::to_string(i));
  const LoadResult result = load_cluster_from_text(text, "f", options);
  ASSERT_EQ(result.problem_count, 1);
  EXPECT_EQ(result.problems[0].message, "the input has more than 3 objects; the rest was not read");
}

TEST(Loader, KeepsTheFirstProblemsAndCountsAll) {
  LoadOptions options;
  options.problems_max = 2;
  std::string text;
  for (int i = 0; i < 4; ++i) text += R"({"apiVersion":"v1","kind":"Node","metadata":{}})";
  for (const auto* bad : {R"("spec":7)", R"("status":7)"}) {
    text += R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},)" + std::string(bad) + "}";
  }
  const LoadResult result = load_cluster_from_text(text, "f", options);
  ASSERT_EQ(result.problems.size(), 2u);
  EXPECT_EQ(result.problems[0].repeat_count, 3);
  EXPECT_EQ(total_count(result.problems), 5);
  EXPECT_EQ(result.problem_count, 6);
  EXPECT_EQ(result.left_out.size(), 6u);
}

TEST(Loader, AnEmptyInputIsAnEmptyCluster) {
  EXPECT_TRUE(load_good("").nodes.empty());
  EXPECT_TRUE(load_good(R"({"apiVersion":"v1","kind":"List","items":[]})").nodes.empty());
}

}  // namespace
}  // namespace berth
