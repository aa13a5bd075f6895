// SPDX-License-Identifier: Apache-2.0
#include "host/cli/config_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "host/cli/startup_check.h"
#include "host/report/output.h"
#include "host/report/paragraph.h"
#include "host/report/table.h"
#include "host/scheduler/unsupported_requests.h"
#include "plugins/registry.h"

namespace berth {
namespace {

constexpr std::int64_t kConfigSchemaVersion = 1;
constexpr int kConfigSpreadDepth = 4;

Emphasis emphasis_of(Support support) {
  switch (support) {
    case Support::kExact:
      return Emphasis::kGood;
    case Support::kPartial:
      return Emphasis::kWarning;
    case Support::kUnsupported:
      break;
  }
  return Emphasis::kBad;
}

/// Calls visit(point, plugin) for all that a profile runs, in order.
template <class Visit>
void for_each_plugin(const Profile& profile, Visit&& visit) {
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    for (const EnabledPlugin& plugin : profile.at(point)) visit(point, plugin);
  }
}

std::string profile_table(const Profile& profile, const Terminal& terminal) {
  Table table({{"point"}, {"plugin"}, {"weight", Align::kRight}, {"support"}});
  std::string_view last;
  for_each_plugin(profile, [&](ExtensionPoint point, const EnabledPlugin& plugin) {
    const BuiltPlugin built = plugin_support(plugin.name);
    const std::string weight = point == ExtensionPoint::kScore ? fmt::format("{}", plugin.weight) : "";
    table.add_row({to_string(point) == last ? "" : std::string(to_string(point)),
                   plugin.name,
                   weight,
                   {std::string(to_string(built.support)), emphasis_of(built.support)}});
    last = to_string(point);
  });
  for (const std::string& name : profile.placement_plugins) {
    table.add_row({"placement", name, "", {"unsupported", Emphasis::kBad}});
  }
  for (const OutOfTreePlugin& plugin : profile.out_of_tree) {
    table.add_row({plugin.point,
                   plugin.name,
                   plugin.weight == 0 ? "" : fmt::format("{}", plugin.weight),
                   {"not in-tree: left out", Emphasis::kBad}});
  }
  return table.render(terminal, 2);
}

bool enables_unsupported(const SchedulerConfig& config) {
  return std::any_of(config.profiles.begin(), config.profiles.end(), [](const Profile& profile) {
    const std::vector<std::string> names = profile.plugin_names();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return plugin_support(name).support == Support::kUnsupported; });
  });
}

/// "NodeDeclaredFeatures: what is missing", each plugin once.
std::vector<std::string> gaps(const SchedulerConfig& config) {
  std::vector<std::string> sentences;
  for (const Profile& profile : config.profiles) {
    for (const std::string& name : profile.plugin_names()) {
      const BuiltPlugin built = plugin_support(name);
      std::string sentence = fmt::format("{}: {}", name, built.missing);
      if (built.missing.empty() || std::find(sentences.begin(), sentences.end(), sentence) != sentences.end()) continue;
      sentences.push_back(std::move(sentence));
    }
  }
  return sentences;
}

std::string sampling_note(const SchedulerConfig& config, NodeSampling sampling) {
  if (sampling == NodeSampling::kKube) {
    return "nodes are sampled as kube-scheduler does at parallelism 1 (--node-sampling kube)";
  }
  return fmt::format("percentageOfNodesToScore ({}) is not used: every node is scored (--node-sampling all)",
                     config.percentage_of_nodes_to_score);
}

/// Default plugins that took the place of plugins that were left out.
void note_stand_ins(const SchedulerConfig& config, std::vector<std::string>& notes) {
  for (const Profile& profile : config.profiles) {
    for (const std::string& name : profile.stand_ins) {
      notes.push_back(
          fmt::format("{} runs in profile {} in place of a plugin that is left out", name, profile.scheduler_name));
    }
  }
}

std::vector<std::string> notes_on(const SchedulerConfig& config, const std::vector<std::string>& other_gates,
                                  NodeSampling sampling) {
  std::vector<std::string> notes = {sampling_note(config, sampling)};
  for (const Profile& profile : config.profiles) {
    if (!profile.percentage_of_nodes_to_score || sampling == NodeSampling::kKube) continue;
    notes.push_back(fmt::format("percentageOfNodesToScore ({}) of profile {} is not used either",
                                *profile.percentage_of_nodes_to_score, profile.scheduler_name));
  }
  notes.push_back(
      fmt::format("parallelism ({}) is kube-scheduler's; Berth takes its threads from --threads", config.parallelism));
  notes.push_back(
      "leaderElection, clientConnection and backoffs are read and kept; placing from files needs none of them");
  if (!config.client_connection.qps && !config.client_connection.burst)
    notes.push_back(
        "clientConnection.qps and burst are not set: the API server's answers alone (429, Retry-After) limit the "
        "requests of berth scheduler, unlike kube-scheduler's 50 and 100");
  if (enables_unsupported(config)) {
    notes.push_back(
        "unsupported plugins of the default set do not stop a run: a pod that needs one is unplaced with "
        "SchedulerError, which names it");
  }
  for (const FeatureGates::Row& row : config.gates.table()) {
    if (row.enabled == row.default_enabled) continue;
    notes.push_back(fmt::format("feature gate {} is {}, not the default of {}", row.name, row.enabled ? "on" : "off",
                                to_string(config.gates.release())));
  }
  for (const std::string& name : other_gates)
    notes.push_back(fmt::format("feature gate {} is not one of the scheduler: left out", name));
  note_stand_ins(config, notes);
  return notes;
}

std::string list(std::string_view title, const std::vector<std::string>& sentences, Emphasis emphasis,
                 const Terminal& terminal) {
  if (sentences.empty()) return "";
  std::string text = "\n" + terminal.paint(title, emphasis) + "\n";
  for (const std::string& sentence : sentences) text += wrap("- " + sentence, terminal.columns, 2);
  return text;
}

void write_strings(std::string_view key, const std::vector<std::string>& texts, DocumentWriter& writer) {
  writer.key(key);
  writer.begin_array();
  for (const std::string& text : texts) writer.string(text);
  writer.end_array();
}

void write_plugin(ExtensionPoint point, const EnabledPlugin& plugin, DocumentWriter& writer) {
  const BuiltPlugin built = plugin_support(plugin.name);
  writer.begin_object();
  writer.string_field("point", to_string(point));
  writer.string_field("plugin", plugin.name);
  if (point == ExtensionPoint::kScore) writer.integer_field("weight", plugin.weight);
  writer.string_field("support", to_string(built.support));
  if (!built.missing.empty()) writer.string_field("missing", built.missing);
  writer.end_object();
}

void write_profile(const Profile& profile, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("schedulerName", profile.scheduler_name);
  writer.key("plugins");
  writer.begin_array();
  for_each_plugin(profile,
                  [&](ExtensionPoint point, const EnabledPlugin& plugin) { write_plugin(point, plugin, writer); });
  for (const OutOfTreePlugin& plugin : profile.out_of_tree) {
    writer.begin_object();
    writer.string_field("point", plugin.point);
    writer.string_field("plugin", plugin.name);
    if (plugin.weight != 0) writer.integer_field("weight", plugin.weight);
    writer.string_field("support", to_string(Support::kUnsupported));
    writer.string_field("missing", "not an in-tree plugin of kube-scheduler: left out");
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

}  // namespace

ConfigCheck check_config(const std::string& path, const RequestedGates& requested, NodeSampling sampling) {
  SchedulerConfig config = load_config(path, requested.gates);
  std::vector<std::string> refusals = unsupported_requests(config);
  std::vector<std::string> notes = notes_on(config, requested.left_out, sampling);
  return {std::move(config), std::move(notes), std::move(refusals)};
}

std::string config_check_report(const ConfigCheck& check, bool allows_unsupported, const Terminal& terminal) {
  std::string text;
  for (const Profile& profile : check.config.profiles) {
    text += terminal.paint("Profile " + profile.scheduler_name, Emphasis::kBold) + "\n";
    text += profile_table(profile, terminal) + "\n";
  }
  text += fmt::format("Behaviour of Kubernetes {}\n", to_string(check.config.gates.release()));
  text += list("What the partial ones lack", gaps(check.config), Emphasis::kWarning, terminal);
  text += list("Notes", check.notes, Emphasis::kBold, terminal);
  if (allows_unsupported)
    return text + list("Left out of a run with --allow-unsupported", check.refusals, Emphasis::kWarning, terminal);
  return text + list("A run with this file is refused (--allow-unsupported continues without these)", check.refusals,
                     Emphasis::kBad, terminal);
}

void write_config_check(const ConfigCheck& check, DocumentWriter& writer) {
  writer.begin_object();
  writer.integer_field("schemaVersion", kConfigSchemaVersion);
  writer.string_field("release", to_string(check.config.gates.release()));
  writer.key("profiles");
  writer.begin_array();
  for (const Profile& profile : check.config.profiles) write_profile(profile, writer);
  writer.end_array();
  write_strings("notes", check.notes, writer);
  write_strings("refusals", check.refusals, writer);
  writer.end_object();
  writer.end_document();
}

ExitCode run(const ConfigCommand& command) {
  const NodeSampling sampling = parse_node_sampling(command.config.node_sampling.value_or("all"));
  const ConfigCheck check = check_config(command.config.config_path, requested_gates(command.config), sampling);
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    write_config_check(check, *json_writer(output, kConfigSpreadDepth));
  } else {
    output.write(config_check_report(check, command.config.allow_unsupported, Terminal::of(STDOUT_FILENO)));
  }
  output.flush();
  return check.refusals.empty() || command.config.allow_unsupported ? ExitCode::kDone : ExitCode::kError;
}

}  // namespace berth
