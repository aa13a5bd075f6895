// SPDX-License-Identifier: Apache-2.0
#include "tests/failure/session.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>
#include <variant>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/objects/pod_copy.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/evaluated.h"

namespace berth::test {
namespace {

/// Pods that a session has placed: one is in the middle whichever is undone.
constexpr std::size_t kStandingMin = 5;

std::unique_ptr<Backend> open_engine(Engine engine, Case& drawn) {
  if (engine == Engine::kReference)
    return std::make_unique<ReferenceBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  if (engine == Engine::kCpu)
    return std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  return std::make_unique<DeviceBackend>(std::make_unique<EmulatedAccelerator>(), drawn.cache, drawn.objects,
                                         drawn.config, drawn.engine);
}

template <class Answering>
void add_texts(std::string_view of, const BatchResult& result, const Answering& answering,
               std::vector<std::string>& lines) {
  for (const Outcome& outcome : result.outcomes)
    lines.push_back(std::string(of) + describe(outcome, result, answering.node_name(outcome.node)));
}

template <class Answering>
void add_text(std::string_view of, const Evaluation& evaluation, const Answering& answering,
              std::vector<std::string>& lines) {
  std::string line = std::string(of) + evaluation.message + evaluation.error + to_string(evaluation.rejectors);
  for (const NodeEvaluation& node : evaluation.nodes) {
    line.append("; ").append(answering.node_name(node.node)).append(" ").append(node.status.plugin);
    line.append(" ").append(node.status.message()).append(" ").append(std::to_string(node.total));
    for (const PluginScore& score : node.scores) line.append(",").append(std::to_string(score.normalized));
  }
  for (const NodeIndex best : evaluation.best) line.append(" best ").append(answering.node_name(best));
  lines.push_back(std::move(line));
}

void add_text(const PodVerdicts& verdicts, const Backend& backend, std::vector<std::string>& lines) {
  std::vector<std::string> by_name;
  for (std::size_t slot = 0; slot < verdicts.nodes.size(); ++slot) {
    const std::string_view name = backend.node_name({static_cast<std::int32_t>(slot)});
    if (name.empty()) continue;
    by_name.push_back(std::string(name) + " " + std::to_string(static_cast<int>(verdicts.nodes[slot].code)) + " " +
                      std::string(verdicts.nodes[slot].plugin));
  }
  std::sort(by_name.begin(), by_name.end());
  std::string line = "verdicts " + verdicts.error + to_string(verdicts.rejectors);
  for (const std::string& node : by_name) line.append("; ").append(node);
  lines.push_back(std::move(line));
}

}  // namespace

std::uint64_t small_case(std::uint64_t from, bool host_plugins) {
  for (std::uint64_t seed = from;; ++seed) {
    const Case drawn(seed, true, host_plugins);
    const bool has_running = std::any_of(drawn.objects.pods.begin(), drawn.objects.pods.end(),
                                         [](const PodPtr& pod) { return !pod->node_name.empty(); });
    const bool is_small = drawn.objects.nodes.size() >= 4 && drawn.objects.nodes.size() <= 14 &&
                          drawn.pods.size() >= 24 && drawn.pods.size() <= 90;
    if (is_small && has_running && Session(Engine::kReference, seed, host_plugins).standing().size() >= kStandingMin)
      return seed;
  }
}

Session::Session(Engine engine, std::uint64_t seed, bool host_plugins)
    : drawn(seed, true, host_plugins), backend(open_engine(engine, drawn)), history_(drawn) {
  const std::size_t sixth = drawn.pods.size() / 6;
  unknown = drawn.pods;
  place(sixth);
  backend->apply(history_.draw(drawn.dice, 4));
  middle = backend->mark();
  place(sixth);
  std::vector<PodToPlace> rest = not_placed(unknown, history_);
  const auto take = [&](std::vector<PodToPlace>& to) {
    const std::size_t count = std::min(sixth, rest.size());
    to.assign(rest.end() - static_cast<std::ptrdiff_t>(count), rest.end());
    rest.resize(rest.size() - count);
  };
  take(prepared);
  take(compiled);
  unknown = rest;
  backend->prepare(prepared);
  backend->compile(compiled);
  fork = backend->fork();
  backend->apply(history_.draw(drawn.dice, 1));
  fork->commit_batch(std::span(prepared).first(prepared.size() / 2), {});
  child = fork->fork();
  ClusterHistory of_child(history_);
  child->apply(of_child.draw_for_fork(drawn.dice, 2, 4));
  child->commit_batch(std::span(prepared).last(1), {});
  promotable = backend->fork();
  promotable->commit_batch(std::span(prepared).first(2), {});
  promotable->apply(std::vector<ClusterChange>{PodRemoval{placed.empty() ? "none" : placed.front().pod->uid()}});
  promotable->commit_batch(std::span(prepared).last(1), {});
}

/// Pods that the engine did not know.
void Session::place(std::size_t count) {
  std::vector<PodToPlace> batch = not_placed(unknown, history_);
  batch.resize(std::min(count, batch.size()));
  backend->compile(batch);
  const BatchResult result = commit_with_refills(batch, {}, *backend);
  for (std::size_t i = 0; i < result.outcomes.size(); ++i)
    history_.answered(batch[i].pod, std::string(backend->node_name(result.outcomes[i].node)));
  placed.insert(placed.end(), batch.begin(), batch.end());
  std::erase_if(unknown, [&](const PodToPlace& pod) {
    return std::any_of(batch.begin(), batch.end(), [&](const PodToPlace& other) { return other.pod == pod.pod; });
  });
}

std::string Session::any_node() const {
  return drawn.objects.nodes.empty() ? std::string() : drawn.objects.nodes.front()->name;
}

std::vector<PodToPlace> Session::standing() const {
  std::vector<PodToPlace> pods;
  std::copy_if(placed.begin(), placed.end(), std::back_inserter(pods),
               [&](const PodToPlace& pod) { return history_.is_placed(*pod.pod); });
  return pods;
}

/// The first prepared pod as preemptor on each node with pods, all of which are potential victims.
template <class Ask>
auto Session::ask_about_victims(Ask ask) {
  std::vector<std::vector<Victim>> victims;
  std::vector<VictimList> lists;
  std::vector<DryRun> runs;
  const std::shared_ptr<ClusterCache> cache = history_.cache();
  for (std::int32_t slot = 0; slot < backend->slot_count(); ++slot) {
    const NodeInfo* const info = cache->find_node(backend->node_name({slot}));
    if (info == nullptr || info->pods.empty()) continue;
    std::vector<Victim>& of_node = victims.emplace_back();
    for (const PodPtr& pod : info->pods) of_node.push_back({pod.get(), false});
    lists.push_back({{slot}, {}});
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    lists[i].victims = victims[i];
    runs.push_back({0, static_cast<std::uint32_t>(i)});
  }
  return ask(DryRunRequest{std::span(prepared).first(1), lists, runs});
}

DryRunResult Session::dry_run() {
  return ask_about_victims([&](const DryRunRequest& request) { return backend->dry_run(request); });
}

std::vector<Status> Session::statuses_without_victims() {
  return ask_about_victims([&](const DryRunRequest& request) { return backend->statuses_without_victims(request); });
}

std::vector<std::string> Session::answers(bool commits) {
  std::vector<std::string> lines;
  lines.push_back("mark " + std::to_string(backend->mark().position));
  if (!prepared.empty()) add_text(backend->verdicts(prepared.front()), *backend, lines);
  for (const std::vector<PodToPlace>* pods : {&prepared, &unknown, &placed})
    if (!pods->empty()) add_text("engine ", evaluated(pods->back(), *backend), *backend, lines);
  for (const auto& [name, one] : std::array<std::pair<std::string_view, Fork*>, 3>{
           {{"fork ", fork.get()}, {"child ", child.get()}, {"opened ", opened.get()}}}) {
    if (one == nullptr) continue;
    if (!prepared.empty()) add_text(name, one->evaluate(prepared.back()), *one, lines);
    const std::unique_ptr<Fork> copy = one->fork();
    add_texts(name, copy->commit_batch(prepared, {}), *copy, lines);
  }
  if (!commits) return lines;
  for (const std::vector<PodToPlace>* pods : {&compiled, &prepared}) {
    const CommitMark before = backend->mark();
    add_texts("engine ", commit_with_refills(*pods, {}, *backend), *backend, lines);
    backend->rollback(before);
  }
  return lines;
}

std::vector<std::vector<ClusterChange>> Session::changes() {
  std::vector<std::vector<ClusterChange>> lists(std::variant_size_v<ClusterChange>);
  std::vector<ClusterChange> mixed;
  for (int tries = 0; tries < 200; ++tries) {
    std::vector<ClusterChange> drawn_now = history_.draw(drawn.dice, 1);
    std::vector<ClusterChange>& list = lists[drawn_now.front().index()];
    if (list.empty()) list.push_back(drawn_now.front());
    if (tries < 8) mixed.push_back(drawn_now.front());
  }
  // Placements of the engine are confirmed there, or overruled.
  for (std::size_t i = 0; i < placed.size() && i < 3; ++i) {
    auto bound = copy_of(*placed[i].pod);
    bound->node_name = any_node();
    mixed.push_back(PodUpsert{std::move(bound)});
  }
  lists.push_back(std::move(mixed));
  std::erase_if(lists, [](const auto& list) { return list.empty(); });
  return lists;
}

std::vector<std::vector<ClusterChange>> Session::fork_changes() {
  std::vector<std::vector<ClusterChange>> lists;
  ClusterHistory of_fork(history_);
  for (int i = 0; i < 3; ++i) lists.push_back(of_fork.draw_for_fork(drawn.dice, 3, i == 0 ? 1 : 1000));
  return lists;
}

}  // namespace berth::test
