// SPDX-License-Identifier: Apache-2.0
#include "host/capi/saved_snapshot.h"

#define XXH_INLINE_ALL
#include <tsl/robin_map.h>
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
#include "host/cluster/pod_footprint.h"
#include "host/objects/json_out.h"

namespace berth::capi {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they stand in memory");

constexpr std::string_view kMagic = "BERTHSNP";
constexpr std::uint32_t kFormat = 4;
/// A small file must not make much memory full: opening takes about ten times the data where pods have the shortest
/// names, so that 10 MB become about 800 MiB. What compresses better is padded.
constexpr std::uint64_t kExpansionMax = 8;
constexpr std::uint64_t kExpansionSpare = std::uint64_t{1} << 20;
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
    add_with([&](std::string& piece) { append_json(piece, object); });
  }
  void add_json(std::string_view json) {
    add_with([&](std::string& piece) { piece += json; });
  }
  std::uint64_t count() const { return offsets_.size(); }
  void write(BytesOut& out) {
    offsets_.push_back(size_);
    out.list(offsets_, [&](std::uint64_t offset) { out.number(offset); });
    out.text(std::move(json_));
  }

 private:
  template <class Append>
  void add_with(Append append) {
    looks_.at_next();
    std::string& piece = json_.last();
    offsets_.push_back(size_);
    const std::size_t before = piece.size();
    append(piece);
    size_ += piece.size() - before;
  }

  Pieces json_;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> offsets_;
  LooksAtTimes looks_;
};

struct Written {
  BytesOut out;
  NodeImagesOut images;
  PodColumnsOut pods;
  JsonObjects objects;
};

/// In the order in which a cache that is given them has them too.
void add_pods(const ClusterCache& cache, PodColumnsOut& pods) {
  LooksAtTimes looks;
  const auto add = [&](const Pod& pod, const NodeInfo& node) {
    looks.at_next();
    const bool is_assumed = cache.is_assumed(pod.uid());
    if (is_assumed && !pod.rare().volumes.empty())
      throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod.full_name(),
                     "is assumed and has volumes: what was decided about them is not written");
    pods.add(pod, node.name, is_assumed);
  };
  for (const ClusterCache::NodesOfZone& zone : cache.nodes_by_zone())
    for (const NodeInfo* const node : zone.nodes)
      for (const PodPtr& pod : node->pods) add(*pod, *node);
  std::vector<const NodeInfo*> ghosts = cache.ghosts();
  std::ranges::sort(ghosts, {}, &NodeInfo::name);
  for (const NodeInfo* const node : ghosts)
    for (const PodPtr& pod : node->pods) add(*pod, *node);
}

/// Of nodes where a pod that left has freed ports of others.
std::vector<const NodeInfo*> nodes_of_other_ports(const ClusterCache& cache) {
  std::vector<const NodeInfo*> nodes;
  tsl::robin_map<const PodSpec*, std::vector<HostPort>> ports_of;
  LooksAtTimes looks;
  for (const NodeInfo* const node : cache.nodes()) {
    std::vector<HostPort> of_pods;
    for (const PodPtr& pod : node->pods) {
      looks.at_next();
      const auto [ports, is_new] = ports_of.try_emplace(pod->spec.get());
      if (is_new) ports.value() = wanted_host_ports(*pod->spec);
      add_ports(of_pods, ports->second);
    }
    if (of_pods != node->used_ports) nodes.push_back(node);
  }
  std::ranges::sort(nodes, {}, &NodeInfo::name);
  return nodes;
}

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
std::string compressed_and_padded(const Pieces& full, WorkArena& arena) {
  constexpr std::uint32_t kSkippableFrame = 0x184D2A50;
  std::string data = compressed(full, arena);
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
void read_checked(std::string_view bytes, std::string_view release, WorkArena& arena, Bytes& full) {
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
  if (!decompress(data, header.full_size, arena, full)) refuse("is damaged: its data cannot be decompressed");
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
  PodColumnsOut& pods = written->pods;
  JsonObjects& objects = written->objects;
  out.number(state.facts.version);
  std::vector<std::string> names;
  for (std::uint32_t n = 0; const std::string* const name = state.cluster.nodes().name_of(n); ++n)
    names.push_back(*name);
  out.list(names, [&](const std::string& name) { out.text(name); });
  for (const ClusterCache::NodesOfZone& zone : cache.nodes_by_zone())
    for (const NodeInfo* const node : zone.nodes) {
      Node without_images = *node->node;
      without_images.images.clear();
      objects.add(without_images);
      written->images.add(*node->node);
    }
  for (const Namespace& object : lists.namespaces) objects.add(object);
  for (const Service& object : lists.services) objects.add(object);
  for (const Workload& object : lists.workloads) objects.add(object);
  cache.storage().for_each_stored([&](const auto& object) { objects.add(object); });
  add_pods(cache, pods);
  const std::uint64_t template_begin = objects.count();
  for (const std::string& json : pods.templates()) objects.add_json(json);
  const std::uint64_t nominated_begin = objects.count();
  for (const auto& [uid, pod] : *state.facts.nominated)
    if (cache.get_pod(uid) == nullptr) objects.add(*pod);
  const std::uint64_t class_begin = objects.count();
  for (const PodDisruptionBudget& object : side.budgets) objects.add(object);
  for (const PriorityClass& object : side.priority_classes) objects.add(object);
  for (const RuntimeClass& object : side.runtime_classes) objects.add(object);
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
  out.list(nodes_of_other_ports(cache), [&](const NodeInfo* node) {
    out.text(node->name);
    out.list(node->used_ports, [&](const HostPort& port) {
      out.text(port.ip);
      out.text(port.protocol);
      out.number(static_cast<std::uint64_t>(port.port));
    });
  });
  std::vector<std::pair<std::string_view, std::int64_t>> sizes;
  for (const auto& [name, image] : cache.images())
    if (image.sizes_differ) sizes.emplace_back(name, image.size_bytes);
  out.list(sizes, [&](const auto& size) {
    out.text(size.first);
    out.number(static_cast<std::uint64_t>(size.second));
  });
  written->images.write(out);
  pods.write(out);
  out.number(template_begin);
  out.number(nominated_begin);
  out.number(class_begin);
  objects.write(out);
  const std::string data = compressed_and_padded(out.pieces(), state.cluster.arena());
  const Header header = header_of(data, out.pieces().size(), state.cluster.release());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + data;
}

void read_saved(std::string_view bytes, std::string_view release, WorkArena& arena, SavedSnapshot& saved) {
  read_checked(bytes, release, arena, saved.data);
  BytesIn in(saved.data.view());
  saved.version = in.number();
  in.list([&] { saved.node_names.push_back(in.text()); });
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
  in.list([&] {
    auto& [name, ports] = saved.used_ports.emplace_back(in.text(), std::vector<HostPort>());
    in.list([&ports, &in] {
      std::string ip = in.text();
      std::string protocol = in.text();
      ports.push_back({std::move(ip), std::move(protocol), static_cast<std::int32_t>(in.number())});
    });
    if (!std::ranges::is_sorted(ports)) BytesIn::throw_damaged();
  });
  in.list([&] {
    std::string name = in.text();
    saved.image_sizes.emplace_back(std::move(name), static_cast<std::int64_t>(in.number()));
  });
  saved.images = NodeImagesIn(in);
  saved.pods = PodColumns(in);
  saved.template_begin = in.number();
  saved.nominated_begin = in.number();
  saved.class_begin = in.number();
  in.list([&] { saved.offsets.push_back(in.number()); });
  saved.json_begin = static_cast<std::size_t>(in.view().data() - saved.data.view().data());
  const bool fits = in.is_at_end() && !saved.offsets.empty() && saved.offsets.back() == saved.json().size() &&
                    std::ranges::is_sorted(saved.offsets) && saved.template_begin <= saved.nominated_begin &&
                    saved.nominated_begin <= saved.class_begin && saved.class_begin < saved.offsets.size();
  if (!fits) BytesIn::throw_damaged();
}

}  // namespace berth::capi
