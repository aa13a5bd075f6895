// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/scenario_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "host/config/config_reader.h"
#include "host/objects/decode_parts.h"
#include "host/objects/object_kinds.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

constexpr std::string_view kApiVersion = "berth.dev/v1alpha1";
constexpr std::string_view kKind = "BerthScenario";

constexpr Choices<std::string_view, 19> kDeletedKinds = {{{"Pod", "Pod"},
                                                          {"Node", "Node"},
                                                          {"Namespace", "Namespace"},
                                                          {"Service", "Service"},
                                                          {"PriorityClass", "PriorityClass"},
                                                          {"PodDisruptionBudget", "PodDisruptionBudget"},
                                                          {"Deployment", "Deployment"},
                                                          {"ReplicaSet", "ReplicaSet"},
                                                          {"StatefulSet", "StatefulSet"},
                                                          {"ReplicationController", "ReplicationController"},
                                                          {"DaemonSet", "DaemonSet"},
                                                          {"Job", "Job"},
                                                          {"PersistentVolume", "PersistentVolume"},
                                                          {"PersistentVolumeClaim", "PersistentVolumeClaim"},
                                                          {"StorageClass", "StorageClass"},
                                                          {"CSINode", "CSINode"},
                                                          {"CSIDriver", "CSIDriver"},
                                                          {"CSIStorageCapacity", "CSIStorageCapacity"},
                                                          {"VolumeAttachment", "VolumeAttachment"}}};
constexpr Choices<std::string_view, 8> kUpdatedKinds = {{{"Node", "Node"},
                                                         {"PersistentVolume", "PersistentVolume"},
                                                         {"PersistentVolumeClaim", "PersistentVolumeClaim"},
                                                         {"StorageClass", "StorageClass"},
                                                         {"CSINode", "CSINode"},
                                                         {"CSIDriver", "CSIDriver"},
                                                         {"CSIStorageCapacity", "CSIStorageCapacity"},
                                                         {"VolumeAttachment", "VolumeAttachment"}}};
std::string expected_duration() {
  return "a duration from 0s to " + std::to_string(kLongestHours) + "h, such as \"90s\" or \"1h30m\"";
}

bool read_duration(const JsonValue& value, std::int64_t& out_us) {
  std::int64_t read_us = 0;
  if (!read_duration_us(value, read_us)) return false;
  if (read_us < 0 || read_us > kLongestUs) {
    value.mismatch(expected_duration());
    return false;
  }
  out_us = read_us;
  return true;
}

void read_duration(const JsonValue& value, std::optional<std::int64_t>& out_us) {
  std::int64_t read_us = 0;
  if (read_duration(value, read_us)) out_us = read_us;
}

void require(const JsonValue& field, std::string_view what) {
  if (!field.present()) field.problem("absent, expected " + std::string(what));
}

void read_start(const JsonValue& value, ScenarioFile& file) {
  std::string_view text;
  if (!value.read(text)) return;
  if (text == "earliest") {
    file.start_rule = StartRule::kEarliest;
  } else if (text == "latest") {
    file.start_rule = StartRule::kLatest;
  } else {
    std::int64_t time_us = 0;
    if (!read_time(value, time_us)) return;
    if (time_us <= 0) return value.mismatch("earliest, latest or a time after 1970-01-01T00:00:00Z");
    file.start_us = time_us;
  }
}

void read_clusters(const JsonValue& value, std::vector<std::string>& out) {
  value.for_each_element([&](const JsonValue& element) {
    std::string path;
    if (!element.present()) return element.problem("null, expected the path of a file or folder");
    if (!element.read(path)) return;
    if (path.empty() || path == "-") return element.mismatch("the path of a file or folder");
    out.push_back(std::move(path));
  });
}

void read_reference(const JsonValue& value, std::string_view kind, ObjectReference& out) {
  out.kind = kind;
  const JsonValue name = value.field("name");
  require(name, "the name of an object");
  if (name.read(out.name) && out.name.empty()) name.mismatch("the name of an object");
  const JsonValue name_space = value.field("namespace");
  const bool has_namespace = name_space.read(out.namespace_);
  if (is_cluster_wide(kind)) {
    if (has_namespace) name_space.problem("expected none: objects of kind " + std::string(kind) + " have no namespace");
  } else if (out.namespace_.empty()) {
    out.namespace_ = "default";
  }
}

/// @return "" when there is none that is known, which is a problem
template <std::size_t kCount>
std::string_view read_kind(const JsonValue& value, const Choices<std::string_view, kCount>& kinds) {
  const JsonValue kind = value.field("kind");
  require(kind, names_of(kinds));
  return read_choice(kind, kinds).value_or("");
}

void read_deletion(const JsonValue& value, ObjectDeletion& out) {
  if (!value.is_object()) return value.mismatch("an object with kind and name");
  const std::string_view kind = read_kind(value, kDeletedKinds);
  if (kind.empty()) return;
  read_reference(value, kind, out.object);
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key != "gracePeriodSeconds") return key == "kind" || key == "name" || key == "namespace";
    std::int64_t grace_s = 0;
    if (kind != "Pod") {
      field.problem("expected none: only a Pod has a grace period");
    } else if (field.read(grace_s)) {
      if (grace_s < 0 || grace_s > kLongestHours * 3600)
        field.mismatch("seconds from 0 to " + std::to_string(kLongestHours * 3600));
      out.grace_period_s = grace_s;
    }
    return true;
  });
}

void read_label_changes(const JsonValue& value, NodePatch& out) {
  value.for_each_entry([&](std::string_view key, const JsonValue& entry) {
    auto& [name, content] = out.labels.emplace_back(key, std::nullopt);
    if (entry.present()) entry.read(content);
  });
}

void read_node_change(const JsonValue& value, NodePatch& out) {
  ObjectReference reference;
  read_reference(value, "Node", reference);
  out.name = std::move(reference.name);
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "labels") {
      read_label_changes(field, out);
    } else if (key == "unschedulable") {
      field.read(out.unschedulable);
    } else if (key == "taints") {
      if (field.present()) out.taints = read_taints(field);
    } else {
      return key == "kind" || key == "name" || key == "namespace";
    }
    return true;
  });
  if (out.labels.empty() && !out.unschedulable && !out.taints)
    value.problem("expected labels, unschedulable or taints");
}

void read_provisioner(const JsonValue& value, ProvisionerChange& out) {
  if (!value.is_object()) return value.mismatch("an object with name and fails");
  const JsonValue name = value.field("name");
  const JsonValue fails = value.field("fails");
  require(name, "the provisioner of a StorageClass");
  require(fails, "true or false");
  if (name.read(out.name) && out.name.empty()) name.mismatch("the provisioner of a StorageClass");
  fails.read(out.fails);
  value.for_each_field_strict(
      [&](std::string_view key, const JsonValue& /*field*/) { return key == "name" || key == "fails"; });
}

/// Reads one document; problems go to the sink of its root.
class ScenarioReader {
 public:
  ScenarioReader(ScenarioFile& file, bool is_strict, const DeclaredPathsPtr& declared)
      : file_(file), objects_(*file.pools, is_strict, declared) {}

  void read(const JsonValue& root) {
    check_type_meta(root, kApiVersion, kKind);
    root.for_each_field_strict([&](std::string_view key, const JsonValue& value) { return read_field(key, value); });
  }
  std::vector<InputProblem> take_findings() { return objects_.take_findings(); }

 private:
  bool read_field(std::string_view key, const JsonValue& value) {
    if (key == "apiVersion" || key == "kind") return true;  // check_type_meta()
    if (key == "start") {
      read_start(value, file_);
    } else if (key == "until") {
      read_duration(value, file_.until_us);
    } else if (key == "runDuration") {
      read_duration(value, file_.run_duration_us);
    } else if (key == "startDelay") {
      read_duration(value, file_.start_delay_us);
    } else if (key == "clusters") {
      read_clusters(value, file_.clusters);
    } else if (key == "actions") {
      read_bounded(value, [this](const JsonValue& element) { read_action(element); });
    } else if (key == "arrivals") {
      read_bounded(value, [this](const JsonValue& element) { read_arrivals(element); });
    } else {
      return false;
    }
    return true;
  }

  template <class Read>
  static void read_bounded(const JsonValue& value, Read read) {
    std::size_t count = 0;
    value.for_each_element([&](const JsonValue& element) {
      if (++count <= kScenarioActionsMax) read(element);
    });
    if (count > kScenarioActionsMax) {
      value.problem("got " + std::to_string(count) + " entries, expected at most " +
                    std::to_string(kScenarioActionsMax));
    }
  }

  InlineObjects objects_at(const JsonValue& value) const {
    return {.location = value.path(), .source = file_.source, .paths = {}, .decoded = {}, .run_duration_us = {}};
  }

  void read_action(const JsonValue& value) {
    if (!value.is_object()) return value.mismatch("an object with at, and create, update, delete or provisioners");
    ScenarioFile::Action entry;
    entry.action.location = value.path();
    require(value.field("at"), expected_duration());
    bool has_update = false;
    value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
      if (key == "at") {
        read_duration(field, entry.action.at_us);
      } else if (key == "create") {
        entry.create = objects_at(field);
        field.for_each_element([&](const JsonValue& element) { objects_.read(element, entry.create); });
      } else if (key == "update") {
        entry.replace = objects_at(field);
        field.for_each_element([&](const JsonValue& element) {
          has_update = true;
          read_update(element, entry);
        });
      } else if (key == "provisioners") {
        field.for_each_element(
            [&](const JsonValue& element) { read_provisioner(element, entry.action.provisioners.emplace_back()); });
      } else if (key == "delete") {
        field.for_each_element(
            [&](const JsonValue& element) { read_deletion(element, entry.action.remove.emplace_back()); });
      } else {
        return false;
      }
      return true;
    });
    const bool is_empty = entry.create.decoded.object_count == 0 && !has_update && entry.action.remove.empty() &&
                          entry.action.provisioners.empty();
    if (is_empty) value.problem("expected create, update, delete or provisioners with at least one entry");
    file_.actions.push_back(std::move(entry));
  }

  /// Parts of a node, or a storage object that replaces the one of its name.
  void read_update(const JsonValue& value, ScenarioFile::Action& entry) {
    if (!value.is_object()) return value.mismatch("an object with kind and name");
    const std::string_view kind = read_kind(value, kUpdatedKinds);
    if (kind.empty()) return;
    if (kind == "Node") return read_node_change(value, entry.action.update.emplace_back());
    objects_.read(value, entry.replace);
  }

  void read_arrivals(const JsonValue& value) {
    if (!value.is_object()) return value.mismatch("an object with template, and at, every and count");
    ScenarioFile::Arrival entry;
    Arrivals& arrivals = entry.arrivals;
    arrivals.location = value.path();
    value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
      if (key == "at") {
        read_duration(field, arrivals.at_us);
      } else if (key == "every") {
        read_duration(field, arrivals.every_us);
      } else if (key == "count") {
        read_in_range<std::int64_t>(field, arrivals.count, 1, kScenarioPodsMax);
      } else if (key != "template" && key != "runDuration") {
        return false;
      }
      return true;
    });
    read_template(value, entry);
    const JsonValue every = value.field("every");
    if (arrivals.count > 1) require(every, expected_duration());
    if (arrivals.every_us > 0 && arrivals.count - 1 > (kLongestUs - arrivals.at_us) / arrivals.every_us) {
      every.problem("the last arrival would come after " + std::to_string(kLongestHours) +
                    "h, expected a shorter interval or a smaller count");
    }
    file_.arrivals.push_back(std::move(entry));
  }

  void read_template(const JsonValue& value, ScenarioFile::Arrival& entry) {
    const JsonValue object = value.field("template");
    entry.object = objects_at(object);
    const JsonValue run_duration = value.field("runDuration");
    read_duration(run_duration, entry.object.run_duration_us);
    if (!object.present()) return require(object, "a Pod, or a workload such as a Deployment");
    const std::size_t problems_before = object.sink().count();
    objects_.read(object, entry.object);
    const DecodedObjects& decoded = entry.object.decoded;
    const bool is_read = object.sink().count() == problems_before;
    if (is_read && decoded.pods.empty() && decoded.workloads.empty())
      object.problem("expected a Pod, or a workload such as a Deployment");
  }

  ScenarioFile& file_;
  InlineObjectReader objects_;
};

ScenarioFile read_document(const JsonDocument& document, const std::string& source, bool is_strict,
                           const DeclaredPathsPtr& declared) {
  ScenarioFile file;
  file.source = source;
  file.document = document;
  ProblemSink sink(source);
  ScenarioReader reader(file, is_strict, declared);
  decode_config(document, source, sink, [&](const JsonValue& root) {
    if (root.expect_object()) reader.read(root);
  });
  std::vector<InputProblem> findings = reader.take_findings();
  add_lines(findings, document);
  for (InputProblem& finding : findings) {
    finding.source = source;
    file.warnings.push_back(finding.to_string());
  }
  return file;
}

TextLimits limits() {
  TextLimits limits;
  limits.item_bytes_max = kScenarioBytesMax;
  return limits;
}

const JsonDocument& only_document(const std::vector<JsonDocument>& documents, const std::string& source) {
  if (documents.size() == 1) return documents.front();
  throw InputError(
      InputProblem{source, "",
                   "got " + std::to_string(documents.size()) +
                       " documents, expected the scenario alone; objects stand in create, or in files of their own"});
}

bool is_scenario(const JsonDocument& document) {
  JsonParser parser;
  const auto root = parser.parse(document.json);
  if (!root || !root->is_object()) return false;
  ProblemSink ignored("");
  const JsonValue value(*root, ignored);
  std::string_view kind;
  value.field("kind").read(kind);
  return kind == kKind;
}

void append_warnings(std::vector<std::string>&& from, std::vector<std::string>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

bool holds_scenario(const std::string& path) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error) || error) return false;
  try {
    const std::vector<JsonDocument> documents = documents_from_file(path, limits());
    return std::any_of(documents.begin(), documents.end(), is_scenario);
  } catch (const InputError&) {
    return false;
  }
}

ScenarioFile load_scenario(const std::string& path, bool is_strict, const DeclaredPathsPtr& declared) {
  ScenarioFile file =
      read_document(only_document(documents_from_file(path, limits()), path), path, is_strict, declared);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::string& cluster : file.clusters) cluster = (folder / cluster).string();
  return file;
}

ScenarioFile parse_scenario(std::string_view text, const std::string& source, bool is_strict,
                            const DeclaredPathsPtr& declared) {
  return read_document(only_document(documents_from_text(text, source, limits()), source), source, is_strict, declared);
}

Scenario make_scenario(ScenarioFile&& file, ClusterObjects&& cluster, std::vector<std::string>& warnings) {
  Scenario scenario;
  scenario.start_us = file.start_us.value_or(start_of(cluster, file.start_rule.value_or(StartRule::kLatest)));
  scenario.until_us = file.until_us;
  scenario.start_delay_us = file.start_delay_us;
  scenario.run_duration_us = file.run_duration_us;
  std::vector<const InlineObjects*> lists;
  lists.reserve(file.actions.size() + file.arrivals.size());
  for (const ScenarioFile::Action& entry : file.actions) lists.push_back(&entry.create);
  for (const ScenarioFile::Arrival& entry : file.arrivals) lists.push_back(&entry.object);
  InlineAdmission admission(cluster, lists, file.pools);
  for (ScenarioFile::Action& entry : file.actions) {
    ScenarioAction& action = scenario.actions.emplace_back(std::move(entry.action));
    action.create = admission.admit(std::move(entry.create));
    action.replace = admission.admit(std::move(entry.replace)).storage;
  }
  for (ScenarioFile::Arrival& entry : file.arrivals) {
    Arrivals& arrivals = scenario.arrivals.emplace_back(std::move(entry.arrivals));
    admission.admit(std::move(entry.object), arrivals);
  }
  if (auto problems = admission.take_problems(); !problems.empty()) {
    add_lines(problems, file.document);
    throw InputError(std::move(problems));
  }
  append_warnings(std::move(file.warnings), warnings);
  append_warnings(admission.take_warnings(), warnings);
  scenario.cluster = std::move(cluster);
  return scenario;
}

}  // namespace berth
