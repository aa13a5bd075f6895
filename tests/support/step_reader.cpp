// SPDX-License-Identifier: Apache-2.0
#include "tests/support/step_reader.h"

#include <algorithm>
#include <utility>

#include "host/objects/pod_state.h"
#include "tests/support/object_text.h"
#include "tests/support/storage_text.h"

namespace berth::test {
namespace {

void check_count(const std::vector<std::string>& words, std::size_t most) {
  if (words.size() > most) fail("one word too many", words[most]);
}

/// The namespace of what is removed.
std::string namespace_behind(const std::vector<std::string>& words, std::size_t at) {
  check_count(words, at + 1);
  if (words.size() <= at) return "default";
  const auto [key, value] = key_value(words[at]);
  if (key != "namespace") fail("no word of a removal", words[at]);
  return value;
}

ClusterChange removal_of_workload(const std::vector<std::string>& words) {
  const std::vector<std::string> kind_and_name = split(words[2], '/');
  if (kind_and_name.size() != 2) fail("not KIND/NAME", words[2]);
  return WorkloadRemoval{kind_and_name[0], namespace_behind(words, 3), kind_and_name[1]};
}

/// `node NAME words...` and the like: the objects of the line as they are from now on.
std::vector<ClusterChange> changes_of_objects(const std::vector<std::string>& words) {
  const std::string& kind = words.front();
  if (std::optional<StorageObject> object = read_storage_object(words)) return {StorageUpsert{std::move(*object)}};
  ClusterObjects objects;
  if (kind == "node") {
    add_nodes(words, objects);
  } else if (kind == "namespace") {
    add_namespace(words, objects);
  } else if (kind == "service") {
    add_service(words, objects);
  } else if (kind == "workload") {
    add_workload(words, objects);
  } else {
    fail("no such event", kind);
  }
  std::vector<ClusterChange> changes;
  changes.reserve(objects.nodes.size() + 1);
  for (const NodePtr& node : objects.nodes) changes.emplace_back(NodeUpsert(node));
  for (Namespace& object : objects.namespaces) changes.emplace_back(NamespaceUpsert{std::move(object)});
  for (Service& object : objects.services) changes.emplace_back(ServiceUpsert{std::move(object)});
  for (Workload& object : objects.workloads) changes.emplace_back(WorkloadUpsert{std::move(object)});
  return changes;
}

}  // namespace

bool StepReader::read(const std::vector<std::string>& words, int line) {
  static const std::set<std::string> kVerbs{"event", "evict", "fork", "end", "promote"};
  const std::string& kind = words.front();
  line_ = line;
  if (kind == "pod") {
    read_pods(words);
  } else if (kind == "ask") {
    ask(words);
  } else if (kVerbs.contains(kind)) {
    scenario_.has_verbs = true;
    read_verb(words);
  } else {
    return false;
  }
  return true;
}

void StepReader::finish() const {
  if (!is_in_fork()) return;
  const auto& [name, line] = open_forks_.back();
  fail("line " + std::to_string(line) + ": a fork has no end", name);
}

const PodPtr& StepReader::known_pod(const std::string& name) const {
  const auto found = pods_.find(name);
  if (found == pods_.end()) fail("no pod before this line", name);
  return found->second;
}

// Pods

void StepReader::read_pods(const std::vector<std::string>& words) {
  for (const PodPtr& pod : make_pods(words)) {
    if (scenario_.has_verbs && pods_.contains(pod->name)) fail("a second pod of the name", pod->name);
    pods_[pod->name] = pod;
    scenario_.objects.pods.push_back(pod);
    if (is_pending(*pod)) {
      place(pod);
    } else if (scenario_.has_verbs) {
      fail("after the first verb a pod on a node comes with an event", pod->name);
    }
  }
}

void StepReader::place(const PodPtr& pod) {
  std::vector<Step>& steps = scenario_.steps;
  if (steps.empty() || !std::holds_alternative<PlacePods>(steps.back().action)) add(PlacePods{});
  std::get<PlacePods>(steps.back().action).pods.push_back(pod);
}

void StepReader::ask(const std::vector<std::string>& words) {
  std::vector<PodPtr> pods = make_pods(words);
  if (scenario_.has_verbs) {
    add(AskPods{std::move(pods)});
  } else {
    scenario_.asked.insert(scenario_.asked.end(), pods.begin(), pods.end());
  }
}

// Verbs

void StepReader::read_verb(const std::vector<std::string>& words) {
  const std::string& verb = words.front();
  if (verb == "event") return read_event({words.begin() + 1, words.end()});
  if (verb == "promote") return promote(words);
  check_count(words, verb == "end" ? 1 : 2);
  if (verb == "end") {
    end_fork();
  } else if (verb == "fork") {
    open_fork(words[1]);
  } else {
    add(EvictPod{known_pod(words[1])});
  }
}

/// @param words  without "event"
void StepReader::read_event(const std::vector<std::string>& words) {
  const std::string& kind = words.front();
  const std::string& what = kind == "remove" && words.size() > 1 ? words[1] : kind;
  if (is_in_fork() && what != "node" && what != "pod") fail("no event of a fork", what);
  if (words.size() < (kind == "remove" ? 3 : 2)) throw TextError("a name is missing");
  if (kind == "pod") {
    add(TellChanges{changes_of_pods(words)});
  } else if (kind == "nominate") {
    add(TellChanges{{change_of_nomination(words)}});
  } else if (kind == "remove") {
    add(TellChanges{{removal(words)}});
  } else {
    add(TellChanges{changes_of_objects(words)});
  }
}

std::vector<ClusterChange> StepReader::changes_of_pods(const std::vector<std::string>& words) {
  std::vector<ClusterChange> changes;
  for (const PodPtr& pod : make_pods(words)) {
    if (!is_on_node(*pod)) fail("an event of a pod needs on=", pod->name);
    pods_[pod->name] = pod;
    changes.emplace_back(PodUpsert{pod});
  }
  return changes;
}

/// `nominate POD NODE`
ClusterChange StepReader::change_of_nomination(const std::vector<std::string>& words) const {
  if (words.size() < 3) throw TextError("the line ends where it should have a node");
  check_count(words, 3);
  return NominationUpsert{known_pod(words[1]), words[2]};
}

/// `remove KIND NAME`
ClusterChange StepReader::removal(const std::vector<std::string>& words) const {
  const std::string& kind = words[1];
  const std::string& name = words[2];
  if (kind == "service") return ServiceRemoval{namespace_behind(words, 3), name};
  if (kind == "workload") return removal_of_workload(words);
  if (const std::optional<StorageKind> storage = storage_kind(kind)) {
    const bool is_namespaced = *storage == StorageKind::kClaim || *storage == StorageKind::kCapacity;
    return StorageRemoval{*storage, is_namespaced ? namespace_behind(words, 3) : "", name};
  }
  check_count(words, 3);
  if (kind == "node") return NodeRemoval{name};
  if (kind == "namespace") return NamespaceRemoval{name};
  if (kind == "nomination") return NominationUpsert{known_pod(name), ""};
  fail("no such removal", kind);
}

// Forks

void StepReader::open_fork(const std::string& name) {
  if (!forks_.insert(name).second) fail("a second fork of the name", name);
  open_forks_.emplace_back(name, line_);
  add(OpenFork{name});
}

void StepReader::end_fork() {
  if (!is_in_fork()) throw TextError("no fork to end");
  open_forks_.pop_back();
  add(EndFork{});
}

/// `promote NAME [refused]`
void StepReader::promote(const std::vector<std::string>& words) {
  const std::string& name = words[1];
  const bool is_open =
      std::any_of(open_forks_.begin(), open_forks_.end(), [&](const auto& fork) { return fork.first == name; });
  if (!forks_.contains(name) || is_open) fail("no fork that has ended", name);
  if (words.size() > 2 && words[2] != "refused") fail("no word of promote", words[2]);
  check_count(words, 3);
  add(PromoteFork{name, words.size() > 2});
}

}  // namespace berth::test
