// SPDX-License-Identifier: Apache-2.0
#include "tests/histories/embedding_calls.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tests/histories/embedding_columns.h"

namespace berth::test {
namespace {

using nlohmann::json;

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

void must(berth_status status, const berth_error* error) {
  if (status == BERTH_OK) return;
  throw std::runtime_error(fmt::format("{}: {}: {}", berth_status_name(status), error != nullptr ? error->object : "",
                                       error != nullptr ? error->text : ""));
}

/// The reason as `berth schedule` names it.
json Placement::line(std::string_view uid) const {
  json made = {{"place", uid}, {"node", node}, {"score", score}};
  if (!node.empty()) return made;
  // A FitError counts nodes; whatever else is said is an error that ended the cycle.
  const bool is_fit_error = message.starts_with("0/") || message.starts_with("no nodes available");
  made["reason"] = is_fit_error ? "Unschedulable" : "SchedulerError";
  made["message"] = message;
  return made;
}

EmbeddingCalls::EmbeddingCalls(const EngineSettings& settings) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.backend = settings.backend.c_str();
  options.seed = settings.seed;
  options.threads = 1;
  options.release = settings.release.c_str();
  options.scheduler_config_file = text_or_null(settings.config);
  options.feature_gates = text_or_null(settings.feature_gates);
  berth_engine* engine = nullptr;
  must(berth_engine_create(&options, &engine, &error_), &error_);
  engine_.reset(engine);
  berth_cluster* cluster = nullptr;
  must(berth_cluster_create(engine, &cluster, &error_), &error_);
  cluster_.reset(cluster);
}

void EmbeddingCalls::upsert(const json& object) {
  const std::string text = object.dump();
  must(berth_cluster_upsert(cluster_.get(), text.data(), text.size(), &error_), &error_);
}

void EmbeddingCalls::remove(const std::string& kind, const std::string& name_space, const std::string& name) {
  const berth_status status =
      berth_cluster_delete(cluster_.get(), kind.c_str(), text_or_null(name_space), name.c_str(), nullptr, &error_);
  if (status != BERTH_E_NOT_FOUND) must(status, &error_);
}

void EmbeddingCalls::remove_pod(const std::string& uid) {
  const berth_status status = berth_cluster_delete(cluster_.get(), "Pod", nullptr, nullptr, uid.c_str(), &error_);
  if (status != BERTH_E_NOT_FOUND) must(status, &error_);
}

void EmbeddingCalls::assume(const berth_pod* pod, const std::string& node) {
  must(berth_cluster_assume(cluster_.get(), pod, node_number(node), &error_), &error_);
}

void EmbeddingCalls::forget(const berth_pod* pod) { must(berth_cluster_forget(cluster_.get(), pod, &error_), &error_); }

OwnedPod EmbeddingCalls::pod(const json& object, std::uint32_t ignore) {
  const std::string text = object.dump();
  berth_pod_options options = BERTH_POD_OPTIONS_INIT;
  options.ignore = ignore;
  berth_pod* made = nullptr;
  must(berth_pod_create(cluster_.get(), text.data(), text.size(), &options, &made, &error_), &error_);
  return OwnedPod(made);
}

OwnedSnapshot EmbeddingCalls::snapshot() {
  berth_snapshot* made = nullptr;
  must(berth_snapshot_create(cluster_.get(), &made, &error_), &error_);
  return OwnedSnapshot(made);
}

OwnedFork EmbeddingCalls::fork(const berth_snapshot* snapshot) {
  berth_fork* made = nullptr;
  must(berth_snapshot_fork(snapshot, &made, &error_), &error_);
  return OwnedFork(made);
}

OwnedFork EmbeddingCalls::fork(berth_fork* parent) {
  berth_fork* made = nullptr;
  must(berth_fork_fork(parent, &made, &error_), &error_);
  return OwnedFork(made);
}

std::uint32_t EmbeddingCalls::node_number(const std::string& name) {
  std::uint32_t number = BERTH_NO_NODE;
  must(berth_cluster_find_node(cluster_.get(), name.c_str(), &number, &error_), &error_);
  return number;
}

std::string EmbeddingCalls::node_name(std::uint32_t number) {
  if (number == BERTH_NO_NODE) return {};
  berth_str name{};
  must(berth_cluster_node_name(cluster_.get(), number, &name, &error_), &error_);
  return {name.data, name.size};
}

std::vector<std::string> EmbeddingCalls::node_names(const berth_fork* fork) {
  std::size_t count = 0;
  must(berth_fork_nodes(fork, nullptr, 0, &count, &error_), &error_);
  std::vector<std::uint32_t> numbers(count);
  must(berth_fork_nodes(fork, numbers.data(), count, &count, &error_), &error_);
  std::vector<std::string> names;
  for (const std::uint32_t number : numbers) names.push_back(node_name(number));
  return names;
}

void EmbeddingCalls::upsert_node(berth_fork* fork, const json& node) {
  const std::string text = node.dump();
  const berth_status status = berth_fork_add_node(fork, text.data(), text.size(), nullptr, &error_);
  if (status != BERTH_E_EXISTS) return must(status, &error_);
  must(berth_fork_update_node(fork, text.data(), text.size(), &error_), &error_);
}

void EmbeddingCalls::add_pod(berth_fork* fork, const json& pod, const std::string& node) {
  must(berth_fork_add_pod(fork, this->pod(pod).get(), node_number(node), &error_), &error_);
}

void EmbeddingCalls::remove_pod(berth_fork* fork, const std::string& uid) {
  const berth_status status = berth_fork_remove_pod(fork, uid.c_str(), &error_);
  if (status != BERTH_E_NOT_FOUND) must(status, &error_);
}

OwnedNodeSet EmbeddingCalls::node_set(const NodeChoice& nodes) {
  if (!nodes.among) return nullptr;
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : *nodes.among) numbers.push_back(node_number(name));
  berth_node_set* made = nullptr;
  must(berth_node_set_create(cluster_.get(), numbers.data(), numbers.size(), &made, &error_), &error_);
  return OwnedNodeSet(made);
}

namespace {

/// The verdicts of a result of checks.
class Verdicts {
 public:
  explicit Verdicts(const berth_result& result)
      : nodes(column<std::uint32_t>(result, BERTH_COLUMN_NODE)),
        judged(column<std::uint8_t>(result, BERTH_COLUMN_JUDGED)),
        fits(column<std::uint8_t>(result, BERTH_COLUMN_FITS)),
        codes_(column<std::uint8_t>(result, BERTH_COLUMN_CODE)),
        phases_(column<std::uint8_t>(result, BERTH_COLUMN_PHASE)),
        plugins_(texts(result, BERTH_COLUMN_PLUGIN)),
        reasons_(texts(result, BERTH_COLUMN_REASONS)) {}

  json at(std::size_t i, const std::string& node) const {
    return {{"node", node},        {"fits", fits[i] != 0},  {"code", codes_[i]},
            {"phase", phases_[i]}, {"plugin", plugins_[i]}, {"reasons", reasons_[i]}};
  }

  std::vector<std::uint32_t> nodes;
  std::vector<std::uint8_t> judged;
  std::vector<std::uint8_t> fits;

 private:
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> phases_;
  std::vector<std::string> plugins_;
  std::vector<std::string> reasons_;
};

}  // namespace

void EmbeddingCalls::check_all(const berth_snapshot* snapshot, berth_fork* fork, const std::vector<OwnedPod>& pods,
                               json& checks, const NodeChoice& nodes, const char* field) {
  const std::vector<const berth_pod*> all = pointers(pods);
  const OwnedNodeSet set = node_set(nodes);
  berth_check_options options = BERTH_CHECK_OPTIONS_INIT;
  options.flags = nodes.flags;
  options.nodes = set.get();
  berth_result* made = nullptr;
  must(snapshot != nullptr ? berth_snapshot_check_bulk_until(snapshot, all.data(), all.size(), &options, &made, &error_)
                           : berth_fork_check_bulk_until(fork, all.data(), all.size(), &options, &made, &error_),
       &error_);
  const OwnedResult result(made);
  const Verdicts verdicts(*result);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    json answers = json::array();
    for (std::size_t n = 0; n < verdicts.nodes.size(); ++n)
      answers.push_back(verdicts.at(p * verdicts.nodes.size() + n, node_name(verdicts.nodes[n])));
    checks[p]["judged"] = verdicts.judged[p];
    checks[p][field] = std::move(answers);
  }
}

json EmbeddingCalls::check_one(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod,
                               const std::string& node, std::uint32_t flags) {
  const std::uint32_t number = node_number(node);
  const auto ask = [&](berth_result** details) {
    std::int32_t fits = -1;
    must(snapshot != nullptr ? berth_snapshot_check(snapshot, pod, number, flags, &fits, details, &error_)
                             : berth_fork_check(fork, pod, number, flags, &fits, details, &error_),
         &error_);
    return fits;
  };
  berth_result* made = nullptr;
  const std::int32_t fits = ask(&made);
  const OwnedResult result(made);
  const json answer = Verdicts(*result).at(0, node);
  if (answer["fits"] != (fits == 1) || ask(nullptr) != fits)
    throw std::runtime_error("the details of a check say something else than its answer: " + answer.dump());
  return answer;
}

json EmbeddingCalls::explain(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod) {
  berth_result* made = nullptr;
  must(snapshot != nullptr ? berth_snapshot_explain(snapshot, pod, 0, &made, &error_)
                           : berth_fork_explain(fork, pod, 0, &made, &error_),
       &error_);
  const OwnedResult result(made);
  berth_str record{};
  must(berth_result_json(result.get(), &record, &error_), &error_);
  return json::parse(std::string_view(record.data, record.size));
}

Scheduled EmbeddingCalls::schedule(berth_fork* fork, const std::vector<OwnedPod>& pods, const ScheduleChoice& how) {
  const std::vector<const berth_pod*> all = pointers(pods);
  const OwnedNodeSet set = node_set(how.nodes);
  std::vector<std::uint32_t> order;
  for (const std::string& name : how.order) order.push_back(node_number(name));
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  options.choice = how.choice;
  options.flags = how.nodes.flags;
  options.start = how.start;
  options.nodes = set.get();
  options.order = order.data();
  options.order_count = order.size();
  berth_result* made = nullptr;
  must(berth_fork_schedule(fork, all.data(), all.size(), &options, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto scores = column<std::int64_t>(*result, BERTH_COLUMN_SCORE);
  const auto messages = texts(*result, BERTH_COLUMN_MESSAGE);
  Scheduled scheduled;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    scheduled.placements.push_back({node_name(nodes[i]), scores[i], messages[i]});
  must(berth_result_next_start(result.get(), &scheduled.next_start, &error_), &error_);
  return scheduled;
}

Replicas EmbeddingCalls::max_replicas(berth_fork* fork, const berth_pod* shape, const NodeChoice& nodes,
                                      const std::vector<std::string>& keys) {
  const OwnedNodeSet set = node_set(nodes);
  std::vector<const char*> key_texts;
  for (const std::string& key : keys) key_texts.push_back(key.c_str());
  berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
  options.flags = nodes.flags;
  options.nodes = set.get();
  options.keys = key_texts.data();
  options.key_count = key_texts.size();
  options.per_node = 1;
  berth_result* made = nullptr;
  const berth_status status = berth_fork_max_replicas(fork, &shape, 1, &options, &made, &error_);
  if (status == BERTH_E_UNSUPPORTED) return {};
  must(status, &error_);
  const OwnedResult result(made);
  if (column<std::uint8_t>(*result, BERTH_COLUMN_JUDGED).front() == BERTH_JUDGED_NOT) return {};
  Replicas replicas;
  replicas.count = column<std::int64_t>(*result, BERTH_COLUMN_COUNT).front();
  const auto numbers = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto on_node = column<std::int32_t>(*result, BERTH_COLUMN_COUNT_ON_NODE);
  for (std::size_t n = 0; n < numbers.size(); ++n) replicas.on_node[node_name(numbers[n])] = on_node[n];
  if (keys.empty()) return replicas;
  const auto begin = column<std::uint32_t>(*result, BERTH_COLUMN_VALUE_BEGIN);
  const auto values = texts(*result, BERTH_COLUMN_VALUE);
  const auto of_value = column<std::int64_t>(*result, BERTH_COLUMN_COUNT_OF_VALUE);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    auto& counts = replicas.of_value[keys[k]];
    for (std::size_t v = begin[k]; v < begin[k + 1]; ++v) counts[values[v]] = of_value[v];
  }
  return replicas;
}

json EmbeddingCalls::preempt(const berth_snapshot* snapshot, berth_fork* fork, const berth_pod* pod) {
  berth_result* made = nullptr;
  must(snapshot != nullptr ? berth_snapshot_preempt(snapshot, pod, 0, &made, &error_)
                           : berth_fork_preempt(fork, pod, 0, &made, &error_),
       &error_);
  const OwnedResult result(made);
  const auto nodes = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto violations = column<std::int32_t>(*result, BERTH_COLUMN_VIOLATIONS);
  const auto best = column<std::uint8_t>(*result, BERTH_COLUMN_BEST);
  const auto begin = column<std::uint32_t>(*result, BERTH_COLUMN_VICTIM_BEGIN);
  const auto victims = texts(*result, BERTH_COLUMN_VICTIM);
  json candidates = json::array();
  for (std::size_t n = 0; n < nodes.size(); ++n)
    candidates.push_back({{"node", node_name(nodes[n])},
                          {"violations", violations[n]},
                          {"best", best[n] != 0},
                          {"victims", std::vector(victims.begin() + begin[n], victims.begin() + begin[n + 1])}});
  berth_str message{};
  must(berth_result_message(result.get(), &message, &error_), &error_);
  return {{"candidates", std::move(candidates)}, {"message", std::string(message.data, message.size)}};
}

}  // namespace berth::test
