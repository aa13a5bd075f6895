// SPDX-License-Identifier: Apache-2.0
// Any bytes are the answer of an API server to a list and a watch: never a crash, and the copy that is kept is what the
// events say. tests/unit/kube_watch/nasty_input_test.cpp runs the same function on a fixed set.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/kube/calls/pod_binding_state.h"
#include "host/kube/watch/informers.h"
#include "host/kube/watch/watch_text.h"
#include "tests/support/scripted_http.h"

namespace {

using namespace berth;

void require(bool holds) {
  if (!holds) std::abort();
}

class NoLog : public InformerLog {
 public:
  void on_resource_problem(std::string_view, std::string_view) override {}
  void on_unreadable_object(std::string_view, std::string_view problem) override { require(!problem.empty()); }
  void on_json_only(std::string_view) override {}
};

const std::vector<WatchedResource> kWatched = {{ObjectKind::kPod, "pods", "/api/v1/pods", "v1", "Pod"},
                                               {ObjectKind::kNode, "nodes", "/api/v1/nodes", "v1", "Node"}};

/// A pod has to be there before it changes or goes, and comes only when it is not there.
void follow(const std::vector<WatchEvent>& events, std::map<std::string, std::uint64_t>& pods) {
  for (const WatchEvent& event : events) {
    const auto* const pod = event.get<Pod>();
    if (pod == nullptr) continue;
    const std::string name = (pod->after != nullptr ? pod->after : pod->before)->object->full_name();
    require(pods.contains(name) == (pod->before != nullptr));
    if (pod->after == nullptr) {
      pods.erase(name);
    } else {
      pods[name] = pod->after->meta.resource_version;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(read_api_status(text));
  static_cast<void>(read_binding_state(text));
  VirtualClock clock(1'000'000);
  ScriptedHttp http(clock);
  NoLog log;
  EventQueue events([] {});
  std::map<std::string, std::uint64_t> pods;
  const Informers informers({http, http, clock, events, log}, kWatched, {}, [&](const StoreContents& contents) {
    for (const StoredPodPtr& pod : contents.of<Pod>()) pods[pod->object->full_name()] = pod->meta.resource_version;
  });
  http.advance_us(0);
  const std::size_t piece = size == 0 ? 1 : 1 + data[0] % 64;
  for (int round = 0; round < 3; ++round) {
    const auto open = http.streams;
    for (const auto& [id, stream] : open) {
      bool goes_on = true;
      for (std::size_t at = 0; at < text.size() && goes_on; at += piece)
        goes_on = stream.reader->on_bytes(text.substr(at, piece));
      http.streams.erase(id);
      HttpResponse end;
      end.status = round == 1 ? 422 : 200;
      end.body = text;
      stream.reader->on_end(std::move(end));
    }
    while (!http.calls.empty() && round < 2) http.answer(round == 0 ? 200 : 500, std::string(text));
    http.advance_us(5'000'000);
    follow(events.take(), pods);
  }
  return 0;
}
