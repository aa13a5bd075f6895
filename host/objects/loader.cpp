// SPDX-License-Identifier: Apache-2.0
#include "host/objects/loader.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "host/objects/admission.h"
#include "host/objects/decode.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod_names.h"
#include "host/objects/text/json_items.h"
#include "host/objects/text/text_reader.h"
#include "host/objects/text/yaml_items.h"

namespace berth {
namespace {

/// Gives the next batch in input order; false at the end.
using NextBatch = std::function<bool(ItemBatch&)>;

/// One batch on its way through the pipeline.
struct Work {
  ItemBatch batch;
  DecodedObjects decoded;
  SourceIndex source = 0;
};
using WorkPtr = std::shared_ptr<Work>;

constexpr std::string_view kRepeatedName =
    "stands in the input twice, expected one object of a name; the first is kept";

std::string name_in_reports(const Workload& workload) {
  return workload.kind + " " + workload.namespace_ + "/" + workload.name;
}

/// More threads than the machine has would only make oneTBB warn.
int concurrency(int threads) {
  const int most = tbb::info::default_concurrency();
  return threads > 0 ? std::min(threads, most) : most;
}

class Loading {
 public:
  explicit Loading(const LoadOptions& options)
      : options_(options),
        arena_(concurrency(options.threads)),
        decoders_([this] { return std::make_unique<ObjectDecoder>(pools_); }) {}

  LoadResult run(const NextBatch& next) {
    arena_.execute([&] { decode_all(next); });
    drop_repeated_objects();
    take_over_settled();
    admit();
    take_over_admitted();
    if (options_.expand_workloads) expand();
    return std::move(result_);
  }

 private:
  void decode_all(const NextBatch& next);
  WorkPtr read(const NextBatch& next, tbb::flow_control& flow);
  void decode(Work& work);
  void append(Work& work);
  SourceIndex index_of(const std::string& source);

  void drop_repeated_objects();
  void drop_repeated_pods();
  template <class Hash, class Text>
  std::vector<bool> repeated(Hash hash, Text text) const;
  template <class T, class Name>
  void drop_repeated(std::vector<T>& list, std::string_view kind, Name name_of);
  void drop_terminal_namesakes();
  void admit();
  template <class T>
  static void take_over(std::vector<Sourced<T>>& from, std::vector<T>& to);
  void take_over_settled();
  void take_over_admitted();
  void expand();
  void add_problem(std::string object, InputProblem problem);
  void leave_out(SourceIndex source, const std::string& object, std::string message);

  const LoadOptions& options_;
  ObjectPools pools_;
  tbb::task_arena arena_;
  tbb::enumerable_thread_specific<std::unique_ptr<ObjectDecoder>> decoders_;
  std::vector<std::string> sources_;
  std::atomic<bool> is_over_limit_ = false;  ///< set by the last stage, read by the first
  DecodedObjects all_;
  LoadResult result_;
};

SourceIndex Loading::index_of(const std::string& source) {
  if (sources_.empty() || sources_.back() != source) sources_.push_back(source);
  return static_cast<SourceIndex>(sources_.size() - 1);
}

WorkPtr Loading::read(const NextBatch& next, tbb::flow_control& flow) {
  auto work = std::make_shared<Work>();
  if (is_over_limit_ || !next(work->batch)) {
    flow.stop();
    return nullptr;
  }
  work->source = index_of(work->batch.source());
  return work;
}

void Loading::decode(Work& work) {
  work.batch.convert();
  ObjectDecoder& decoder = *decoders_.local();
  work.decoded.pods.reserve(work.batch.items().size());
  for (const InputProblem& problem : work.batch.problems()) {
    ++work.decoded.problem_count;
    work.decoded.problems.push_back(problem);
    work.decoded.left_out.push_back({problem.source, problem.to_string()});
  }
  for (const ItemSlice& item : work.batch.items()) {
    decoder.decode(item, work.batch.source(), work.source, work.decoded);
  }
  work.batch = ItemBatch();  // the text is not needed while the result waits for its turn
}

void Loading::append(Work& work) {
  if (is_over_limit_) return;
  all_.append(std::move(work.decoded), options_.problems_max);
  if (all_.object_count <= options_.objects_max) return;
  is_over_limit_ = true;
  add_problem(
      "the rest of the input",
      {"", "", "the input has more than " + std::to_string(options_.objects_max) + " objects; the rest was not read"});
}

void Loading::decode_all(const NextBatch& next) {
  const auto tokens = static_cast<std::size_t>(2 * tbb::this_task_arena::max_concurrency());
  using tbb::filter_mode;
  tbb::parallel_pipeline(
      tokens,
      tbb::make_filter<void, WorkPtr>(filter_mode::serial_in_order, [&](tbb::flow_control& flow) {
        return read(next, flow);
      }) & tbb::make_filter<WorkPtr, WorkPtr>(filter_mode::parallel, [&](WorkPtr work) {
        decode(*work);
        return work;
      }) & tbb::make_filter<WorkPtr, void>(filter_mode::serial_in_order, [&](const WorkPtr& work) { append(*work); }));
}

void Loading::leave_out(SourceIndex source, const std::string& object, std::string message) {
  add_problem(object, {sources_[source], object, std::move(message)});
}

void Loading::add_problem(std::string object, InputProblem problem) {
  ++all_.problem_count;
  all_.left_out.push_back({std::move(object), problem.to_string()});
  if (all_.problems.size() < options_.problems_max) all_.problems.push_back(std::move(problem));
}

template <class T, class Name>
void Loading::drop_repeated(std::vector<T>& list, std::string_view kind, Name name_of) {
  tsl::robin_set<std::string> names;
  names.reserve(list.size());
  std::erase_if(list, [&](const T& element) {
    std::string name = name_of(element);
    if (names.insert(name).second) return false;
    if (!kind.empty()) name.insert(0, std::string(kind) + ' ');
    leave_out(element.source, name, std::string(kRepeatedName));
    return true;
  });
}

/// Marks every pod whose `text` an earlier one has. Hashes were taken while the pod was at hand, so that the pods
/// themselves are looked at only when two hashes are equal.
template <class Hash, class Text>
std::vector<bool> Loading::repeated(Hash hash, Text text) const {
  std::vector<bool> is_repeated(all_.pods.size());
  tsl::robin_set<std::uint64_t> hashes;
  hashes.reserve(all_.pods.size());
  tsl::robin_set<std::uint64_t> suspects;
  for (const DecodedPod& decoded : all_.pods) {
    if (!hashes.insert(hash(decoded)).second) suspects.insert(hash(decoded));
  }
  if (suspects.empty()) return is_repeated;
  tsl::robin_set<std::string> texts;
  for (std::size_t i = 0; i < all_.pods.size(); ++i) {
    const DecodedPod& decoded = all_.pods[i];
    if (suspects.contains(hash(decoded))) is_repeated[i] = !texts.insert(text(*decoded.pod)).second;
  }
  return is_repeated;
}

void Loading::drop_repeated_pods() {
  std::vector<bool> name_is_repeated;
  std::vector<bool> uid_is_repeated;
  arena_.execute([&] {
    tbb::parallel_invoke(
        [&] {
          name_is_repeated = repeated([](const DecodedPod& decoded) { return decoded.name_hash; },
                                      [](const Pod& pod) { return pod.full_name(); });
        },
        [&] {
          uid_is_repeated = repeated([](const DecodedPod& decoded) { return decoded.uid_hash; },
                                     [](const Pod& pod) { return pod.uid(); });
        });
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all_.pods.size(); ++i) {
    DecodedPod& decoded = all_.pods[i];
    const std::string_view what = name_is_repeated[i] ? "name" : uid_is_repeated[i] ? "uid" : "";
    if (what.empty()) {
      if (kept != i) all_.pods[kept] = std::move(decoded);
      ++kept;
      continue;
    }
    std::string message(kRepeatedName);
    if (what == "uid") message = "has the uid \"" + decoded.pod->uid() + "\" of another pod; the first is kept";
    leave_out(decoded.source, "Pod " + decoded.pod->full_name(), std::move(message));
  }
  all_.pods.resize(kept);
}

void Loading::drop_terminal_namesakes() {
  if (all_.terminal_pods.empty()) return;
  tsl::robin_set<std::uint64_t> hashes;
  tsl::robin_set<std::string> names;
  hashes.reserve(all_.terminal_pods.size());
  for (const Sourced<std::string>& terminal : all_.terminal_pods) {
    const std::string_view name = terminal.object;
    const std::size_t slash = name.find('/');
    hashes.insert(PodNames::hash(name.substr(0, slash), name.substr(slash + 1)));
  }
  for (const DecodedPod& decoded : all_.pods) {
    if (hashes.contains(decoded.name_hash)) names.insert(decoded.pod->full_name());
  }
  std::erase_if(all_.terminal_pods, [&](const Sourced<std::string>& terminal) {
    if (names.insert(terminal.object).second) return false;
    leave_out(terminal.source, "Pod " + terminal.object, "stands in the input twice, once finished; one is kept");
    return true;
  });
}

void Loading::drop_repeated_objects() {
  const auto plain_name = [](const auto& element) { return element.object.name; };
  const auto full_name = [](const auto& element) { return element.object.namespace_ + "/" + element.object.name; };
  drop_repeated(all_.nodes, "Node", [](const Sourced<NodePtr>& node) { return node.object->name; });
  drop_repeated_pods();
  drop_terminal_namesakes();
  drop_repeated(all_.namespaces, "Namespace", plain_name);
  drop_repeated(all_.priority_classes, "PriorityClass", plain_name);
  drop_repeated(all_.runtime_classes, "RuntimeClass", plain_name);
  drop_repeated(all_.services, "Service", full_name);
  drop_repeated(all_.pod_disruption_budgets, "PodDisruptionBudget", full_name);
  drop_repeated(all_.workloads, "", [](const DecodedWorkload& decoded) { return name_in_reports(decoded.workload); });
}

void Loading::admit() {
  const ClusterObjects& objects = result_.objects;
  Admission admission(objects.priority_classes, objects.runtime_classes, pools_);
  std::erase_if(all_.pods, [&](DecodedPod& decoded) {
    std::string message = admission.admit(decoded);
    if (message.empty()) return false;
    leave_out(decoded.source, "Pod " + decoded.pod->full_name(), std::move(message));
    return true;
  });
  std::erase_if(all_.workloads, [&](DecodedWorkload& decoded) {
    std::string message = admission.admit(decoded.pod_template);
    if (message.empty()) return false;
    leave_out(decoded.source, name_in_reports(decoded.workload), std::move(message));
    return true;
  });
  result_.objects.warnings = admission.take_warnings();
}

template <class T>
void Loading::take_over(std::vector<Sourced<T>>& from, std::vector<T>& to) {
  to.reserve(from.size());
  for (Sourced<T>& element : from) to.push_back(std::move(element.object));
  std::vector<Sourced<T>>().swap(from);
}

/// What needs no admission; admission itself reads some of it.
void Loading::take_over_settled() {
  ClusterObjects& objects = result_.objects;
  take_over(all_.nodes, objects.nodes);
  take_over(all_.namespaces, objects.namespaces);
  take_over(all_.priority_classes, objects.priority_classes);
  take_over(all_.services, objects.services);
  take_over(all_.runtime_classes, objects.runtime_classes);
  take_over(all_.pod_disruption_budgets, objects.pod_disruption_budgets);
  take_over(all_.terminal_pods, objects.terminal_pods);
  objects.terminal_pod_count = static_cast<std::int64_t>(objects.terminal_pods.size());
  objects.unused_kinds = std::move(all_.unused_kinds);
  objects.unknown_kinds = std::move(all_.unknown_kinds);
}

void Loading::take_over_admitted() {
  ClusterObjects& objects = result_.objects;
  objects.pods.reserve(all_.pods.size());
  for (DecodedPod& decoded : all_.pods) objects.pods.push_back(std::move(decoded.pod));
  std::vector<DecodedPod>().swap(all_.pods);
  if (!options_.expand_workloads) {
    for (DecodedWorkload& decoded : all_.workloads) objects.workloads.push_back(std::move(decoded.workload));
  }
  result_.problems = std::move(all_.problems);
  result_.problem_count = all_.problem_count;
  result_.left_out = std::move(all_.left_out);
}

void Loading::expand() {
  if (all_.workloads.empty()) return;
  PodNames names;
  names.reserve(result_.objects.pods.size());
  for (const PodPtr& pod : result_.objects.pods) names.insert(*pod);
  auto problems =
      expand_workloads(std::move(all_.workloads), sources_, options_.expanded_pods_max, pools_, names, result_.objects);
  for (InputProblem& problem : problems) {
    ++result_.problem_count;
    result_.left_out.push_back({problem.location, problem.to_string()});
    if (result_.problems.size() < options_.problems_max) result_.problems.push_back(std::move(problem));
  }
}

}  // namespace

void LoadResult::throw_if_problems() const {
  if (!problems.empty()) throw InputError(problems);
}

LoadResult load_cluster(const std::vector<std::string>& paths, const LoadOptions& options) {
  TextReader reader(paths, options.text);
  LoadResult result = Loading(options).run([&](ItemBatch& batch) { return reader.next(batch); });
  result.objects.bytes_read = reader.bytes_read();
  return result;
}

LoadResult load_cluster_from_text(std::string_view text, const std::string& source_name, const LoadOptions& options) {
  const auto source = std::make_shared<const std::string>(source_name);
  MemoryStream stream(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  LoadResult result;
  if (is_json) {
    JsonItemSplitter splitter(source, options.text);
    result = Loading(options).run([&](ItemBatch& batch) { return splitter.next(stream, batch); });
  } else {
    YamlItemReader reader(source, stream, options.text, 1, true);
    result = Loading(options).run([&](ItemBatch& batch) { return reader.next(batch); });
  }
  result.objects.bytes_read = text.size();
  return result;
}

}  // namespace berth
