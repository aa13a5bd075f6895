// SPDX-License-Identifier: Apache-2.0
// Objects that Go's types wrote, each in JSON and in protobuf, decode to the same. All their fields are set in one
// object a kind, so that a field that a decoder begins to read and that *.proto does not have is found here.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/base64.h"
#include "host/kube/protobuf/envelope.h"
#include "host/kube/protobuf/object_transcoder.h"
#include "host/kube/watch/api_object_reader.h"
#include "host/kube/watch/watched_resource.h"
#include "host/objects/json_value.h"
#include "host/objects/text/byte_source.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

const std::string kFolder = BERTH_SOURCE_DIR "/tests/unit/kube_protobuf/";

struct Pair {
  std::string kind;
  std::string json;
  std::string protobuf;
};

std::string text_of_file(const std::string& path) {
  const TextLimits limits;
  FileSource file(path, limits);
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (const std::size_t count = file.read(block.data(), block.size())) text.append(block, 0, count);
  return text;
}

std::vector<Pair> read_pairs(const std::string& path) {
  std::vector<Pair> pairs;
  JsonParser parser;
  const std::string text = text_of_file(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const auto line = parser.parse(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (!line) throw std::runtime_error(path + ": " + parser.error());
    ProblemSink sink("");
    const JsonValue object(*line, sink);
    Pair& pair = pairs.emplace_back();
    object.field("kind").read(pair.kind);
    pair.json = simdjson::minify((*line)["json"].value());
    read_base64(object.field("protobuf"), pair.protobuf);
    sink.throw_if_any();
  }
  return pairs;
}

std::map<std::string, WatchedResource> resources() {
  std::map<std::string, WatchedResource> by_kind;
  for (const WatchedResource& resource : watched_resources(default_scheduler_config(FeatureGates())))
    by_kind.emplace(resource.item_kind, resource);
  return by_kind;
}

// ---- What differs of two objects; empty: nothing. Bindings name every member, so that a new one does not compile.

template <class... Members>
std::string first_difference(std::string_view names, Members... equal) {
  const std::vector<bool> all = {equal...};
  for (const bool one : all) {
    const std::string name(names.substr(0, names.find(' ')));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    if (!one) return name;
  }
  return {};
}

template <class T>
std::string difference(const T& a, const T& b) {
  return a == b ? "" : "members";
}
/// Statuses of containers are looked up by name, and come in the order of the fields that hold them.
bool equal(const PodRare& a, const PodRare& b) {
  const auto& [nominated, gates, volumes, claims, statuses, infeasible, preempted, duration, annotations, safe,
               declared] = a;
  return nominated == b.nominated_node_name && gates == b.scheduling_gates && volumes == b.volumes &&
         claims == b.resource_claims && infeasible == b.resize_infeasible && preempted == b.preempted &&
         duration == b.run_duration_us && annotations == b.annotations && safe == b.local_volumes_are_safe &&
         declared == b.declared &&
         std::is_permutation(statuses.begin(), statuses.end(), b.status_resources.begin(), b.status_resources.end());
}
std::string difference(const Pod& a, const Pod& b) {
  const auto& [name, space, uid, labels, spec, node, owners, rare, creation, start, priority, policy, phase,
               terminating] = a;
  return first_difference(
      "name namespace uid labels spec nodeName owners rare creation start priority policy phase terminating",
      name == b.name, space == b.namespace_, uid == b.stored_uid, labels == b.labels, *spec == *b.spec,
      node == b.node_name, (owners == nullptr) == (b.owners == nullptr) && (owners == nullptr || *owners == *b.owners),
      (rare == nullptr) == (b.rare_fields == nullptr) && equal(a.rare(), b.rare()), creation == b.creation_time_us,
      start == b.start_time_us, priority == b.priority, policy == b.preemption_policy, phase == b.phase,
      terminating == b.terminating);
}
std::string difference(const Node& a, const Node& b) {
  const auto& [name, labels, unschedulable, taints, allocatable, pods, images, features, declared] = a;
  return first_difference("name labels unschedulable taints allocatable pods images features declared", name == b.name,
                          labels == b.labels, unschedulable == b.unschedulable, taints == b.taints,
                          allocatable == b.allocatable, pods == b.allowed_pod_number, images == b.images,
                          features == b.declared_features, declared == b.declared);
}
std::string difference(const Namespace& a, const Namespace& b) {
  const auto& [name, labels] = a;
  return first_difference("name labels", name == b.name, labels == b.labels);
}
std::string difference(const PriorityClass& a, const PriorityClass& b) {
  const auto& [name, value, is_default, policy] = a;
  return first_difference("name value globalDefault policy", name == b.name, value == b.value,
                          is_default == b.global_default, policy == b.preemption_policy);
}
std::string difference(const Service& a, const Service& b) {
  const auto& [name, space, selector] = a;
  return first_difference("name namespace selector", name == b.name, space == b.namespace_, selector == b.selector);
}
std::string difference(const PodDisruptionBudget& a, const PodDisruptionBudget& b) {
  const auto& [name, space, selector, allowed, disrupted] = a;
  return first_difference("name namespace selector allowed disrupted", name == b.name, space == b.namespace_,
                          selector == b.selector, allowed == b.disruptions_allowed, disrupted == b.disrupted_pods);
}
std::string difference(const Workload& a, const Workload& b) {
  const auto& [kind, name, space, uid, selector, owners, expanded] = a;
  return first_difference("kind name namespace uid selector owners expanded", kind == b.kind, name == b.name,
                          space == b.namespace_, uid == b.uid, selector == b.selector, owners == b.owners,
                          expanded == b.expanded_pod_count);
}

PodConditions conditions_of(const StoredPod& pod) { return pod.conditions(); }
template <class T>
PodConditions conditions_of(const Stored<T>&) {
  return {};
}

std::string with_padding(std::string_view json) {
  std::string text(json);
  text.reserve(text.size() + kSlicePaddingBytes);
  return text;
}

struct Both {
  ApiObjectReader reader;
  ObjectTranscoder transcoder;
  int decoded = 0;  ///< without a problem

  template <class T>
  void compare(const WatchedResource& resource, const Pair& pair) {
    ProtoEnvelope envelope;
    ASSERT_EQ(read_envelope(pair.protobuf, envelope), nullptr);
    EXPECT_EQ(envelope.kind, resource.item_kind);
    EXPECT_EQ(envelope.api_version, resource.api_version);
    const std::string head = R"("kind":")" + std::string(envelope.kind) + R"(","apiVersion":")" +
                             std::string(envelope.api_version) + R"(",)";  // as the JSON of a watch has it
    ASSERT_TRUE(transcoder.transcode(*find_proto_message(envelope.kind), envelope.message, head))
        << transcoder.problem();
    const std::string json = with_padding(pair.json);
    const StoredPtr<T> of_json = reader.read<T>({resource, json});
    const std::string problem = reader.problem();
    const StoredPtr<T> of_protobuf = reader.read<T>({resource, transcoder.json()});
    EXPECT_EQ(reader.problem(), problem);
    ASSERT_EQ(of_json == nullptr, of_protobuf == nullptr) << transcoder.json();
    if (of_json == nullptr) return;
    ++decoded;
    EXPECT_EQ(difference(*of_json->object, *of_protobuf->object), "") << pair.json << "\n" << transcoder.json();
    EXPECT_EQ(of_json->meta.resource_version, of_protobuf->meta.resource_version);
    EXPECT_EQ(of_json->meta.generation, of_protobuf->meta.generation);
    EXPECT_EQ(conditions_of(*of_json), conditions_of(*of_protobuf));
    EXPECT_EQ(findings(resource, json), findings(resource, transcoder.json()));
  }
  void compare_any(const WatchedResource& resource, const Pair& pair) {
#define BERTH_COMPARE(T) \
  if (resource.kind == kKindOf<T>) compare<T>(resource, pair);
    BERTH_EACH_STORED_KIND(BERTH_COMPARE)
#undef BERTH_COMPARE
  }
  /// How often each check failed: Go writes JSON as its types have their fields, and protobuf by their numbers, so that
  /// other findings come first. Specs without any are decoded once, so that a field that validation misses would cost
  /// time with every pod.
  static std::map<std::string, std::int64_t> findings(const WatchedResource& resource, std::string_view json) {
    ObjectPools pools;
    DenseEntries entries(INT64_MAX);
    ObjectDecoder decoder(pools, entries, {});
    const ListContext list{"", std::string(resource.item_kind), std::string(resource.api_version)};
    ItemSlice item;
    item.json = json;
    item.list = &list;
    DecodedObjects out;
    decoder.decode(item, "", 0, out);
    std::map<std::string, std::int64_t> checks;
    for (const InputProblem& finding : out.findings)
      checks[finding.message.substr(finding.message.rfind('['))] += 1 + finding.repeat_count;
    return checks;
  }
};

/// @return how many of each kind
std::map<std::string, int> compare_all(const std::string& path) {
  const auto by_kind = resources();
  std::map<std::string, int> kinds;
  Both both;
  for (const Pair& pair : read_pairs(path)) {
    SCOPED_TRACE(pair.kind + " " + std::to_string(kinds[pair.kind]++));
    const auto resource = by_kind.find(pair.kind);
    if (resource == by_kind.end()) throw std::runtime_error(pair.kind + " is not watched");
    both.compare_any(resource->second, pair);
  }
  kinds["decoded"] = both.decoded;
  return kinds;
}

TEST(ProtobufPairs, DecodeToTheSame) {
  std::map<std::string, int> kinds = compare_all(kFolder + "pairs.jsonl.gz");
  EXPECT_GE(kinds["decoded"], 50);
  for (const auto& [kind, resource] : resources()) EXPECT_GT(kinds[kind], 1) << kind;
}

TEST(ProtobufPairs, DecodeToTheSameInKubernetes136) {
  EXPECT_EQ(compare_all(kFolder + "pairs-1.36.jsonl.gz")["decoded"], 6);
}

TEST(ProtobufPairs, OfOtherFilesDecodeToTheSame) {
  const char* const path = std::getenv("BERTH_PROTOBUF_PAIRS");
  if (path == nullptr) GTEST_SKIP() << "BERTH_PROTOBUF_PAIRS names no file";
  for (const auto& [kind, count] : compare_all(path)) RecordProperty(kind, count);
}

}  // namespace
}  // namespace berth
