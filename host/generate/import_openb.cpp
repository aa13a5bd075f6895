// SPDX-License-Identifier: Apache-2.0
#include "host/generate/import_openb.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/generate/csv_table.h"
#include "host/generate/resource_lists.h"
#include "host/objects/errors.h"
#include "host/objects/text/byte_source.h"

namespace berth {
namespace {

constexpr std::string_view kNamespace = "openb";
constexpr std::string_view kCardResource = "nvidia.com/gpu";
constexpr std::string_view kMilliResource = "alibabacloud.com/gpu-milli";
constexpr std::string_view kModelLabel = "alibabacloud.com/gpu-card-model";
constexpr std::int64_t kMilliPerCard = 1000;
constexpr std::int64_t kMaxCards = 1'000'000;
constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;
/// The trace counts seconds from an unknown start; objects need a date, so this one was chosen.
constexpr std::int64_t kTraceStartSeconds = 1'672'531'200;  // 2023-01-01T00:00:00Z
constexpr std::int64_t kMaxTraceSeconds = 10'000'000'000;
/// With CsvTable::kMaxRows this keeps an import below 1 GiB of memory; the files of the trace have less than 1 MiB.
constexpr std::uint64_t kMaxCsvBytes = std::uint64_t{64} << 20;

std::string read_file(const std::string& path) {
  TextLimits limits;
  limits.source_bytes_max = kMaxCsvBytes;
  FileSource source(path, limits);
  std::string text;
  std::array<char, 65536> block;
  while (const std::size_t count = source.read(block.data(), block.size())) text.append(block.data(), count);
  return text;
}

std::int64_t bounded(const CsvTable& table, std::size_t row, std::string_view column, std::int64_t max) {
  const std::int64_t value = table.number(row, column);
  if (value > max) {
    table.fail(row,
               std::string(column) + ": got " + std::to_string(value) + ", expected at most " + std::to_string(max));
  }
  return value;
}

std::int64_t memory_bytes(const CsvTable& table, std::size_t row) {
  return bounded(table, row, "memory_mib", INT64_MAX / kBytesPerMib) * kBytesPerMib;
}

/// Names of one table: valid and unique.
class UniqueNames {
 public:
  UniqueNames(const CsvTable& table, std::string_view column) : table_(table), column_(column) {}

  const std::string& take(std::size_t row) {
    const std::string& name = table_.text(row, column_);
    if (!is_dns_subdomain(name)) {
      table_.fail(row, std::string(column_) + ": got \"" + name.substr(0, 80) + "\", expected the name of an object");
    }
    if (!taken_.insert(name).second) table_.fail(row, std::string(column_) + ": \"" + name + "\" stands here twice");
    return name;
  }

 private:
  const CsvTable& table_;
  std::string_view column_;
  std::set<std::string_view> taken_;
};

void add_cards(Node& node, std::int64_t cards, GpuMode mode) {
  if (cards == 0) return;
  if (mode == GpuMode::kCard) {
    node.allocatable.scalars.emplace_back(kCardResource, cards);
  } else {
    node.allocatable.scalars.emplace_back(kMilliResource, cards * kMilliPerCard);
  }
}

LabelMap node_labels(const std::string& name, const CsvTable& table, std::size_t row) {
  const std::string& model = table.text(row, "model");
  if (!is_label_value(model)) table.fail(row, "model: got \"" + model.substr(0, 80) + "\", expected a label value");
  std::vector<std::pair<std::string, std::string>> labels = {{"kubernetes.io/hostname", name},
                                                             {"kubernetes.io/os", "linux"}};
  if (!model.empty()) labels.emplace_back(kModelLabel, model);
  return LabelMap(std::move(labels));
}

void add_nodes(const CsvTable& table, const OpenbOptions& options, ClusterObjects& objects) {
  table.require_columns({"sn", "cpu_milli", "memory_mib", "gpu", "model"});
  UniqueNames names(table, "sn");
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    auto node = std::make_shared<Node>();
    node->name = names.take(row);
    node->labels = node_labels(node->name, table, row);
    node->allocatable.milli_cpu = table.number(row, "cpu_milli");
    node->allocatable.memory_bytes = memory_bytes(table, row);
    node->allowed_pod_number = options.pods_per_node;
    add_cards(*node, bounded(table, row, "gpu", kMaxCards), options.gpu_mode);
    objects.nodes.push_back(std::move(node));
  }
}

/// Cards, or thousandths of a card, that a pod requests.
std::int64_t gpu_request(const CsvTable& table, std::size_t row, GpuMode mode) {
  const std::int64_t cards = bounded(table, row, "num_gpu", kMaxCards);
  const std::int64_t milli = bounded(table, row, "gpu_milli", kMilliPerCard);
  if ((cards == 0) != (milli == 0)) {
    table.fail(row, "got num_gpu " + std::to_string(cards) + " with gpu_milli " + std::to_string(milli) +
                        ", expected both to be 0 or neither");
  }
  return mode == GpuMode::kCard ? cards : cards * milli;
}

std::vector<std::string> gpu_models(const CsvTable& table, std::size_t row) {
  std::vector<std::string> models;
  const std::string& text = table.text(row, "gpu_spec");
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    models.push_back(text.substr(begin, end - begin));
    if (models.back().empty() || !is_label_value(models.back())) {
      table.fail(row, "gpu_spec: got \"" + text.substr(0, 80) + "\", expected GPU types joined by |");
    }
    begin = end + 1;
  }
  return models;
}

NodeAffinity model_affinity(std::vector<std::string> models) {
  NodeSelectorTerm term;
  term.match_expressions.push_back({std::string(kModelLabel), SelectorOperator::kIn, std::move(models)});
  NodeAffinity affinity;
  affinity.required.emplace(1, std::move(term));
  return affinity;
}

/// Decodes pod rows; rows with equal requests share one spec, those of one class of service one label map.
class PodRows {
 public:
  PodRows(const CsvTable& table, const OpenbOptions& options)
      : table_(table), options_(options), names_(table, "name") {
    table.require_columns({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
    if (options.qos_priority) table.require_columns({"qos"});
    has_times_ = table.has_column("creation_time");
    has_ends_ = has_times_ && table.has_column("deletion_time");
  }

  PodPtr decode(std::size_t row) {
    auto pod = std::make_shared<Pod>();
    pod->name = names_.take(row);
    pod->namespace_ = kNamespace;
    pod->spec = spec(row);
    pod->labels = qos_labels(row);
    if (options_.qos_priority) pod->priority = qos_priority(row);
    if (has_times_) pod->creation_time_us = (kTraceStartSeconds + seconds(row, "creation_time")) * 1'000'000;
    if (has_ends_) set_run_duration(*pod, row);
    return pod;
  }

 private:
  std::int64_t seconds(std::size_t row, std::string_view column) const {
    return bounded(table_, row, column, kMaxTraceSeconds);
  }

  /// A pod ran from when it was scheduled, or from its creation where the trace does not say, until it was deleted.
  /// One without a deletion has no end in the trace.
  void set_run_duration(Pod& pod, std::size_t row) const {
    if (table_.text(row, "deletion_time").empty()) return;
    const std::int64_t end = seconds(row, "deletion_time");
    const bool is_scheduled = table_.has_column("scheduled_time") && !table_.text(row, "scheduled_time").empty();
    const std::int64_t begin = seconds(row, is_scheduled ? "scheduled_time" : "creation_time");
    if (end < begin) {
      table_.fail(row, "deletion_time: got " + std::to_string(end) + ", expected none before the pod began, " +
                           std::to_string(begin));
    }
    PodRare rare;
    rare.run_duration_us = (end - begin) * 1'000'000;
    pod.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  }

  std::shared_ptr<const PodSpec> spec(std::size_t row) {
    const std::int64_t cpu = table_.number(row, "cpu_milli");
    const std::int64_t memory = memory_bytes(table_, row);
    const std::int64_t gpu = gpu_request(table_, row, options_.gpu_mode);
    std::string key = std::to_string(cpu) + ' ' + std::to_string(memory) + ' ' + std::to_string(gpu);
    key.append(" ").append(table_.text(row, "gpu_spec"));
    std::shared_ptr<const PodSpec>& known = specs_[key];
    if (known == nullptr) known = std::make_shared<const PodSpec>(make_spec(cpu, memory, gpu, gpu_models(table_, row)));
    return known;
  }

  PodSpec make_spec(std::int64_t cpu, std::int64_t memory, std::int64_t gpu, std::vector<std::string> models) const {
    Container container;
    container.name = "main";
    set_resource(container.requests, kCpu, thousandths(cpu));
    if (memory > 0) set_resource(container.requests, kMemory, whole(memory));
    if (gpu > 0)
      set_resource(container.requests, options_.gpu_mode == GpuMode::kCard ? kCardResource : kMilliResource,
                   whole(gpu));
    PodSpec spec;
    spec.containers.push_back(std::move(container));
    if (!models.empty()) spec.node_affinity = model_affinity(std::move(models));
    return spec;
  }

  LabelMap qos_labels(std::size_t row) {
    const std::string& qos = table_.text(row, "qos");
    if (qos.empty()) return LabelMap();
    if (!is_label_value(qos)) table_.fail(row, "qos: got \"" + qos.substr(0, 80) + "\", expected a label value");
    LabelMap& known = labels_[qos];
    if (known.empty()) known = LabelMap{{"openb/qos", qos}};
    return known;
  }

  std::int32_t qos_priority(std::size_t row) const {
    const std::string& qos = table_.text(row, "qos");
    if (qos == "Guaranteed" || qos == "LS") return 1000;
    if (qos == "Burstable") return 500;
    if (qos == "BE") return 0;
    table_.fail(row, "qos: got \"" + qos.substr(0, 80) + "\", expected Guaranteed, LS, Burstable or BE");
  }

  const CsvTable& table_;
  const OpenbOptions& options_;
  UniqueNames names_;
  bool has_times_ = false;
  bool has_ends_ = false;  ///< and times of deletion
  std::unordered_map<std::string, std::shared_ptr<const PodSpec>> specs_;
  std::unordered_map<std::string, LabelMap> labels_;
};

/// By creation time, equal ones in file order.
void add_pods(const CsvTable& table, const OpenbOptions& options, ClusterObjects& objects) {
  PodRows rows(table, options);
  std::vector<std::pair<std::size_t, PodPtr>> pods;
  pods.reserve(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) pods.emplace_back(row, rows.decode(row));
  std::sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->creation_time_us, a.first) < std::pair(b.second->creation_time_us, b.first);
  });
  objects.pods.reserve(pods.size());
  for (auto& [row, pod] : pods) objects.pods.push_back(std::move(pod));
}

}  // namespace

GpuMode parse_gpu_mode(std::string_view text) {
  if (text == "card") return GpuMode::kCard;
  if (text == "milli") return GpuMode::kMilli;
  std::string message = "got \"" + std::string(text.substr(0, 80)) + "\", expected card or milli";
  if (text == "per-card") message += "; cards of their own need device claims, which are not built yet";
  throw InputError(InputProblem{"--gpu-mode", "", message});
}

ClusterObjects import_openb(const std::string& nodes_path, const std::string& pods_path, const OpenbOptions& options) {
  ClusterObjects objects;
  Namespace ns;
  ns.name = kNamespace;
  ns.labels = LabelMap{{"kubernetes.io/metadata.name", std::string(kNamespace)}};
  objects.namespaces.push_back(std::move(ns));
  const std::string nodes_text = read_file(nodes_path);
  add_nodes(CsvTable(nodes_text, nodes_path), options, objects);
  const std::string pods_text = read_file(pods_path);
  add_pods(CsvTable(pods_text, pods_path), options, objects);
  objects.bytes_read = nodes_text.size() + pods_text.size();
  return objects;
}

}  // namespace berth
