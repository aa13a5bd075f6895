// SPDX-License-Identifier: Apache-2.0
// One object of a watch, from its bytes to the event's object, in JSON and in protobuf: a pod, a node and a claim of
// the size that they have in a cluster, managedFields included (bench/workloads/kube_objects.jsonl, written by
// tests/oracle/protobuf/pairs). Both ways do what Reflector and Copy do, and give the same object.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "host/config/base64.h"
#include "host/kube/watch/api_object_reader.h"
#include "host/kube/watch/watch_frame.h"
#include "host/kube/watch/watch_text.h"
#include "host/objects/json_value.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

struct Bytes {
  std::string line;   ///< of a watch in JSON, with padding behind it
  std::string frame;  ///< of a watch in protobuf
};

void append_field(std::string& out, char number, std::string_view content) {
  out += static_cast<char>(number << 3 | 2);
  std::size_t length = content.size();
  for (; length >= 0x80; length >>= 7) out += static_cast<char>(length | 0x80);
  (out += static_cast<char>(length)).append(content);
}

Bytes bytes_of(std::string_view kind) {
  std::ifstream file(BERTH_SOURCE_DIR "/bench/workloads/kube_objects.jsonl");
  JsonParser parser;
  for (std::string line; std::getline(file, line);) {
    const auto root = parser.parse(line);
    if (!root || std::string_view((*root)["kind"]) != kind) continue;
    std::string json = simdjson::minify((*root)["json"].value());
    json.insert(json.find("\"uid\""), "\"resourceVersion\":\"1234567\",");
    Bytes bytes;
    bytes.line = R"({"type":"MODIFIED","object":)" + json + "}";
    bytes.line.reserve(bytes.line.size() + kSlicePaddingBytes);
    std::string object;
    append_field(object, 1, decode_base64(std::string_view((*root)["protobuf"])).value());
    append_field(bytes.frame, 1, "MODIFIED");
    append_field(bytes.frame, 2, object);
    return bytes;
  }
  throw std::runtime_error("no object of the kind");
}

template <class T>
struct Way {
  explicit Way(const WatchedResource& given) : resource(given), frames(given) {}
  StoredPtr<T> json(const Bytes& bytes) {
    WatchLine line;
    if (!text.read_line(bytes.line, line) || !text.read_version(line.object, version)) return nullptr;
    return reader.read<T>({resource, line.object, &version});
  }
  StoredPtr<T> protobuf(const Bytes& bytes) {
    WatchLine line;
    if (!frames.read_frame(bytes.frame, line) || !text.read_version(line.object, version)) return nullptr;
    return reader.read<T>({resource, line.object, &version});
  }

  WatchedResource resource;
  WatchTextReader text;
  WatchFrameReader frames;
  ApiObjectReader reader;
  ObjectVersion version;
};

template <class T>
void read(benchmark::State& state, WatchedResource resource, bool is_protobuf) {
  const Bytes bytes = bytes_of(resource.item_kind);
  Way<T> way(resource);
  if (way.json(bytes) == nullptr || way.protobuf(bytes) == nullptr) throw std::runtime_error("it cannot be read");
  for (auto _ : state) benchmark::DoNotOptimize(is_protobuf ? way.protobuf(bytes) : way.json(bytes));
  const std::size_t size = is_protobuf ? bytes.frame.size() : bytes.line.size();
  state.counters["wire_bytes"] = static_cast<double>(size);
}

constexpr WatchedResource kPodResource{ObjectKind::kPod, "pods", "", "v1", "Pod"};
constexpr WatchedResource kNodeResource{ObjectKind::kNode, "nodes", "", "v1", "Node"};
constexpr WatchedResource kClaimResource{ObjectKind::kPersistentVolumeClaim, "claims", "", "v1",
                                         "PersistentVolumeClaim"};

void read_pod(benchmark::State& state, bool is_protobuf) { read<Pod>(state, kPodResource, is_protobuf); }
void read_node(benchmark::State& state, bool is_protobuf) { read<Node>(state, kNodeResource, is_protobuf); }
void read_claim(benchmark::State& state, bool is_protobuf) { read<VolumeClaim>(state, kClaimResource, is_protobuf); }
BENCHMARK_CAPTURE(read_pod, json, false);
BENCHMARK_CAPTURE(read_pod, protobuf, true);
BENCHMARK_CAPTURE(read_node, json, false);
BENCHMARK_CAPTURE(read_node, protobuf, true);
BENCHMARK_CAPTURE(read_claim, json, false);
BENCHMARK_CAPTURE(read_claim, protobuf, true);

void transcode(benchmark::State& state, WatchedResource resource) {
  const Bytes bytes = bytes_of(resource.item_kind);
  WatchFrameReader frames(resource);
  WatchLine line;
  for (auto _ : state) benchmark::DoNotOptimize(frames.read_frame(bytes.frame, line));
  state.counters["json_bytes"] = static_cast<double>(line.object.size());
}
BENCHMARK_CAPTURE(transcode, pod, kPodResource);
BENCHMARK_CAPTURE(transcode, node, kNodeResource);
BENCHMARK_CAPTURE(transcode, claim, kClaimResource);

}  // namespace
}  // namespace berth
