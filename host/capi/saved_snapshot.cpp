// SPDX-License-Identifier: Apache-2.0
#include "host/capi/saved_snapshot.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "host/capi/api_error.h"
#include "host/capi/saved_bytes.h"
#include "host/cluster/engine_cluster.h"
#include "host/objects/json_out.h"

namespace berth::capi {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they stand in memory");

constexpr std::string_view kMagic = "BERTHSNP";
constexpr std::uint32_t kFormat = 2;
/// A small file must not make much memory full: opening takes up to three times the text, so that 10 MB
/// become about 1 GiB. Real clusters compress to a twentieth up to a 33rd; what compresses better is padded.
constexpr std::uint64_t kExpansionMax = 40;
constexpr std::uint64_t kExpansionSpare = std::uint64_t{1} << 20;
constexpr std::uint64_t kObjectsAtOnce = 16384;
constexpr const char* kObject = "snapshot";

/// Text of the header, padded with zeros.
constexpr std::size_t kNameSize = 16;
struct Header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t reserved;
  char library[kNameSize];
  char release[kNameSize];
  std::uint64_t size;       ///< of the data that follow
  std::uint64_t full_size;  ///< without compression
  std::uint64_t checksum;   ///< XXH3 of what stands before it, and of the data that follow
};
static_assert(sizeof(Header) == 72 && std::is_trivially_copyable_v<Header>);

/// Objects as JSON, one behind the other.
class JsonObjects {
 public:
  template <class Object>
  void add(const Object& object) {
    looks_.at_next();
    std::string& piece = json_.last();
    offsets_.push_back(size_);
    const std::size_t before = piece.size();
    append_json(piece, object);
    size_ += piece.size() - before;
  }
  std::uint64_t count() const { return offsets_.size(); }
  void write(BytesOut& out) {
    offsets_.push_back(size_);
    out.list(offsets_, [&](std::uint64_t offset) { out.number(offset); });
    out.text(std::move(json_));
  }

 private:
  Pieces json_;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> offsets_;
  LooksAtTimes looks_;
};

struct Written {
  BytesOut out;
  JsonObjects objects;
};

/// Pods in the order in which a cache that is given them has them too.
class PodsOfState {
 public:
  PodsOfState(const ClusterCache& cache, JsonObjects& objects) : cache_(cache), objects_(objects) {
    for (const ClusterCache::NodesOfZone& zone : cache.nodes_by_zone())
      for (const NodeInfo* const node : zone.nodes) add_pods(*node);
    for (const PodPtr& pod : cache.pods())
      if (const NodeInfo* const node = cache.node_of_pod(pod->uid()); node->node == nullptr) add(pod, node->name);
  }
  const std::vector<std::pair<std::uint64_t, std::string>>& assumed() const { return assumed_; }

 private:
  void add_pods(const NodeInfo& node) {
    for (const PodPtr& pod : node.pods) add(pod, node.name);
  }
  void add(const PodPtr& pod, const std::string& node_name) {
    if (!cache_.is_assumed(pod->uid())) return objects_.add(*pod);
    if (!pod->rare().volumes.empty())
      throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod->full_name(),
                     "is assumed and has volumes: what was decided about them is not written");
    assumed_.emplace_back(objects_.count(), node_name);
    objects_.add(*pod);
  }

  const ClusterCache& cache_;
  JsonObjects& objects_;
  std::vector<std::pair<std::uint64_t, std::string>> assumed_;
};

std::vector<SavedSnapshot::Reservation> reservations_in(const ClusterCache& cache, Cluster& cluster) {
  std::vector<SavedSnapshot::Reservation> reservations;
  for (const auto& [owner, pods] : cluster.reservations(nullptr))
    for (const auto& [number, pod] : pods)
      if (cache.get_pod(pod->uid()) == pod) reservations.push_back({owner, number});
  return reservations;
}

std::uint64_t checksum_of(const Header& header, std::string_view data) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, offsetof(Header, checksum));
  XXH3_64bits_update(&state, data.data(), data.size());
  return XXH3_64bits_digest(&state);
}

void write_name(std::string_view name, char (&field)[kNameSize]) {
  if (name.size() >= kNameSize) throw std::logic_error("a name is too long for the header of a snapshot");
  std::memcpy(field, name.data(), name.size());
}
std::string_view name_in(const char (&field)[kNameSize]) { return {field, strnlen(field, kNameSize)}; }

/// zstd data, with a frame behind them that is skipped where they are shorter than read_checked() takes.
std::string compressed_and_padded(const Pieces& full) {
  constexpr std::uint32_t kSkippableFrame = 0x184D2A50;
  std::string data = compressed(full);
  const std::uint64_t size = full.size();
  const std::uint64_t least = size > kExpansionSpare ? (size - kExpansionSpare) / kExpansionMax + 1 : 0;
  while (data.size() < least) {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(least - data.size(), UINT32_MAX));
    const std::uint32_t head[] = {kSkippableFrame, length};
    data.append(reinterpret_cast<const char*>(head), sizeof head);
    data.append(length, '\0');
  }
  return data;
}

Header header_of(std::string_view data, std::uint64_t full_size, std::string_view release) {
  Header header{};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.format = kFormat;
  write_name(berth_version_string(), header.library);
  write_name(release, header.release);
  header.size = data.size();
  header.full_size = full_size;
  header.checksum = checksum_of(header, data);
  return header;
}

/// @param full  [out] the data behind the header, as they were before compression
void read_checked(std::string_view bytes, std::string_view release, std::string& full) {
  const auto refuse = [](const std::string& text) { throw ApiError(BERTH_E_INPUT, kObject, text); };
  Header header{};
  if (bytes.size() < sizeof header || bytes.substr(0, kMagic.size()) != kMagic)
    refuse("is none: expected bytes that berth_snapshot_write() has written");
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto refuse_other = [](std::string_view what, std::string_view theirs, std::string_view ours) {
    throw ApiError(BERTH_E_UNSUPPORTED, kObject,
                   std::string(what) + std::string(theirs) + "; this is " + std::string(ours));
  };
  if (header.format != kFormat) refuse_other("has the format ", std::to_string(header.format), std::to_string(kFormat));
  if (const std::string_view library = name_in(header.library); library != berth_version_string())
    refuse_other("is of libberth ", library, berth_version_string());
  if (name_in(header.release) != release)
    refuse_other("is of kube-scheduler's release ", name_in(header.release), release);
  const std::string_view data = bytes.substr(sizeof header);
  if (header.size != data.size()) refuse("is cut off, or something was appended");
  if (checksum_of(header, data) != header.checksum) refuse("is damaged: its checksum is another one");
  if (header.full_size > data.size() * kExpansionMax + kExpansionSpare)
    refuse("is damaged: it would grow to more than " + std::to_string(kExpansionMax) + " times its size");
  if (!decompress(data, header.full_size, full)) refuse("is damaged: its data cannot be decompressed");
}

}  // namespace

std::string save(const State& state) {
  if (state.cluster.engine().declared != nullptr)
    throw ApiError(BERTH_E_UNSUPPORTED, kObject, "what plugins read of objects (node_paths, pod_paths) is not written");
  const auto kept = freed_later<std::shared_ptr<const ClusterCache>>(state.cluster.arena());  // goes behind the fork
  const std::unique_ptr<Fork> fork = state.fork.fork();
  const EngineCluster& cluster = fork->as_engine().cluster();
  *kept = cluster.leave_cache();
  const ClusterCache& cache = cluster.cache();
  const ClusterObjects lists = cluster.objects().listed();
  const SideObjects& side = *state.facts.side;
  const auto written = freed_later<Written>(state.cluster.arena());
  BytesOut& out = written->out;
  JsonObjects& objects = written->objects;
  out.number(state.facts.version);
  std::vector<std::string> names;
  for (std::uint32_t n = 0; const std::string* const name = state.cluster.nodes().name_of(n); ++n)
    names.push_back(*name);
  out.list(names, [&](const std::string& name) { out.text(name); });
  for (const ClusterCache::NodesOfZone& zone : cache.nodes_by_zone())
    for (const NodeInfo* const node : zone.nodes) objects.add(*node->node);
  for (const Namespace& object : lists.namespaces) objects.add(object);
  for (const Service& object : lists.services) objects.add(object);
  for (const Workload& object : lists.workloads) objects.add(object);
  cache.storage().for_each_stored([&](const auto& object) { objects.add(object); });
  const PodsOfState pods(cache, objects);
  for (const auto& [uid, pod] : *state.facts.nominated)
    if (cache.get_pod(uid) == nullptr) objects.add(*pod);
  const std::uint64_t class_begin = objects.count();
  for (const PodDisruptionBudget& object : side.budgets) objects.add(object);
  for (const PriorityClass& object : side.priority_classes) objects.add(object);
  for (const RuntimeClass& object : side.runtime_classes) objects.add(object);
  out.list(pods.assumed(), [&](const auto& assumed) {
    out.number(assumed.first);
    out.text(assumed.second);
  });
  out.list(reservations_in(cache, state.cluster), [&](const SavedSnapshot::Reservation& reservation) {
    out.text(reservation.owner);
    out.number(reservation.number);
  });
  out.list(side.replicas, [&](const auto& of_workload) {
    const auto& [kind, name_space, name] = of_workload.first;
    out.text(kind);
    out.text(name_space);
    out.text(name);
    out.number(static_cast<std::uint64_t>(of_workload.second));
  });
  out.number(class_begin);
  objects.write(out);
  const std::string data = compressed_and_padded(out.pieces());
  const Header header = header_of(data, out.pieces().size(), state.cluster.release());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + data;
}

void read_saved(std::string_view bytes, std::string_view release, SavedSnapshot& saved) {
  read_checked(bytes, release, saved.data);
  BytesIn in(saved.data);
  saved.version = in.number();
  in.list([&] { saved.node_names.push_back(in.text()); });
  in.list([&] {
    const std::uint64_t object = in.number();
    saved.assumed.emplace_back(object, in.text());
  });
  in.list([&] {
    std::string owner = in.text();
    saved.reservations.push_back({std::move(owner), in.number()});
  });
  in.list([&] {
    std::string kind = in.text();
    std::string name_space = in.text();
    std::string name = in.text();
    saved.replicas[{std::move(kind), std::move(name_space), std::move(name)}] = static_cast<std::int64_t>(in.number());
  });
  saved.class_begin = in.number();
  in.list([&] { saved.offsets.push_back(in.number()); });
  saved.json_begin = static_cast<std::size_t>(in.view().data() - saved.data.data());
  const bool fits = in.is_at_end() && !saved.offsets.empty() && saved.offsets.back() == saved.json().size() &&
                    std::ranges::is_sorted(saved.offsets) && saved.class_begin < saved.offsets.size();
  if (!fits) BytesIn::throw_damaged();
}

void Cluster::restore(const SavedSnapshot& saved, CallLog& log, std::shared_ptr<const ClusterCache>& kept) {
  for (const std::string& name : saved.node_names) nodes_.number_of(name);
  const auto objects = [&](std::uint64_t begin, std::uint64_t end) {
    berth_bulk bulk = BERTH_BULK_INIT;
    bulk.data = saved.json().data();
    bulk.offsets = saved.offsets.data() + begin;
    bulk.count = static_cast<std::size_t>(end - begin);
    return bulk;
  };
  // In parts, since what is read of a part takes several times its text until the engine has it.
  const auto take_range = [&](std::uint64_t begin, std::uint64_t end) {
    for (; begin < end; begin += std::min(kObjectsAtOnce, end - begin)) {
      upsert(objects(begin, begin + std::min(kObjectsAtOnce, end - begin)), nullptr, log, nullptr);
      kept = backend_->cluster().leave_cache();
    }
  };
  // The pods of a node are in their order again, those that are assumed among them.
  std::uint64_t next = 0;
  for (const auto& [object, node_name] : saved.assumed) {
    if (object < next || object >= saved.class_begin)
      throw ApiError(BERTH_E_INPUT, "snapshot", "is damaged: an assumed pod is not among its objects");
    take_range(next, object);
    std::unique_ptr<ReadPod> pod = std::move(read_pods(objects(object, object + 1), 0, log).front());
    assume(*pod, node_name);
    release(std::move(pod));
    next = object + 1;
  }
  take_range(next, saved.class_begin);
  take_range(saved.class_begin, saved.offsets.size() - 1);
  const std::unique_lock alone(mutex_);
  for (const SavedSnapshot::Reservation& reservation : saved.reservations) {
    const std::string uid = uid_of_reservation(reservation.owner, reservation.number);
    if (PodPtr pod = backend_->cluster().cache().get_pod(uid))
      reservations_[reservation.owner].emplace(reservation.number, std::move(pod));
  }
  auto side = std::make_shared<SideObjects>(*facts_.side);
  side->replicas = saved.replicas;
  facts_.side = std::move(side);
  facts_.version = saved.version;
}

}  // namespace berth::capi
