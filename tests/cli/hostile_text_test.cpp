// SPDX-License-Identifier: Apache-2.0
// Text of the input in messages and reports. Every place that puts a name, a value, a path or an option into a message
// is driven with bytes that a terminal acts on; none may arrive there, and none may begin a line.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

using nlohmann::json;

/// An escape sequence, a line of Berth's, C1's CSI, two bidirectional controls, a line separator, tab and delete.
constexpr std::string_view kHostile =
    "\x1b[2J\r\nberth: forged\xc2\x9b"
    "31m\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\t\x7f";
/// How the start of kHostile is shown: as escapes, or as '?' or nothing where a message is stricter.
constexpr std::string_view kShownStart = "[2J";

std::string hostile() { return std::string(kHostile); }
/// The same as a word of JSON and of YAML, in quotes.
std::string quoted_hostile() { return json(hostile()).dump(-1, ' ', true); }

/// What is wrong with text for a terminal; empty: nothing.
std::string terminal_problem(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return "control byte " + std::to_string(byte);
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return "C1 control";
  }
  for (const char* raw : {"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xff"})
    if (text.find(raw) != text.npos) return "raw bidirectional control, separator or byte that is not UTF-8";
  return "";
}

std::string message_problem(const std::string& err) {
  for (std::size_t from = 0; from < err.size();) {
    const std::size_t end = err.find('\n', from);
    if (end == err.npos) return "a line without an end";
    const std::string line = err.substr(from, end - from);
    if (!line.starts_with("berth: ")) return "a line that is not of Berth's form: " + line;
    if (line.starts_with("berth: forged")) return "a forged line";
    from = end + 1;
  }
  return terminal_problem(err);
}

struct Case {
  std::string name;
  std::vector<std::string> arguments;
  std::string input;
  int exit_code = 1;
  std::string part;      ///< of the expected message, beside the hostile text
  bool is_shown = true;  ///< the message shows the hostile text
};

Case objects_case(std::string name, std::string text, std::string part, int exit_code = 1) {
  return {std::move(name), {"schedule", "-f", "-"}, std::move(text), exit_code, std::move(part)};
}

/// An error that says what is wrong without showing it.
Case unshown_case(std::string name, std::string text, std::string part) {
  Case one = objects_case(std::move(name), std::move(text), std::move(part));
  one.is_shown = false;
  return one;
}

std::string pod_with(const std::string& spec, const std::string& more = "") {
  return "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
         "\"c\"}]," +
         spec + "}" + more + "}";
}

std::vector<Case> object_cases() {
  const std::string h = quoted_hostile();
  const std::string named = "\"metadata\":{\"name\":" + h + "}";
  const std::string pod =
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," + named + ",\"spec\":{\"containers\":[{\"name\":\"c\"}]}}";
  const std::string node = "{\"apiVersion\":\"v1\",\"kind\":\"Node\"," + named + "}";
  const std::string job = "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"," + named +
                          ",\"spec\":{\"template\":{\"spec\":{\"containers\":[]}}}}";
  const auto requests = [](const std::string& entry) {
    return "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
           "\"c\","
           "\"resources\":{\"requests\":{" +
           entry + "}}}]}}";
  };
  std::vector<Case> cases = {
      objects_case("unknown_kind", "{\"apiVersion\":\"v1\",\"kind\":" + h + "}", "none of a kind"),
      objects_case("unknown_api_version",
                   "{\"apiVersion\":" + json(hostile() + "/v1").dump(-1, ' ', true) + ",\"kind\":\"Pod\"}",
                   "none of a kind"),
      objects_case("list_kind", "{\"items\":[{}],\"apiVersion\":\"v1\",\"kind\":" + h + "}",
                   "expected a kind that ends"),
      objects_case("unknown_kind_beside_a_node", node + "{\"apiVersion\":\"v1\",\"kind\":" + h + "}", "unknown kind",
                   0),
      objects_case("status", "{\"apiVersion\":\"v1\",\"kind\":\"Status\",\"reason\":" + h + ",\"message\":" + h + "}",
                   "is a Status"),
      objects_case("error_text", "error: " + hostile(), "is an error message"),
      objects_case("label_key",
                   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"labels\":{" + h + ":7}}}",
                   "expected a string"),
      objects_case("integer_value", pod_with("\"priority\":" + h), "expected an integer"),
      objects_case("resource_name", requests(h + ":\"1\""), "name of a resource"),
      objects_case("quantity", requests("\"cpu\":" + h), "cpu"),
      objects_case("priority_class_name", pod_with("\"priorityClassName\":" + h), "expected a PriorityClass"),
      objects_case("runtime_class_name", pod_with("\"runtimeClassName\":" + h), "expected the name of an object", 0),
      objects_case("repeated_node", node + node, "twice"),
      objects_case("repeated_pod", pod + pod, "twice"),
      objects_case("repeated_workload", job + job, "twice"),
      objects_case("operator",
                   pod_with("\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
                            "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":" +
                            h + "}]}]}}}"),
                   "operator"),
      objects_case(
          "when_unsatisfiable",
          pod_with("\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":" + h +
                   "}]"),
          "whenUnsatisfiable"),
      objects_case("creation_timestamp",
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"creationTimestamp\":" + h +
                       "},\"spec\":{}}",
                   "creationTimestamp"),
      unshown_case("json_with_a_raw_byte", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" + hostile() + "]}",
                   "malformed JSON"),
      objects_case("yaml_duplicate_key", "kind: Pod\nmetadata: &m {" + h + ": 1, " + h + ": 2}\n", "duplicate key"),
      objects_case("yaml_tag", "kind: Pod\nspec: !!int " + h + "\n", "expected a value of its tag"),
      unshown_case("yaml_with_a_raw_control", "kind: \x1b[2J\n", "line 1"),
      unshown_case("yaml_bytes_that_are_not_utf8", "kind: \xff[2J\n", "line 1"),
  };
  cases.push_back(objects_case(
      "left_out_object",
      node + "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":" + h + "},\"spec\":{\"taints\":7}}",
      "left out", 0));
  cases.back().arguments.push_back("--skip-invalid");
  return cases;
}

/// Files and folders whose names are hostile.
std::vector<Case> path_cases() {
  const std::string name = "\x1b[2J\nberth: forged\xc2\x9b\xe2\x80\xae\xff";
  const std::string missing = write_file("missing" + name, "");
  std::filesystem::remove(missing);
  const std::string bad = write_file("bad" + name, "{\"kind\":");
  const std::string bad_gzip = write_file("zip" + name, std::string("\x1f\x8b\x08", 3) + "corrupt");
  const std::string folder = write_file("folder" + name, "");
  std::filesystem::remove(folder);
  std::filesystem::create_directory(folder);
  const std::string duplicate = write_file("twice" + name,
                                           "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}"
                                           "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}");
  std::vector<Case> cases = {
      {"missing_input", {"schedule", "-f", missing}, "", 1, "no such file"},
      {"malformed_input", {"schedule", "-f", bad}, "", 1, "JSON"},
      {"corrupt_input", {"schedule", "-f", bad_gzip}, "", 1, "gzip"},
      {"empty_folder", {"schedule", "-f", folder}, "", 1, "holds no"},
      {"file_with_a_repeated_object", {"schedule", "-f", duplicate}, "", 1, "twice"},
      {"left_out_of_a_file", {"schedule", "-f", duplicate, "--skip-invalid"}, "", 0, "left out"},
      {"missing_config", {"schedule", "-f", "-", "--config", missing}, "", 1, "cannot be opened"},
      {"malformed_config", {"config", "check", bad}, "", 1, ""},
      {"missing_engine_config", {"schedule", "-f", "-", "--engine-config", missing}, "", 1, "cannot be opened"},
      {"missing_spec", {"generate", "--spec", missing}, "", 1, "cannot be opened"},
      {"output_in_no_folder",
       {"generate", "--spec", "-", "-o", missing + "/out.json"},
       "nodePools: [{name: a, count: 1, allocatable: {cpu: 1}}]\n",
       1,
       "cannot be written"},
      {"config_out_in_no_folder",
       {"generate", "--spec", "-", "--config-out", missing + "/out.json"},
       "random: {configuration: true}\n",
       1,
       "cannot be written"},
      {"missing_nodes", {"import", "openb", "--nodes", missing, "--pods", missing}, "", 1, "cannot be opened"},
      {"malformed_nodes", {"import", "openb", "--nodes", bad, "--pods", bad}, "", 1, "column"},
  };
  return cases;
}

std::vector<Case> configuration_cases() {
  const std::string h = quoted_hostile();
  const std::string head = "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":\"KubeSchedulerConfiguration\"";
  const auto profile = [&](const std::string& fields) { return head + ",\"profiles\":[{" + fields + "}]}"; };
  const auto arguments = [&](const std::string& plugin, const std::string& args) {
    return profile("\"pluginConfig\":[{\"name\":" + plugin + ",\"args\":{" + args + "}}]");
  };
  const std::vector<Case> contents = {
      {"kind", {}, "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":" + h + "}", 1, "kind"},
      {"api_version", {}, "{\"apiVersion\":" + h + ",\"kind\":\"KubeSchedulerConfiguration\"}", 1, "apiVersion"},
      {"field", {}, head + "," + h + ":1}", 1, "unknown field"},
      {"duration", {}, head + ",\"leaderElection\":{\"leaseDuration\":" + h + "}}", 1, "duration"},
      {"plugin", {}, profile("\"plugins\":{\"filter\":{\"enabled\":[{\"name\":" + h + "}]}}"), 1, "unknown plugin"},
      {"extension_point", {}, profile("\"plugins\":{" + h + ":{}}"), 1, "unknown field"},
      {"scheduler_name",
       {},
       head + ",\"profiles\":[{\"schedulerName\":" + h + "},{\"schedulerName\":" + h + "}]}",
       1,
       "no other profile"},
      {"arguments_of_a_plugin", {}, arguments(h, "\"a\":1"), 1, ""},
      {"strategy",
       {},
       arguments("\"NodeResourcesFit\"", "\"scoringStrategy\":{\"type\":" + h + "}"),
       1,
       "scoringStrategy"},
      {"added_affinity",
       {},
       arguments("\"NodeAffinity\"",
                 "\"addedAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
                 "\"matchExpressions\":[{\"key\":" +
                     h + ",\"operator\":\"Exists\"}]}]}}"),
       1,
       "label key"},
      {"default_constraint",
       {},
       arguments("\"PodTopologySpread\"",
                 "\"defaultingType\":\"List\",\"defaultConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\","
                 "\"whenUnsatisfiable\":" +
                     h + "}]"),
       1,
       "whenUnsatisfiable"},
      {"extender", {}, head + ",\"extenders\":[{\"urlPrefix\":" + h + ",\"filterVerb\":\"f\"}]}", 1, "extender"},
  };
  std::vector<Case> cases;
  for (const Case& content : contents) {
    const std::string file = write_file("hostile-" + content.name + ".yaml", content.input);
    cases.push_back({"config_" + content.name, {"schedule", "-f", "-", "--config", file}, "", 1, content.part});
  }
  const std::string extender = write_file("hostile-extender.yaml", contents.back().input);
  cases.push_back({"config_extender_allowed",
                   {"schedule", "-f", "-", "--config", extender, "--allow-unsupported"},
                   small_cluster(),
                   0,
                   "going on without it"});
  const std::string engine_head = "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"BerthEngineConfiguration\",";
  for (const char* field : {"nodeSampling", "tieBreak", "backend", "seed"}) {
    const std::string file =
        write_file(std::string("hostile-engine-") + field, engine_head + "\"" + field + "\":" + h + "}");
    cases.push_back({std::string("engine_") + field, {"schedule", "-f", "-", "--engine-config", file}, "", 1, ""});
  }
  const std::string unknown = write_file("hostile-engine-unknown", engine_head + h + ":1}");
  cases.push_back(
      {"engine_unknown_field", {"schedule", "-f", "-", "--engine-config", unknown}, "", 1, "unknown field"});
  return cases;
}

std::vector<Case> option_cases() {
  const std::string h = hostile() + "\xff";
  const auto usage = [&](std::string name, std::vector<std::string> arguments) {
    return Case{std::move(name), std::move(arguments), "", 2, ""};
  };
  return {usage("command", {h}),
          usage("option", {"schedule", "-f", "-", "--" + h}),
          usage("extra_argument", {"version", h}),
          usage("backend", {"schedule", "-f", "-", "--backend", h}),
          usage("output", {"schedule", "-f", "-", "-o", h}),
          usage("seed", {"schedule", "-f", "-", "--seed", h}),
          usage("threads", {"schedule", "-f", "-", "--threads", h}),
          usage("flag_with_a_value", {"schedule", "-f", "-", "--quiet=" + h}),
          usage("release", {"schedule", "-f", "-", "--emulate-version", h}),
          usage("feature_gates", {"schedule", "-f", "-", "--feature-gates", h}),
          usage("feature_gate", {"schedule", "-f", "-", "--feature-gates", h + "=true"}),
          usage("feature_gate_value", {"schedule", "-f", "-", "--feature-gates", "AllAlpha=" + h}),
          usage("several_feature_gates", {"config", "check", "-", "--feature-gates", "A" + h + "=true,B" + h + "=1"}),
          usage("backends", {"bench", "-f", "-", "--backends", "cpu," + h}),
          usage("repeat", {"bench", "-f", "-", "--repeat", h}),
          usage("gpu_mode", {"import", "openb", "--nodes", "a", "--pods", "b", "--gpu-mode", h}),
          usage("shell", {"completion", h}),
          usage("subcommand", {"config", h}),
          {"pod_to_explain", {"explain", h, "-f", "-"}, small_cluster(), 1, ""}};
}

std::vector<Case> generate_cases() {
  const std::string h = quoted_hostile();
  const auto spec = [](std::string name, std::string text) {
    return Case{"spec_" + std::move(name), {"generate", "--spec", "-"}, std::move(text), 1, ""};
  };
  const std::string pool = "{\"name\":\"a\",\"count\":1,\"allocatable\":{\"cpu\":1}}";
  const std::string node_header = "sn,cpu_milli,memory_mib,gpu,model\n";
  const auto csv = [&](std::string name, const std::string& nodes) {
    const std::string file = write_file("hostile-" + name + ".csv", nodes);
    return Case{"csv_" + std::move(name), {"import", "openb", "--nodes", file, "--pods", file}, "", 1, ""};
  };
  return {
      spec("field", "{" + h + ":1}"),
      spec("pool_name", "{\"nodePools\":[{\"name\":" + h + ",\"count\":1,\"allocatable\":{\"cpu\":1}}]}"),
      spec("repeated_pool", "{\"nodePools\":[" + pool + "," + pool + ",{\"name\":" + h + "},{\"name\":" + h + "}]}"),
      spec("running_on",
           "{\"nodePools\":[" + pool + "],\"pods\":[{\"name\":\"p\",\"running\":1,\"runningOn\":[" + h + "]}]}"),
      spec("quantity", "{\"nodePools\":[{\"name\":\"a\",\"count\":1,\"allocatable\":{\"cpu\":" + h + "}}]}"),
      csv("column", node_header.substr(0, node_header.size() - 1) + ",\"" + hostile() + "\",\"" + hostile() + "\"\n"),
      csv("number", node_header + "n,\"" + hostile() + "\",1,0,\n"),
      csv("name", node_header + "\"" + hostile() + "\",1,1,0,\n"),
      csv("model", node_header + "n,1,1,1,\"" + hostile() + "\"\n")};
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases : {object_cases(), path_cases(), configuration_cases(), option_cases(), generate_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

class HostileText : public testing::TestWithParam<Case> {};

TEST_P(HostileText, ReachesStandardErrorAsVisibleEscapesOnly) {
  const ProgramRun run = run_berth(GetParam().arguments, GetParam().input);
  EXPECT_EQ(run.exit_code, GetParam().exit_code) << run.err;
  EXPECT_EQ(message_problem(run.err), "") << run.err;
  EXPECT_EQ(terminal_problem(run.out), "") << run.out;
  // The case is about a message that shows the text; one that shows nothing would prove nothing.
  EXPECT_NE(run.err.find(GetParam().part), run.err.npos) << run.err;
  EXPECT_EQ(run.err.find(kShownStart) != run.err.npos, GetParam().is_shown) << run.err;
}

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

INSTANTIATE_TEST_SUITE_P(Messages, HostileText, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

/// A cluster in which every name that the loader lets in is hostile.
std::string hostile_cluster() {
  const std::string h = hostile();
  const json resources = {{"cpu", "4"}, {"pods", "10"}, {"memory", "8Gi"}};
  json taint = {{"key", "t" + h}, {"value", h}, {"effect", "NoSchedule"}};
  json node = {{"apiVersion", "v1"},
               {"kind", "Node"},
               {"metadata", {{"name", "n" + h}, {"labels", {{"z" + h, h}}}}},
               {"spec", {{"taints", {taint}}}},
               {"status", {{"allocatable", resources}}}};
  const auto pod = [&](const std::string& name, json spec) {
    spec["containers"] = {{{"name", "c"}, {"image", "i" + h}}};
    return json{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", name + h}, {"namespace", "ns" + h}, {"labels", {{"app", h}}}}},
                {"spec", std::move(spec)}};
  };
  const json tolerations = {{{"operator", "Exists"}}};
  const json spread = {{{"maxSkew", 1}, {"topologyKey", "k" + h}, {"whenUnsatisfiable", "DoNotSchedule"}}};
  json items = {node,
                pod("fits", {{"tolerations", tolerations}}),
                pod("tainted", json::object()),
                pod("selects", {{"nodeSelector", {{"s" + h, h}}}, {"tolerations", tolerations}}),
                pod("spread", {{"topologySpreadConstraints", spread}, {"tolerations", tolerations}}),
                pod("gated", {{"schedulingGates", {{{"name", "g" + h}}}}}),
                pod("other", {{"schedulerName", "s" + h}}),
                pod("lost", {{"nodeName", "m" + h}}),
                {{"apiVersion", "v1" + h}, {"kind", "K" + h}},
                {{"apiVersion", "batch/v1"},
                 {"kind", "Job"},
                 {"metadata", {{"name", "j" + h}}},
                 {"spec", {{"parallelism", 2}, {"template", {{"spec", {{"containers", {{{"name", "c"}}}}}}}}}}}};
  return json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump(-1, ' ', true);
}

TEST(HostileReport, IsSafeInEveryForm) {
  const std::string cluster = hostile_cluster();
  for (const char* format : {"table", "wide", "json", "yaml", "bindings"}) {
    const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", format, "--skip-invalid"}, cluster);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(terminal_problem(run.out), "") << format;
    EXPECT_EQ(message_problem(run.err), "") << format;
    EXPECT_EQ(run.out.find("\nberth: forged"), run.out.npos) << format;
    EXPECT_NE(run.out.find(kShownStart), run.out.npos) << format;
  }
  for (const char* format : {"table", "json"}) {
    const ProgramRun run = run_berth({"explain", "--all", "-f", "-", "-o", format, "--skip-invalid"}, cluster);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(terminal_problem(run.out), "") << format;
    EXPECT_NE(run.out.find(kShownStart), run.out.npos) << format;
  }
}

TEST(HostileReport, KeepsTheExactTextInJson) {
  const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", "json", "--skip-invalid", "-q"}, hostile_cluster());
  const json report = json::parse(run.out);
  ASSERT_FALSE(report["placements"].empty()) << run.out;
  EXPECT_EQ(report["placements"][0]["node"], "n" + hostile());
}

TEST(HostileReport, OfAConfigurationIsSafe) {
  const std::string file = write_file(
      "hostile-profile.yaml",
      "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":\"KubeSchedulerConfiguration\",\"profiles\":[{"
      "\"schedulerName\":" +
          quoted_hostile() + "}]}");
  for (const char* format : {"table", "json"}) {
    const ProgramRun run = run_berth({"config", "check", file, "-o", format});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(terminal_problem(run.out), "") << format;
    EXPECT_NE(run.out.find(kShownStart), run.out.npos) << format;
  }
}

TEST(HostileReport, OfAGeneratedClusterIsSafe) {
  const ProgramRun run =
      run_berth({"generate", "--spec", "-"},
                "{\"nodePools\":[{\"name\":\"a\",\"count\":1,\"allocatable\":{\"cpu\":1},\"labels\":{" +
                    quoted_hostile() + ":" + quoted_hostile() + "}}]}");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(terminal_problem(run.out), "") << run.out;
  EXPECT_EQ(json::parse(run.out)["items"].back()["metadata"]["labels"][hostile()], hostile());
}

}  // namespace
}  // namespace berth::test
