// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/cpu_backend.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "batching/commit_log.h"
#include "batching/diagnosis_row.h"
#include "batching/judge.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "batching/topology_scores.h"
#include "host/cluster/snapshot.h"
#include "host/engine/cpu/feasible_list.h"
#include "host/engine/cpu/grouped_row.h"
#include "host/engine/cpu/level_selection.h"
#include "host/engine/cpu/tile_cache.h"
#include "host/objects/errors.h"
#include "plugins/image_locality/rule.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/normalize.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

void check_totals(const SchedulerConfig& config) {
  for (const Profile& profile : config.profiles)
    if (max_total(profile) > kMaxTotal)
      throw InputError(InputProblem{"", "profile " + profile.scheduler_name + ".plugins.score",
                                    "weights add up to a total of " + std::to_string(max_total(profile)) +
                                        ", the cpu backend holds " + std::to_string(kMaxTotal) +
                                        "; use --backend reference"});
}

class Deadline {
 public:
  explicit Deadline(std::int64_t limit_us) : limit_us_(limit_us) {}
  bool passed() const {
    return limit_us_ > 0 && std::chrono::steady_clock::now() - begin_ >= std::chrono::microseconds(limit_us_);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t limit_us_;
};

}  // namespace

struct CpuBackend::State {
  State(const ClusterCache& cluster_cache, const ClusterObjects& objects, const SchedulerConfig& scheduler_config,
        const EngineConfig& engine_config, const CpuTuning& cpu_tuning)
      : cache(cluster_cache),
        config(scheduler_config),
        engine(engine_config),
        tuning(cpu_tuning),
        arena(engine.threads > 0 ? engine.threads : tbb::task_arena::automatic),
        snapshot(cluster_cache),
        table(objects, config, engine, snapshot, cache),
        nominations(objects, config, snapshot, table),
        tiles(table, engine.row_bytes_max, engine.tie_break == TieBreak::kRandom, tuning),
        grouped_rows(engine.row_bytes_max, tuning.coarse_domains_max) {}

  const ClusterCache& cache;
  const SchedulerConfig& config;
  EngineConfig engine;
  CpuTuning tuning;
  tbb::task_arena arena;
  Snapshot snapshot;
  ClassTable table;
  Nominations nominations;
  CommitLog log;
  TileCache tiles;
  GroupedRows grouped_rows;
  std::unordered_map<std::int32_t, DiagnosisRow> diagnoses;
  /// What each answered pod changed, newest last. What few pods have is kept aside by position.
  std::vector<AnsweredPod> answered;
  std::size_t in_cache = 0;  ///< of `answered`, how many the cache knows: those up to the last sync()
  std::map<std::size_t, std::vector<HostPort>> ports_before;  ///< by position in `answered`
  std::map<std::size_t, PodPtr> nomination_lost;
  std::map<std::size_t, std::size_t> start_before;
  std::size_t next_start = 0;  ///< --node-sampling kube: where the next search begins
  std::int64_t list_evaluations = 0;

  BatchResult* result = nullptr;
  std::unordered_map<std::string, std::int32_t> message_index;

  /// Rows alone decide: no compatibility mode, and no node whose scores would have to be checked.
  bool plain_mode() const {
    return engine.node_sampling == NodeSampling::kAll && engine.tie_break != TieBreak::kKube && !snapshot.any_wrapped();
  }

  void compile(std::span<PodToPlace> pods);
  /// Compiles anew what a later compile() may have told apart. @return `pods`, or the copy of them in `renewed`
  std::span<const PodToPlace> with_current_classes(std::span<const PodToPlace> pods, std::vector<PodToPlace>& renewed);
  std::span<const AnsweredPod> not_in_cache() const { return std::span(answered).subspan(in_cache); }
  void commit(std::span<const PodToPlace> pods, const BatchLimits& limits);
  void place_next(std::span<const PodToPlace> pods);
  bool place_run(std::span<const PodToPlace> pods, std::size_t run);
  std::size_t run_length(std::span<const PodToPlace> pods, std::size_t limit) const;
  bool try_nominated_node(const PodToPlace& pod, std::int32_t& refused_own);
  std::vector<std::int32_t> refused_by_nominations(const PodToPlace& pod);
  void select_and_place(std::span<const PodToPlace> pods, std::int32_t own_nomination);
  FeasibleList list_feasible(const TileCache::Place& place, const PodToPlace& pod,
                             const std::vector<std::int32_t>& refused, std::int32_t own_nomination);
  void answer_list(const PodToPlace& pod, const TileCache::Place& place, const FeasibleList& list);

  void place(const PodToPlace& pod, std::int32_t node, std::int64_t score);
  void select_in_groups(const PodToPlace& pod, const TileCache::Place& at, std::int32_t own_nomination);
  void apply(const PodToPlace& pod, std::int32_t node);
  void take_back(const AnsweredPod& last);
  void fail(const PodToPlace& pod, OutcomeKind kind, const std::string& text);
  void drop_nomination(const PodToPlace& pod);
  void fail_everywhere(const PodToPlace& pod, bool nominations_matter, std::int32_t own_nomination);
  DiagnosisRow::Answer diagnose(const PodToPlace& pod, bool nominations_matter, std::int32_t own_nomination);
  const DiagnosisRow::Answer& plain_diagnosis(std::int32_t pod_class);
  Status judge_own_nomination(const PodToPlace& pod, std::int32_t node);
  Evaluation evaluate(PodToPlace pod);
  void score(const PodToPlace& pod, Evaluation& evaluation);
};

void CpuBackend::State::compile(std::span<PodToPlace> pods) {
  const std::int32_t columns = snapshot.resource_count();
  table.compile(pods, not_in_cache());
  if (snapshot.resource_count() == columns) return;
  nominations.refresh_deltas(table);
  // A column that is new holds what the cache knows; what was placed since stands in `answered` alone.
  for (const AnsweredPod& pod : not_in_cache()) {
    if (pod.node < 0) continue;
    ResourceDelta added;
    for (const auto& [column, amount] : table[pod.pod_class].delta.requested)
      if (column >= columns) added.requested.emplace_back(column, amount);
    if (!added.requested.empty()) snapshot.add_requested(pod.node, added);
  }
}

std::span<const PodToPlace> CpuBackend::State::with_current_classes(std::span<const PodToPlace> pods,
                                                                    std::vector<PodToPlace>& renewed) {
  if (std::none_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return table.is_stale(pod); })) return pods;
  renewed.assign(pods.begin(), pods.end());
  compile(renewed);
  return renewed;
}

// Committing

void CpuBackend::State::commit(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  const Deadline deadline(limits.deadline_us);
  std::vector<PodToPlace> renewed;
  pods = with_current_classes(pods, renewed);
  tiles.begin_batch(pods);
  std::size_t next = 0;
  while (next < pods.size()) {
    if (result->outcomes.size() >= limits.pods_max) {
      result->stop = StopReason::kPodLimit;
      return;
    }
    // At least one pod a call, so that calling again always gets on.
    if (next > 0 && deadline.passed()) {
      result->stop = StopReason::kDeadline;
      return;
    }
    const std::size_t run = run_length(pods.subspan(next), limits.pods_max - next);
    if (run == 0 || !place_run(pods.subspan(next), run)) place_next(pods.subspan(next));
    const std::size_t done = result->outcomes.size() - next;
    if (pods[next].class_index >= 0) tiles.answered(pods[next].class_index, static_cast<std::int64_t>(done));
    next = result->outcomes.size();
    if (limits.stop_at_failure && result->outcomes.back().kind != OutcomeKind::kPlaced) {
      result->stop = StopReason::kPodWithoutNode;
      return;
    }
  }
}

/// Length of the run of equal pods at the front, 0 when it is too short to be planned at once or may not be.
std::size_t CpuBackend::State::run_length(std::span<const PodToPlace> pods, std::size_t limit) const {
  const std::int32_t c = pods.front().class_index;
  if (c < 0 || !plain_mode() || !nominations.empty() || !table[c].ports.empty() || table[c].topology != nullptr)
    return 0;
  const std::size_t longest = std::min(pods.size(), limit);
  std::size_t run = 1;
  while (run < longest && pods[run].class_index == c) ++run;
  return static_cast<std::int64_t>(run) >= tuning.min_run_length(snapshot.node_count()) ? run : 0;
}

bool CpuBackend::State::place_run(std::span<const PodToPlace> pods, std::size_t run) {
  const std::int32_t c = pods.front().class_index;
  if (!table.pre_filter(c).passes() || !table.score_error(c).empty()) return false;
  const TileCache::Place place = tiles.find(c, pods, snapshot, log);
  std::int64_t feasible = place.tile->feasible_count(place.slot);
  if (feasible == 0 || !place.tile->judged_in_lanes()) return false;

  const bool scores = table.profile_of(c).scores_anything;
  const std::vector<RunPick> picks =
      select_run(*place.tile, place.slot, snapshot, table[c], static_cast<std::int64_t>(run));
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const std::int64_t total = scores ? picks[i].total : 1;
    result->outcomes.push_back({OutcomeKind::kPlaced, {picks[i].node}, feasible == 1 ? 0 : total, -1});
    apply(pods[i], picks[i].node);
    if (picks[i].last_copy) --feasible;
  }
  return !picks.empty();
}

void CpuBackend::State::place_next(std::span<const PodToPlace> pods) {
  const PodToPlace& pod = pods.front();
  if (snapshot.node_count() == 0) return fail(pod, OutcomeKind::kUnschedulable, std::string(kNoNodesText));
  if (ClassTable::is_error(pod.class_index)) return fail(pod, OutcomeKind::kError, table.error(pod.class_index));
  if (pod.class_index < 0) throw std::logic_error("commit_batch: a pod was not compiled");
  const PreFilterAnswer pre_filter = table.pre_filter(pod.class_index);
  if (!pre_filter.error.empty()) return fail(pod, OutcomeKind::kError, pre_filter.error);
  if (!pre_filter.message.empty())
    return fail(pod, OutcomeKind::kUnschedulable, fit_error_text({snapshot.node_count(), {}, pre_filter.message}));
  std::int32_t own_nomination = -1;
  if (try_nominated_node(pod, own_nomination)) return;
  select_and_place(pods, own_nomination);
}

/// spec/plugins-node.md 2.3: the nominated node alone, PreFilter's node set or not. @return true when it took the pod;
/// otherwise `refused_own` is the node that refused, or -1.
bool CpuBackend::State::try_nominated_node(const PodToPlace& pod, std::int32_t& refused_own) {
  const std::int32_t node = nominations.node_of(*pod.pod);
  if (node < 0) return false;
  if (!judge_own_nomination(pod, node).ok()) {
    refused_own = node;
    return false;
  }
  place(pod, node, 0);
  return true;
}

Status CpuBackend::State::judge_own_nomination(const PodToPlace& pod, std::int32_t node) {
  const PodClass& pod_class = table[pod.class_index];
  const CompiledProfile& profile = table.profile_of(pod.class_index);
  const NodeSideRow& row = table.node_side(pod.class_index);
  if (row.outside_node_set == NodeSideRow::kAccepted || row.refusal(node) != row.outside_node_set)
    return nominations.judge_with(*pod.pod, pod_class, profile, row, snapshot, node);
  CompiledProfile without_set = compile_profile(*profile.profile, config.gates, snapshot, cache);
  without_set.pre_filters_node_affinity = false;
  const NodeSideRow open_row = build_node_side_row(*pod_class.spec, pod_class.node_name, without_set, snapshot);
  return nominations.judge_with(*pod.pod, pod_class, profile, open_row, snapshot, node);
}

/// Nodes that the pods nominated there keep this one from.
std::vector<std::int32_t> CpuBackend::State::refused_by_nominations(const PodToPlace& pod) {
  if (nominations.empty()) return {};
  std::vector<std::int32_t> refused;
  for (const std::int32_t node : nominations.nodes_against(*pod.pod))
    if (!nominations
             .judge_with(*pod.pod, table[pod.class_index], table.profile_of(pod.class_index),
                         table.node_side(pod.class_index), snapshot, node)
             .ok())
      refused.push_back(node);
  return refused;
}

void CpuBackend::State::select_and_place(std::span<const PodToPlace> pods, std::int32_t own_nomination) {
  const PodToPlace& pod = pods.front();
  const TileCache::Place at = tiles.find(pod.class_index, pods, snapshot, log);
  std::vector<std::int32_t> refused = refused_by_nominations(pod);
  std::erase_if(refused, [&](std::int32_t node) { return at.tile->key(at.slot, node) == 0; });

  if (!plain_mode() || !refused.empty()) {
    const FeasibleList list = list_feasible(at, pod, refused, own_nomination);
    if (list.nodes.empty()) return fail_everywhere(pod, true, own_nomination);
    return answer_list(pod, at, list);
  }
  if (table[pod.class_index].topology != nullptr) return select_in_groups(pod, at, own_nomination);
  const std::int64_t feasible = at.tile->feasible_count(at.slot);
  if (feasible == 0) return fail_everywhere(pod, !nominations.empty(), own_nomination);
  const std::string& score_error = table.score_error(pod.class_index);
  if (feasible > 1 && !score_error.empty()) return fail(pod, OutcomeKind::kError, score_error);
  const RowTile::Best best = at.tile->best(at.slot);
  const std::int64_t total = table.profile_of(pod.class_index).scores_anything ? total_of(best.key) : 1;
  // A single feasible node is taken without scoring.
  place(pod, best.node, feasible == 1 ? 0 : total);
}

void CpuBackend::State::select_in_groups(const PodToPlace& pod, const TileCache::Place& at,
                                         std::int32_t own_nomination) {
  GroupedRow& row = grouped_rows.find(pod.class_index, table, snapshot);
  row.catch_up(*at.tile, at.slot, table, snapshot.topology(), log);
  const GroupedRow::Choice choice = row.select(*at.tile, at.slot, snapshot.topology());
  if (choice.feasible_count == 0) return fail_everywhere(pod, !nominations.empty(), own_nomination);
  const std::string& score_error = table.score_error(pod.class_index);
  if (choice.feasible_count > 1 && !score_error.empty()) return fail(pod, OutcomeKind::kError, score_error);
  const std::int64_t total = table.profile_of(pod.class_index).scores_anything ? choice.total : 1;
  place(pod, choice.node, choice.feasible_count == 1 ? 0 : total);
}

FeasibleList CpuBackend::State::list_feasible(const TileCache::Place& at, const PodToPlace& pod,
                                              const std::vector<std::int32_t>& refused, std::int32_t own_nomination) {
  const auto feasible = [&](std::int32_t node) {
    return at.tile->key(at.slot, node) > 0 && !std::binary_search(refused.begin(), refused.end(), node) &&
           judge_topology(table[pod.class_index], snapshot, node).accepts();
  };
  const NodeSideRow& row = table.node_side(pod.class_index);
  const std::vector<std::int32_t> candidates = candidate_nodes(row, snapshot.node_count());
  list_evaluations += static_cast<std::int64_t>(candidates.size());
  if (engine.node_sampling == NodeSampling::kAll) return visit_all(candidates, feasible);
  const Profile& profile = *table.profile_of(pod.class_index).profile;
  const std::size_t wanted = wanted_feasible(profile, config, candidates.size());
  FeasibleList list = visit_sample(candidates, next_start, wanted, own_nomination, feasible);
  start_before[answered.size()] = next_start;
  next_start = (next_start + list.nodes.size() + list.recorded) % static_cast<std::size_t>(snapshot.node_count());
  return list;
}

void CpuBackend::State::answer_list(const PodToPlace& pod, const TileCache::Place& at, const FeasibleList& list) {
  if (list.nodes.size() == 1) return place(pod, list.nodes.front(), 0);
  const std::string& score_error = table.score_error(pod.class_index);
  if (!score_error.empty()) return fail(pod, OutcomeKind::kError, score_error);
  if (snapshot.any_wrapped())
    if (std::string error =
            score_range_error(table[pod.class_index], table.profile_of(pod.class_index), snapshot, list.nodes);
        !error.empty())
      return fail(pod, OutcomeKind::kError, error);
  const Choice choice =
      choose_from_list(list.nodes, *at.tile, at.slot, table[pod.class_index], table.node_side(pod.class_index),
                       table.profile_of(pod.class_index), snapshot, engine.tie_break);
  place(pod, choice.node, choice.total);
}

void CpuBackend::State::apply(const PodToPlace& pod, std::int32_t node) {
  const PodClass& pod_class = table[pod.class_index];
  snapshot.apply(node, pod_class.delta, 1);
  if (!pod_class.moves.empty()) snapshot.write_topology().add_all(pod_class.moves, node, 1);
  log.append({node, pod.class_index, 1});
  answered.push_back({pod.pod.get(), node, pod.class_index});
}

void CpuBackend::State::take_back(const AnsweredPod& last) {
  const PodClass& pod_class = table[last.pod_class];
  snapshot.apply(last.node, pod_class.delta, -1);
  snapshot.write_topology().add_all(table.topology().moves_of(*last.pod, pod_class.profile), last.node, -1);
  log.append({last.node, last.pod_class, -1});
}

void CpuBackend::State::place(const PodToPlace& pod, std::int32_t node, std::int64_t score) {
  result->outcomes.push_back({OutcomeKind::kPlaced, {node}, score, -1});
  drop_nomination(pod);
  const std::vector<HostPort>& wanted = table[pod.class_index].ports;
  if (!wanted.empty()) {
    std::vector<HostPort>& used = snapshot.write_used_ports(node);
    ports_before[answered.size()] = used;
    used.insert(used.end(), wanted.begin(), wanted.end());
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
  }
  apply(pod, node);
}

void CpuBackend::State::fail(const PodToPlace& pod, OutcomeKind kind, const std::string& text) {
  const auto [at, is_new] = message_index.try_emplace(text, static_cast<std::int32_t>(result->messages.size()));
  if (is_new) result->messages.push_back(text);
  result->outcomes.push_back({kind, kNoNode, 0, at->second});
  drop_nomination(pod);
  answered.push_back({pod.pod.get(), -1, pod.class_index});
}

/// Taken up by the placement, or lost by the failure.
void CpuBackend::State::drop_nomination(const PodToPlace& pod) {
  if (pod.pod->rare_fields != nullptr && nominations.remove(*pod.pod)) nomination_lost[answered.size()] = pod.pod;
}

// Reasons

const DiagnosisRow::Answer& CpuBackend::State::plain_diagnosis(std::int32_t pod_class) {
  return diagnoses[pod_class].answer(table[pod_class], table.profile_of(pod_class), table.node_side(pod_class),
                                     snapshot, log);
}

DiagnosisRow::Answer CpuBackend::State::diagnose(const PodToPlace& pod, bool nominations_matter,
                                                 std::int32_t own_nomination) {
  if (!nominations_matter && own_nomination < 0) return plain_diagnosis(pod.class_index);
  Diagnosis diagnosis;
  diagnosis.node_count = snapshot.node_count();
  const PodClass& pod_class = table[pod.class_index];
  const CompiledProfile& profile = table.profile_of(pod.class_index);
  const NodeSideRow& row = table.node_side(pod.class_index);
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i) {
    const bool outside = row.outside_node_set != NodeSideRow::kAccepted && row.refusal(i) == row.outside_node_set;
    const Status status = i == own_nomination ? judge_own_nomination(pod, i)
                          : outside           ? judge(pod_class, profile, row, snapshot, i)
                                              : nominations.judge_with(*pod.pod, pod_class, profile, row, snapshot, i);
    if (status.code == StatusCode::kError) return {status.message(), true};
    count_reasons(status, diagnosis);
  }
  return {fit_error_text(diagnosis), false};
}

/// No node takes the pod.
void CpuBackend::State::fail_everywhere(const PodToPlace& pod, bool nominations_matter, std::int32_t own_nomination) {
  const DiagnosisRow::Answer answer = diagnose(pod, nominations_matter, own_nomination);
  fail(pod, answer.is_error ? OutcomeKind::kError : OutcomeKind::kUnschedulable, answer.text);
}

// Explaining

Evaluation CpuBackend::State::evaluate(PodToPlace pod) {
  Evaluation evaluation;
  if (snapshot.node_count() == 0) {
    evaluation.message = kNoNodesText;
    return evaluation;
  }
  compile({&pod, 1});
  if (ClassTable::is_error(pod.class_index)) {
    evaluation.error = table.error(pod.class_index);
    return evaluation;
  }
  const PodClass& pod_class = table[pod.class_index];
  const CompiledProfile& profile = table.profile_of(pod.class_index);
  const NodeSideRow& row = table.node_side(pod.class_index);
  const PreFilterAnswer pre_filter = table.pre_filter(pod.class_index);
  evaluation.error = pre_filter.error;
  if (!evaluation.error.empty()) return evaluation;
  const bool pre_filtered = !pre_filter.message.empty();
  Diagnosis diagnosis{snapshot.node_count(), {}, pre_filter.message};
  bool any_feasible = false;
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i) {
    NodeEvaluation& node = evaluation.nodes.emplace_back();
    node.node = {i};
    const bool outside = row.outside_node_set != NodeSideRow::kAccepted && row.refusal(i) == row.outside_node_set;
    if (pre_filtered || outside) {
      node.status = {StatusCode::kUnschedulableAndUnresolvable, "PreFilter", {}};
      if (pre_filtered) node.status.reasons.push_back(pre_filter.message);
    } else {
      node.status = nominations.judge_with(*pod.pod, pod_class, profile, row, snapshot, i);
    }
    if (node.status.code == StatusCode::kError) return {{}, {}, "", node.status.message()};
    node.feasible = node.status.ok();
    any_feasible = any_feasible || node.feasible;
    if (!pre_filtered && !node.feasible) count_reasons(node.status, diagnosis);
  }
  if (!any_feasible) {
    evaluation.message = fit_error_text(diagnosis);
  } else if (const std::string& error = table.score_error(pod.class_index); !error.empty()) {
    evaluation.error = error;
  } else {
    score(pod, evaluation);
  }
  return evaluation;
}

void CpuBackend::State::score(const PodToPlace& pod, Evaluation& evaluation) {
  const PodClass& pod_class = table[pod.class_index];
  const CompiledProfile& profile = table.profile_of(pod.class_index);
  const NodeSideRow& row = table.node_side(pod.class_index);
  RawMaxima maxima;
  std::vector<std::int32_t> feasible;
  for (const NodeEvaluation& node : evaluation.nodes) {
    if (!node.feasible) continue;
    feasible.push_back(node.node.value);
    maxima.taint = std::max(maxima.taint, row.taint_raw(snapshot, node.node.value));
    maxima.affinity = std::max(maxima.affinity, row.affinity(node.node.value));
  }
  evaluation.error = score_range_error(pod_class, profile, snapshot, feasible);
  if (!evaluation.error.empty()) return;
  TopologyScores topology;
  if (pod_class.topology != nullptr) topology = score_topology(*pod_class.topology, snapshot.topology(), feasible);
  std::size_t in_list = 0;
  std::int64_t highest = 0;
  for (NodeEvaluation& node : evaluation.nodes) {
    if (!node.feasible) continue;
    const std::int32_t i = node.node.value;
    const auto add = [&](std::string_view plugin, std::int64_t raw, std::int64_t normalized, std::int32_t weight) {
      node.scores.push_back({plugin, raw, normalized, weight});
      node.total += normalized * weight;
    };
    if (profile.weight_image_locality != 0) {
      const std::int64_t raw = row.image(i);
      add(ImageLocality::name, raw, raw, profile.weight_image_locality);
    }
    if (row.scores_affinity)
      add(NodeAffinityRule::name, row.affinity(i),
          default_normalize(row.affinity(i), maxima.affinity, NodeAffinityRule::reverse), profile.weight_node_affinity);
    if (profile.weight_balanced != 0 && !pod_class.balanced_skips) {
      const std::int64_t raw = balanced_score(pod_class, profile, snapshot, i);
      add(NodeResourcesBalancedAllocation::name, raw, raw, profile.weight_balanced);
    }
    if (topology.affinity)
      add(InterPodAffinity::name, topology.affinity_raw[in_list], topology.affinity_normalized(in_list),
          profile.weight_pod_affinity);
    if (profile.weight_fit != 0) {
      const std::int64_t raw = fit_score(pod_class, profile, snapshot, i);
      add(NodeResourcesFit::name, raw, raw, profile.weight_fit);
    }
    if (topology.spread)
      add(PodTopologySpread::name, topology.spread_raw[in_list], topology.spread_normalized(in_list),
          profile.weight_spread);
    if (profile.weight_taint_toleration != 0) {
      const std::int64_t raw = row.taint_raw(snapshot, i);
      add(TaintToleration::name, raw, default_normalize(raw, maxima.taint, TaintToleration::reverse),
          profile.weight_taint_toleration);
    }
    if (!profile.scores_anything) node.total = 1;
    ++in_list;
    highest = std::max(highest, node.total);
  }
  for (const NodeEvaluation& node : evaluation.nodes)
    if (node.feasible && node.total == highest) evaluation.best.push_back(node.node);
}

// The interface

CpuBackend::CpuBackend(const ClusterCache& cache, const ClusterObjects& objects, const SchedulerConfig& config,
                       const EngineConfig& engine, const CpuTuning& tuning) {
  check_totals(config);
  state_ = std::make_unique<State>(cache, objects, config, engine, tuning);
}

CpuBackend::~CpuBackend() = default;

void CpuBackend::compile(std::span<PodToPlace> pods) { state_->compile(pods); }

BatchResult CpuBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state_->result = &result;
  state_->message_index.clear();
  state_->arena.execute([&] { state_->commit(pods, limits); });
  state_->result = nullptr;
  return result;
}

CommitMark CpuBackend::mark() const { return {state_->answered.size()}; }

void CpuBackend::rollback(CommitMark mark) {
  State& state = *state_;
  if (mark.position > state.answered.size() || mark.position < state.in_cache)
    throw std::out_of_range("CpuBackend::rollback: no such mark, or one from before sync()");
  while (state.answered.size() > mark.position) {
    const AnsweredPod last = state.answered.back();
    state.answered.pop_back();
    const std::size_t position = state.answered.size();
    if (last.node >= 0) {
      state.take_back(last);
      if (const auto ports = state.ports_before.find(position); ports != state.ports_before.end()) {
        state.snapshot.write_used_ports(last.node) = std::move(ports->second);
        state.ports_before.erase(ports);
      }
    }
    if (const auto lost = state.nomination_lost.find(position); lost != state.nomination_lost.end()) {
      state.nominations.restore(lost->second, state.table, state.snapshot);
      state.nomination_lost.erase(lost);
    }
    if (const auto start = state.start_before.find(position); start != state.start_before.end()) {
      state.next_start = start->second;
      state.start_before.erase(start);
    }
  }
}

Evaluation CpuBackend::evaluate(const PodToPlace& pod) { return state_->evaluate(pod); }

BackendStats CpuBackend::stats() const {
  BackendStats stats;
  stats.class_count = state_->table.size();
  stats.rows_built = state_->tiles.rows_built();
  stats.node_evaluations = state_->tiles.node_evaluations() + state_->list_evaluations;
  stats.column_bytes = state_->snapshot.column_bytes();
  stats.row_bytes = state_->tiles.bytes() + state_->grouped_rows.bytes() + state_->table.node_side_bytes();
  return stats;
}

std::string_view CpuBackend::node_name(NodeIndex index) const { return state_->snapshot.node(index.value).name; }

std::int32_t CpuBackend::node_count() const { return state_->snapshot.node_count(); }

void CpuBackend::sync() {
  State& state = *state_;
  const Snapshot::Update update = state.snapshot.update(state.cache);
  for (const std::int32_t node : update.touched) {
    state.log.append({node, -1, 0});
    state.table.topology().recount_node(node, *state.cache.find_node(state.snapshot.node(node).name),
                                        state.not_in_cache());
  }
  state.in_cache = state.answered.size();
  if (!update.nodes_changed) return;
  state.tiles.clear();
  state.grouped_rows.clear();
  state.diagnoses.clear();
  state.table.recompile();
  state.nominations.rebuild(state.table, state.snapshot);
}

}  // namespace berth
