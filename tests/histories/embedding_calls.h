// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of berth.h with objects and answers as JSON. A call that fails throws what it says.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/capi/world.h"

namespace berth::test {

/// @throws std::runtime_error unless the status is BERTH_OK
void must(berth_status status, const berth_error* error);

struct EngineSettings {
  std::string backend;
  std::uint64_t seed = 0;
  std::string release;
  std::string config;  ///< a path; empty: the defaults
  std::string feature_gates;
};

/// What the schedule verb says of a pod.
struct Placement {
  std::string node;  ///< empty: none
  std::int64_t score = 0;
  std::string message;
  /// Of write_history.cpp.
  nlohmann::json line(std::string_view uid) const;
};

/// Nodes that a call may use, by name.
struct NodeChoice {
  std::optional<std::vector<std::string>> among;  ///< a node set; nullopt: all
  std::uint32_t flags = 0;                        ///< BERTH_SKIP_CORDONED
};

/// How berth_fork_schedule() chooses.
struct ScheduleChoice {
  NodeChoice nodes;
  std::uint32_t choice = BERTH_CHOICE_SCORE;
  std::uint32_t start = 0;
  std::vector<std::string> order;
};
struct Scheduled {
  std::vector<Placement> placements;
  std::uint32_t next_start = 0;
};

/// What a drain says of a pod.
struct Moved {
  std::string uid;
  int outcome = 0;   ///< BERTH_POD_*
  int rule = 0;      ///< BERTH_RULE_*
  std::string node;  ///< empty: none
  std::string message;
};
struct DrainedNode {
  std::string name;
  bool is_removable = false;
  int rule = 0;
  std::string blocking_pod;  ///< its uid
  std::vector<Moved> pods;
};
struct DrainQuestion {
  std::vector<std::string> nodes;
  NodeChoice targets;  ///< its flags are those of berth_drain_options
  std::uint32_t preset = 0;
  std::uint32_t rules_on = 0;
  std::uint32_t rules_off = 0;
  std::int32_t min_replicas = 0;
};

/// Copies of one shape.
struct Replicas {
  std::int64_t count = -1;  ///< -1: the shape is not judged, or there is no end to its copies
  std::map<std::string, std::int64_t> on_node;
  std::map<std::string, std::map<std::string, std::int64_t>> of_value;  ///< by label key
};

/// A group, and the tries in which it was to be placed: label key and value, and how many pods found a node.
struct GroupPlaced {
  struct Try {
    std::string key;
    std::string value;
    std::size_t placed = 0;
    bool is_taken = false;
  };
  std::vector<Placement> pods;
  std::vector<Try> tries;
};

/// A kind of node that may be added.
struct ShapeQuestion {
  std::string name;  ///< of the node that is copied; empty: `node`
  nlohmann::json node;
  bool with_pods_of_node = false;
  std::vector<std::string> startup_taints;  ///< keys
  std::vector<nlohmann::json> pods;         ///< that come with each
  std::uint32_t nodes_max = 0;
  std::vector<std::pair<std::string, std::int64_t>> caps;  ///< resource and amount
  std::int64_t price = 0;

  friend bool operator==(const ShapeQuestion&, const ShapeQuestion&) = default;
};

/// Where a scale-up estimate puts a pod.
struct Estimated {
  std::string node;  ///< an existing one; empty: none
  std::uint32_t new_node = BERTH_NO_NODE;
  std::string refusal;  ///< reasons of an empty new node, of a pod that is left over
};

/// What it says of one shape.
struct EstimatedShape {
  std::uint32_t same_as = 0;  ///< position of the first shape that no rule can tell from it
  std::uint32_t node_count = 0;
  std::uint32_t placed = 0;
  std::vector<Estimated> pods;
  std::map<std::string, std::int64_t> requested;    ///< of the new nodes, by resource
  std::map<std::string, std::int64_t> allocatable;  ///< likewise
};

/// New nodes in place of a drained one.
struct Replaced {
  DrainedNode node;
  std::vector<std::uint32_t> new_nodes;  ///< [pods of the node], or BERTH_NO_NODE
  std::uint32_t shape = BERTH_NO_NODE;   ///< BERTH_NO_NODE: none is needed, or none holds the rest
  std::uint32_t node_count = 0;
  std::int64_t price = 0;
};

/// One cluster.
class EmbeddingCalls {
 public:
  explicit EmbeddingCalls(const EngineSettings& settings);

  void upsert(const nlohmann::json& object);
  /// What is not there is no failure.
  void remove(const std::string& kind, const std::string& name_space, const std::string& name);
  void remove_pod(const std::string& uid);
  void assume(const berth_pod* pod, const std::string& node);
  void forget(const berth_pod* pod);

  /// @param ignore  BERTH_IGNORE_*
  OwnedPod pod(const nlohmann::json& object, std::uint32_t ignore = 0);
  OwnedSnapshot snapshot();
  OwnedFork fork(const berth_snapshot* snapshot);
  OwnedFork fork(berth_fork* parent);
  std::uint32_t node_number(const std::string& name);
  /// By ascending number.
  std::vector<std::string> node_names(const berth_fork* fork);
  void upsert_node(berth_fork* fork, const nlohmann::json& node);
  void add_pod(berth_fork* fork, const nlohmann::json& pod, const std::string& node);
  /// One that stands nowhere is no failure.
  void remove_pod(berth_fork* fork, const std::string& uid);

  /// Every pod on every node. @param snapshot  null: the fork is asked
  /// @param checks  one object a pod, which gets "judged" and "nodes"
  /// @param field  of the object that the nodes are written to
  void check_all(const berth_snapshot* snapshot, berth_fork* fork, const std::vector<OwnedPod>& pods,
                 nlohmann::json& checks, const NodeChoice& nodes = {}, const char* field = "nodes");
  /// One pod on one node. @throws std::runtime_error too where the answer without details is another one
  nlohmann::json check_one(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod,
                           const std::string& node, std::uint32_t flags);
  nlohmann::json explain(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod);
  Scheduled schedule(berth_fork* fork, const std::vector<OwnedPod>& pods, const ScheduleChoice& how = {});
  Replicas max_replicas(berth_fork* fork, const berth_pod* shape, const NodeChoice& nodes,
                        const std::vector<std::string>& keys);
  std::vector<DrainedNode> drain(berth_fork* fork, const DrainQuestion& question);
  /// {"candidates": [{"node", "victims": [UID...], "violations", "best"}], "message"}
  nlohmann::json preempt(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod);

  /// @param existing  nodes that are tried first, with the flags of berth_scale_up_options
  std::vector<EstimatedShape> scale_up(berth_fork* fork, const std::vector<OwnedPod>& pods,
                                       const std::vector<ShapeQuestion>& shapes, const NodeChoice& existing);

  /// @param question  about one node
  Replaced replace(berth_fork* fork, const DrainQuestion& question, const std::vector<ShapeQuestion>& shapes,
                   std::uint32_t max_nodes);

  /// A group in one domain of a key. @param minimum  0: all
  GroupPlaced schedule_group(berth_fork* fork, const std::vector<OwnedPod>& pods, const NodeChoice& nodes,
                             const std::vector<std::string>& keys, std::uint32_t domain, std::size_t minimum);
  /// @param key, value  a domain; empty: any
  /// @return where each copy went that was tried, and its uid
  std::vector<std::pair<std::string, Placement>> reserve(const std::string& owner, const berth_pod* pod,
                                                         std::size_t count, const NodeChoice& nodes,
                                                         const std::string& key, const std::string& value);
  void unreserve(const std::string& owner, std::size_t count);

  berth_error* error() { return &error_; }

 private:
  std::string node_name(std::uint32_t number);
  std::vector<std::uint32_t> numbers_of(const std::vector<std::string>& nodes);
  std::vector<DrainedNode> drained_nodes(const berth_result& result);
  OwnedNodeSet node_set(const NodeChoice& nodes);
  std::uint32_t find_node(const std::string& name);

  berth_error error_ = BERTH_ERROR_INIT;
  OwnedEngine engine_;
  OwnedCluster cluster_;
};

}  // namespace berth::test
