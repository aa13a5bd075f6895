// SPDX-License-Identifier: Apache-2.0
#include "host/objects/loader.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "host/objects/admission.h"
#include "host/objects/decode.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod_names.h"
#include "host/objects/text/json_items.h"
#include "host/objects/text/text_reader.h"
#include "host/objects/text/yaml_items.h"
#include "host/objects/thread_count.h"

namespace berth {
namespace {

/// Gives the next batch in input order; false at the end.
using NextBatch = std::function<bool(ItemBatch&)>;

/// Objects and batches beyond these sizes are decoded one at a time: parsing takes about 14 times an object's size.
constexpr std::size_t kLargeItemBytes = std::size_t{1} << 20;
constexpr std::size_t kLargeBatchBytes = std::size_t{2} << 20;

/// One batch on its way through the pipeline.
struct Work {
  ItemBatch batch;
  DecodedObjects decoded;
  std::uint32_t source = 0;
  std::int64_t left_out_count = 0;  ///< of decoded, with those that were not kept
  std::int64_t document_count = 0;
  bool is_decoded = false;
};
using WorkPtr = std::shared_ptr<Work>;

std::string name_in_reports(const Workload& workload) {
  return workload.kind + " " + workload.namespace_ + "/" + workload.name;
}

/// Batches that may be on their way at a time. This alone keeps the pipeline to fewer threads than the caller's arena
/// has: an arena of its own for each load would cost more than it gives.
std::size_t batches_in_flight(int threads) {
  const int used = thread_count(threads);
  return static_cast<std::size_t>(used < thread_count(0) ? used : 2 * used);
}

template <class T>
void keep_first(std::vector<T>& list, std::size_t count) {
  if (list.size() > count) list.erase(list.begin() + static_cast<std::ptrdiff_t>(count), list.end());
}

class Loading {
 public:
  explicit Loading(const LoadOptions& options)
      : options_(options), decoders_([this] { return std::make_unique<ObjectDecoder>(pools_, options_.strict); }) {}

  LoadResult run(const NextBatch& next) {
    decode_all(next);
    drop_repeated_objects();
    take_over_settled();
    admit();
    take_over_admitted();
    if (options_.expand_workloads) expand();
    keep_first(result_.left_out, options_.left_out_max);
    return std::move(result_);
  }

 private:
  void decode_all(const NextBatch& next);
  WorkPtr read(const NextBatch& next, tbb::flow_control& flow);
  void decode(Work& work);
  void decode_items(Work& work);
  void append(Work& work);
  void limit_kinds(std::map<std::string, std::int64_t>& kinds);
  void stop_at_limit();
  void begin_source(std::uint32_t source);
  std::uint32_t index_of(const std::string& source);

  void drop_repeated_objects();
  void drop_repeated_pods();
  template <class Hash, class Text>
  std::vector<const DecodedPod*> earlier_namesakes(Hash hash, Text text) const;
  template <class T, class Name>
  void drop_repeated(std::vector<T>& list, std::string_view kind, Name name_of);
  void drop_terminal_namesakes();
  void admit();
  template <class T>
  static void take_over(std::vector<Sourced<T>>& from, std::vector<T>& to);
  void take_over_settled();
  void take_over_admitted();
  void append_finding_warnings();
  void expand();
  void add_problem(std::string object, InputProblem problem);
  void leave_out(SourcePlace place, const std::string& object, std::string message);
  std::string repeated_name(SourcePlace place, SourcePlace first) const;

  static constexpr std::uint32_t kNoSource = std::numeric_limits<std::uint32_t>::max();

  const LoadOptions& options_;
  ObjectPools pools_;
  tbb::enumerable_thread_specific<std::unique_ptr<ObjectDecoder>> decoders_;
  std::mutex large_items_;
  std::vector<std::string> sources_;
  std::atomic<bool> is_over_limit_ = false;  ///< set by the last stage, read by the first
  std::uint32_t open_source_ = kNoSource;    ///< of the last batch that was appended
  bool open_source_is_empty_ = false;        ///< it gave neither documents nor problems so far
  DecodedObjects all_;
  LoadResult result_;
};

std::uint32_t Loading::index_of(const std::string& source) {
  if (sources_.empty() || sources_.back() != source) sources_.push_back(source);
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

WorkPtr Loading::read(const NextBatch& next, tbb::flow_control& flow) {
  auto work = std::make_shared<Work>();
  if (is_over_limit_ || !next(work->batch)) {
    flow.stop();
    return nullptr;
  }
  work->source = index_of(work->batch.source());
  if (work->batch.text_bytes() > kLargeBatchBytes) decode(*work);  // here, where there is one at a time
  return work;
}

void Loading::decode(Work& work) {
  if (std::exchange(work.is_decoded, true)) return;
  work.batch.convert();
  DecodedObjects& decoded = work.decoded;
  decoded.pods.reserve(work.batch.items().size());
  for (const InputProblem& problem : work.batch.problems()) {
    ++decoded.problem_count;
    ++work.left_out_count;
    fold_into(decoded.problems, InputProblem(problem), options_.problems_max);
    decoded.left_out.push_back({problem.source, problem.to_string()});
  }
  decode_items(work);
  const auto skipped = static_cast<std::int64_t>(work.batch.skipped_count());
  decoded.object_count += skipped;
  decoded.problem_count += skipped;
  work.left_out_count += skipped;
  work.document_count = static_cast<std::int64_t>(work.batch.document_count());
  work.batch = ItemBatch();  // the text is not needed while the result waits for its turn
}

void Loading::decode_items(Work& work) {
  DecodedObjects& decoded = work.decoded;
  ObjectDecoder& decoder = *decoders_.local();
  for (const ItemSlice& item : work.batch.items()) {
    const std::size_t left_out_before = decoded.left_out.size();
    if (item.json.size() > kLargeItemBytes) {
      const std::lock_guard one_at_a_time(large_items_);
      ObjectDecoder(pools_, options_.strict).decode(item, work.batch.source(), work.source, decoded);
    } else {
      decoder.decode(item, work.batch.source(), work.source, decoded);
    }
    work.left_out_count += static_cast<std::int64_t>(decoded.left_out.size() - left_out_before);
    keep_first(decoded.left_out, options_.left_out_max);
    keep_first(decoded.problems, options_.problems_max);
  }
}

void Loading::append(Work& work) {
  if (is_over_limit_) return;
  if (work.source != open_source_) begin_source(work.source);
  if (work.document_count > 0 || work.decoded.problem_count > 0) open_source_is_empty_ = false;
  result_.document_count += work.document_count;
  result_.left_out_count += work.left_out_count;
  limit_kinds(work.decoded.unknown_kinds);
  all_.append(std::move(work.decoded), options_.problems_max);
  keep_first(all_.left_out, options_.left_out_max);
  stop_at_limit();
}

/// The last source has ended, and `source` begins; kNoSource at the end of the input.
void Loading::begin_source(std::uint32_t source) {
  if (open_source_ != kNoSource && open_source_is_empty_) {
    result_.objects.warnings.push_back(sources_[open_source_] + ": holds no object, only comments or empty documents");
  }
  open_source_ = source;
  open_source_is_empty_ = true;
}

/// Kinds are text of the input: as many as there are objects.
void Loading::limit_kinds(std::map<std::string, std::int64_t>& kinds) {
  if (all_.unknown_kinds.size() < options_.unknown_kinds_max) return;
  std::int64_t others = 0;
  std::erase_if(kinds, [&](const auto& kind) {
    if (all_.unknown_kinds.contains(kind.first)) return false;
    others += kind.second;
    return true;
  });
  if (others > 0) kinds[std::string(kOtherKinds)] += others;
}

void Loading::stop_at_limit() {
  std::string what;
  if (all_.object_count > options_.objects_max) {
    what = std::to_string(options_.objects_max) + " objects";
  } else if (result_.left_out_count > options_.invalid_objects_max) {
    what = std::to_string(options_.invalid_objects_max) + " invalid objects";
  } else {
    return;
  }
  is_over_limit_ = true;
  result_.is_incomplete = true;
  // This one is kept, whatever came before it.
  if (!all_.problems.empty()) keep_first(all_.problems, options_.problems_max - 1);
  add_problem("the rest of the input", {"", "", "the input has more than " + what + "; the rest was not read"});
}

void Loading::decode_all(const NextBatch& next) {
  using tbb::filter_mode;
  tbb::parallel_pipeline(
      batches_in_flight(options_.threads),
      tbb::make_filter<void, WorkPtr>(filter_mode::serial_in_order, [&](tbb::flow_control& flow) {
        return read(next, flow);
      }) & tbb::make_filter<WorkPtr, WorkPtr>(filter_mode::parallel, [&](WorkPtr work) {
        decode(*work);
        return work;
      }) & tbb::make_filter<WorkPtr, void>(filter_mode::serial_in_order, [&](const WorkPtr& work) { append(*work); }));
  if (!is_over_limit_) begin_source(kNoSource);
}

void Loading::leave_out(SourcePlace place, const std::string& object, std::string message) {
  add_problem(object, {sources_[place.source], line_location(place), std::move(message), object});
}

void Loading::add_problem(std::string object, InputProblem problem) {
  ++all_.problem_count;
  ++result_.left_out_count;
  if (all_.left_out.size() < options_.left_out_max) all_.left_out.push_back({std::move(object), problem.to_string()});
  fold_into(all_.problems, std::move(problem), options_.problems_max);
}

std::string Loading::repeated_name(SourcePlace place, SourcePlace first) const {
  std::string text = "stands in the input twice, expected one object of a name; the first, ";
  if (place.source != first.source) text += "in " + sources_[first.source] + " ";
  return text + "on line " + std::to_string(first.line) + ", is kept";
}

template <class T, class Name>
void Loading::drop_repeated(std::vector<T>& list, std::string_view kind, Name name_of) {
  tsl::robin_map<std::string, SourcePlace> names;
  names.reserve(list.size());
  std::erase_if(list, [&](const T& element) {
    std::string name = name_of(element);
    const auto [first, is_new] = names.try_emplace(name, element.place);
    if (is_new) return false;
    if (!kind.empty()) name.insert(0, std::string(kind) + ' ');
    leave_out(element.place, name, repeated_name(element.place, first->second));
    return true;
  });
}

/// For each pod whose `text` an earlier one has, that pod; null for the others. Hashes were taken while the pod was at
/// hand, so that the pods themselves are looked at only when two hashes are equal.
template <class Hash, class Text>
std::vector<const DecodedPod*> Loading::earlier_namesakes(Hash hash, Text text) const {
  std::vector<const DecodedPod*> earlier(all_.pods.size());
  tsl::robin_set<std::uint64_t> hashes;
  hashes.reserve(all_.pods.size());
  tsl::robin_set<std::uint64_t> suspects;
  for (const DecodedPod& decoded : all_.pods) {
    if (!hashes.insert(hash(decoded)).second) suspects.insert(hash(decoded));
  }
  if (suspects.empty()) return earlier;
  tsl::robin_map<std::string, const DecodedPod*> first_of;
  for (std::size_t i = 0; i < all_.pods.size(); ++i) {
    const DecodedPod& decoded = all_.pods[i];
    if (!suspects.contains(hash(decoded))) continue;
    const auto [first, is_new] = first_of.try_emplace(text(*decoded.pod), &decoded);
    if (!is_new) earlier[i] = first->second;
  }
  return earlier;
}

void Loading::drop_repeated_pods() {
  std::vector<const DecodedPod*> same_name;
  std::vector<const DecodedPod*> same_uid;
  const auto find_same_name = [&] {
    same_name = earlier_namesakes([](const DecodedPod& decoded) { return decoded.name_hash; },
                                  [](const Pod& pod) { return pod.full_name(); });
  };
  const auto find_same_uid = [&] {
    same_uid = earlier_namesakes([](const DecodedPod& decoded) { return decoded.uid_hash; },
                                 [](const Pod& pod) { return pod.uid(); });
  };
  if (thread_count(options_.threads) == 1) {
    find_same_name();
    find_same_uid();
  } else {
    tbb::parallel_invoke(find_same_name, find_same_uid);
  }
  for (std::size_t i = 0; i < all_.pods.size(); ++i) {
    const DecodedPod& decoded = all_.pods[i];
    if (same_name[i] == nullptr && same_uid[i] == nullptr) continue;
    std::string message = same_name[i] != nullptr
                              ? repeated_name(decoded.place, same_name[i]->place)
                              : "has the uid \"" + decoded.pod->uid() + "\" of another pod; the first is kept";
    leave_out(decoded.place, "Pod " + decoded.pod->full_name(), std::move(message));
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all_.pods.size(); ++i) {
    if (same_name[i] != nullptr || same_uid[i] != nullptr) continue;
    if (kept != i) all_.pods[kept] = std::move(all_.pods[i]);
    ++kept;
  }
  all_.pods.resize(kept);
}

void Loading::drop_terminal_namesakes() {
  if (all_.terminal_pods.empty()) return;
  tsl::robin_set<std::uint64_t> hashes;
  tsl::robin_map<std::string, SourcePlace> names;
  hashes.reserve(all_.terminal_pods.size());
  for (const Sourced<std::string>& terminal : all_.terminal_pods) {
    const std::string_view name = terminal.object;
    const std::size_t slash = name.find('/');
    hashes.insert(PodNames::hash(name.substr(0, slash), name.substr(slash + 1)));
  }
  for (const DecodedPod& decoded : all_.pods) {
    if (hashes.contains(decoded.name_hash)) names.try_emplace(decoded.pod->full_name(), decoded.place);
  }
  std::erase_if(all_.terminal_pods, [&](const Sourced<std::string>& terminal) {
    const auto [first, is_new] = names.try_emplace(terminal.object, terminal.place);
    if (is_new) return false;
    leave_out(terminal.place, "Pod " + terminal.object, repeated_name(terminal.place, first->second));
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
    leave_out(decoded.place, "Pod " + decoded.pod->full_name(), std::move(message));
    return true;
  });
  std::erase_if(all_.workloads, [&](DecodedWorkload& decoded) {
    std::string message = admission.admit(decoded.pod_template);
    if (message.empty()) return false;
    leave_out(decoded.place, name_in_reports(decoded.workload), std::move(message));
    return true;
  });
  std::vector<std::string> warnings = admission.take_warnings();
  std::move(warnings.begin(), warnings.end(), std::back_inserter(result_.objects.warnings));
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
  objects.volume_claims = std::move(all_.volume_claims);
  objects.volume_names = std::move(all_.volume_names);
  objects.storage_class_names = std::move(all_.storage_class_names);
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
  append_finding_warnings();
  result_.problems = std::move(all_.problems);
  result_.problem_count = all_.problem_count;
  result_.left_out = std::move(all_.left_out);
}

/// One warning for each thing that is said, and one that says what to make of them.
void Loading::append_finding_warnings() {
  if (all_.finding_count == 0) return;
  std::vector<std::string>& warnings = result_.objects.warnings;
  for (const InputProblem& finding : all_.findings) warnings.push_back(finding.to_string());
  const std::int64_t more = all_.finding_count - total_count(all_.findings);
  if (more > 0) warnings.push_back("and " + std::to_string(more) + " more of other kinds");
  warnings.push_back(std::to_string(all_.finding_count) +
                     (all_.finding_count == 1 ? " value that an API server would refuse was"
                                              : " values that an API server would refuse were") +
                     " read as stored; --strict refuses such objects; docs/objects.md lists the checks");
}

void Loading::expand() {
  if (all_.workloads.empty()) return;
  PodNames names;
  names.reserve(result_.objects.pods.size());
  for (const PodPtr& pod : result_.objects.pods) names.insert(*pod);
  auto problems =
      expand_workloads(std::move(all_.workloads), sources_, options_.expansion, pools_, names, result_.objects);
  for (InputProblem& problem : problems) {
    ++result_.problem_count;
    ++result_.left_out_count;
    result_.left_out.push_back({problem.object, problem.to_string()});
    fold_into(result_.problems, std::move(problem), options_.problems_max);
  }
}

/// Without strict, YAML may say a field twice, as JSON may: the last counts.
TextLimits text_limits(const LoadOptions& options) {
  TextLimits limits = options.text;
  limits.yaml_keys_once = options.strict;
  return limits;
}

}  // namespace

void LoadResult::throw_if_problems() const {
  if (!problems.empty()) throw InputError(problems);
}

LoadResult load_cluster(const std::vector<std::string>& paths, const LoadOptions& options) {
  TextReader reader(paths, text_limits(options));
  const std::uint64_t total = options.progress ? reader.stored_bytes_total() : 0;
  LoadResult result = Loading(options).run([&](ItemBatch& batch) {
    if (options.progress) options.progress(reader.stored_bytes_read(), total);
    return reader.next(batch);
  });
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
    JsonItemSplitter splitter(source, text_limits(options));
    result = Loading(options).run([&](ItemBatch& batch) { return splitter.next(stream, batch); });
  } else {
    YamlItemReader reader(source, stream, text_limits(options), 1);
    result = Loading(options).run([&](ItemBatch& batch) { return reader.next(batch); });
  }
  result.objects.bytes_read = text.size();
  return result;
}

}  // namespace berth
