// SPDX-License-Identifier: Apache-2.0
#include "host/objects/loader.h"

#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "host/objects/admission.h"
#include "host/objects/decode.h"
#include "host/objects/list_entries.h"
#include "host/objects/object_pools.h"
#include "host/objects/per_thread.h"
#include "host/objects/pod_names.h"
#include "host/objects/repeated_objects.h"
#include "host/objects/text/text_reader.h"
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
  std::vector<InputProblem> warnings;
  std::uint32_t source = 0;
  std::string source_name;
  std::int64_t left_out_count = 0;  ///< of decoded, with those that were not kept
  std::int64_t document_count = 0;
  std::int64_t empty_list_count = 0;
  bool is_decoded = false;
};
using WorkPtr = std::shared_ptr<Work>;

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
      : options_(options),
        dense_entries_(options.dense_entries_max),
        decoders_([this] { return std::make_unique<ObjectDecoder>(pools_, dense_entries_, decode_options()); }) {}

  LoadResult run(const NextBatch& next) {
    decode_all(next);
    drop_repeated_objects(all_, sources_, options_.threads,
                          [this](SourcePlace place, const std::string& object, std::string message) {
                            leave_out(place, object, std::move(message));
                          });
    take_over_settled();
    admit();
    take_over_admitted();
    if (options_.expand_workloads) expand();
    keep_first(result_.left_out, options_.left_out_max);
    return std::move(result_);
  }

 private:
  DecodeOptions decode_options() const {
    return {.is_strict = options_.strict,
            .keeps_finished_pods = options_.keeps_finished_pods,
            .declared = options_.declared};
  }
  void decode_all(const NextBatch& next);
  WorkPtr read(const NextBatch& next, tbb::flow_control& flow);
  void decode(Work& work);
  void decode_items(Work& work);
  void append(Work& work);
  void limit_kinds(std::map<std::string, std::int64_t>& kinds);
  void stop_at_limit();
  void end_source();
  std::uint32_t number_of(const std::string& source);

  void admit();
  template <class T>
  static void take_over(std::vector<Sourced<T>>& from, std::vector<T>& to);
  void take_over_settled();
  void take_over_admitted();
  void append_input_warnings();
  void append_finding_warnings();
  void expand();
  void set_default_classes();
  void add_problem(std::string object, InputProblem problem);
  void leave_out(SourcePlace place, const std::string& object, std::string message);

  const LoadOptions& options_;
  ObjectPools pools_;
  DenseEntries dense_entries_;
  PerThread<std::unique_ptr<ObjectDecoder>> decoders_;
  std::mutex large_items_;
  // Of the first stage of the pipeline, which may be ahead of the last one.
  std::uint32_t sources_read_ = 0;
  std::string source_read_;
  // Of the last stage.
  std::vector<std::string> sources_;          ///< the last one is open
  bool open_source_is_empty_ = false;         ///< it gave neither documents nor problems so far
  std::atomic<bool> is_over_limit_ = false;   ///< set by the last stage, read by the first
  std::vector<InputProblem> input_warnings_;  ///< about files and lists that look incomplete
  DecodedObjects all_;
  LoadResult result_;
};

/// Its place in sources_, once the last stage comes to it.
std::uint32_t Loading::number_of(const std::string& source) {
  if (sources_read_ == 0 || source_read_ != source) {
    ++sources_read_;
    source_read_ = source;
  }
  return sources_read_ - 1;
}

WorkPtr Loading::read(const NextBatch& next, tbb::flow_control& flow) {
  auto work = std::make_shared<Work>();
  if (is_over_limit_ || !next(work->batch)) {
    flow.stop();
    return nullptr;
  }
  work->source_name = work->batch.source();
  work->source = number_of(work->source_name);
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
  work.warnings = work.batch.warnings();
  decode_items(work);
  const auto skipped = static_cast<std::int64_t>(work.batch.skipped_count());
  decoded.object_count += skipped;
  decoded.problem_count += skipped;
  work.left_out_count += skipped;
  if (skipped > 0) {
    fold_into(decoded.problems,
              {work.batch.source(), "", "holds a further item that is too short to be an object", "", skipped - 1},
              options_.problems_max);
  }
  work.document_count = static_cast<std::int64_t>(work.batch.document_count());
  work.empty_list_count = static_cast<std::int64_t>(work.batch.empty_list_count());
  work.batch = ItemBatch();  // the text is not needed while the result waits for its turn
}

void Loading::decode_items(Work& work) {
  DecodedObjects& decoded = work.decoded;
  ObjectDecoder& decoder = *decoders_.local();
  for (const ItemSlice& item : work.batch.items()) {
    const std::size_t left_out_before = decoded.left_out.size();
    if (item.json.size() > kLargeItemBytes) {
      const std::lock_guard one_at_a_time(large_items_);
      ObjectDecoder(pools_, dense_entries_, decode_options()).decode(item, work.batch.source(), work.source, decoded);
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
  if (work.source == sources_.size()) {
    end_source();
    sources_.push_back(std::move(work.source_name));
    open_source_is_empty_ = true;
  }
  for (InputProblem& warning : work.warnings) fold_into(input_warnings_, std::move(warning), options_.problems_max);
  if (work.document_count > 0 || work.decoded.problem_count > 0) open_source_is_empty_ = false;
  result_.document_count += work.document_count;
  result_.empty_list_count += work.empty_list_count;
  result_.left_out_count += work.left_out_count;
  limit_kinds(work.decoded.unknown_kinds);
  all_.append(std::move(work.decoded), options_.problems_max);
  keep_first(all_.left_out, options_.left_out_max);
  stop_at_limit();
}

/// All batches of the open source, if there is one, were appended.
void Loading::end_source() {
  if (sources_.empty() || !open_source_is_empty_) return;
  fold_into(input_warnings_, {sources_.back(), "", "holds no object, only comments or empty documents"},
            options_.problems_max);
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
  } else if (dense_entries_.is_over()) {
    what = std::to_string(options_.dense_entries_max) + " list entries beyond one for each " +
           std::to_string(kListEntryTextBytes) + " bytes of their object";
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
  if (!is_over_limit_) end_source();
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

void Loading::append_input_warnings() {
  for (const InputProblem& warning : input_warnings_) result_.objects.warnings.push_back(warning.to_string());
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
  for (Sourced<TerminalPod>& terminal : all_.terminal_pods) {
    objects.terminal_pods.push_back(std::move(terminal.object.name));
    if (terminal.object.pod != nullptr) result_.finished_pods.push_back(std::move(terminal.object.pod));
  }
  std::vector<Sourced<TerminalPod>>().swap(all_.terminal_pods);
  objects.terminal_pod_count = static_cast<std::int64_t>(objects.terminal_pods.size());
  take_over(all_.volumes, objects.storage.volumes);
  take_over(all_.volume_claims, objects.storage.claims);
  take_over(all_.storage_classes, objects.storage.classes);
  take_over(all_.csi_nodes, objects.storage.csi_nodes);
  take_over(all_.csi_drivers, objects.storage.csi_drivers);
  take_over(all_.storage_capacities, objects.storage.capacities);
  take_over(all_.volume_attachments, objects.storage.attachments);
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
  append_input_warnings();
  append_finding_warnings();
  result_.problems = std::move(all_.problems);
  result_.problem_count = all_.problem_count;
  result_.left_out = std::move(all_.left_out);
}

/// One warning for each finding, and a last one that counts them and names --strict.
void Loading::append_finding_warnings() {
  if (all_.finding_count == 0) return;
  std::vector<std::string>& warnings = result_.objects.warnings;
  for (const InputProblem& finding : all_.findings) warnings.push_back(finding.to_string());
  const std::int64_t more = all_.finding_count - total_count(all_.findings);
  if (more > 0) warnings.push_back("and " + std::to_string(more) + " more that say something else");
  warnings.push_back(std::to_string(all_.finding_count) +
                     (all_.finding_count == 1 ? " value that an API server would refuse was"
                                              : " values that an API server would refuse were") +
                     " read as stored; --strict refuses such objects; docs/objects.md lists the checks");
}

/// As admission does with the claims that a controller makes: the newest default class, of equally old ones the first
/// by name.
void Loading::set_default_classes() {
  const auto& known = all_.default_storage_classes;
  const auto newest = std::min_element(known.begin(), known.end(), [](const auto& a, const auto& b) {
    return a.creation_time_us != b.creation_time_us ? a.creation_time_us > b.creation_time_us : a.name < b.name;
  });
  if (newest == known.end()) return;
  for (DecodedWorkload& workload : all_.workloads)
    for (const std::size_t claim : workload.classless_claims)
      workload.volume_claim_templates[claim].class_name = newest->name;
}

void Loading::expand() {
  if (all_.workloads.empty()) return;
  set_default_classes();
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

/// YAML may say a field twice, as JSON may: ValidationCheck::kDuplicateField finds it and names the object.
TextLimits text_limits(const LoadOptions& options) {
  TextLimits limits = options.text;
  limits.yaml_keys_once = false;
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
  LoadResult result = Loading(options).run(batches_of_text(text, source_name, text_limits(options)));
  result.objects.bytes_read = text.size();
  return result;
}

}  // namespace berth
