// SPDX-License-Identifier: Apache-2.0
// A program that brings other versions of libraries that Berth uses: stubs of the same symbols, which end the program
// when they are called. Those of fmt and spdlog are exported, as a program that is linked with -rdynamic exports all of
// its own; those of simdjson are hidden, since libberth.so takes simdjson from a shared object (docs/embedding.md).

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "include/berth/berth.h"

namespace {

[[noreturn]] void end(const char* what) {
  std::fprintf(stderr, "libberth called the program's %s\n", what);
  std::abort();
}

}  // namespace

#define STUB(name, symbol) extern "C" [[gnu::used]] void name() __asm__(symbol)
STUB(stub_of_vformat,
     "_ZN3fmt2v97vformatENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_format_"
     "contextINS0_8appenderEcEEEE");
STUB(stub_of_vprint,
     "_ZN3fmt2v96vprintEP8_IO_FILENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_"
     "format_contextINS0_8appenderEcEEEE");
STUB(stub_of_logger, "_ZN6spdlog14default_loggerEv");
STUB(stub_of_registry, "_ZN6spdlog7details8registry8instanceEv");
void stub_of_vformat() { end("fmt::v9::vformat()"); }
void stub_of_vprint() { end("fmt::v9::vprint()"); }
void stub_of_logger() { end("spdlog::default_logger()"); }
void stub_of_registry() { end("spdlog::details::registry::instance()"); }
#undef STUB

#define STUB(name, symbol) extern "C" [[gnu::used, gnu::visibility("hidden")]] void name() __asm__(symbol)
STUB(stub_of_implementation, "_ZN8simdjson25get_active_implementationEv");
STUB(stub_of_to_chars, "_ZN8simdjson8internal8to_charsEPcPKcd");
void stub_of_implementation() { end("simdjson::get_active_implementation()"); }
void stub_of_to_chars() { end("simdjson::internal::to_chars()"); }
#undef STUB

#define CHECK(call)                                                                      \
  do {                                                                                   \
    const berth_status status = (call);                                                  \
    if (status != BERTH_OK) {                                                            \
      std::fprintf(stderr, "%s: %s %s\n", #call, berth_status_name(status), error.text); \
      return EXIT_FAILURE;                                                               \
    }                                                                                    \
  } while (false)

/// JSON, YAML, a message with numbers, and a snapshot: what the libraries are used for.
int main() {
  static const char kNodes[] =
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"allocatable":{"cpu":"1.5","pods":"3"}}})";
  static const char kYaml[] =
      "apiVersion: v1\nkind: Node\nmetadata: {name: b}\nstatus: {allocatable: {cpu: 1, pods: 3}}\n";
  static const char kPod[] =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c",)"
      R"("resources":{"requests":{"cpu":"7"}}}]}})";
  berth_error error = BERTH_ERROR_INIT;
  berth_engine* engine = nullptr;
  berth_cluster* cluster = nullptr;
  berth_cluster* again = nullptr;
  berth_snapshot* snapshot = nullptr;
  berth_pod* pod = nullptr;
  berth_result* result = nullptr;
  berth_str text = {nullptr, 0};
  CHECK(berth_engine_create(nullptr, &engine, &error));
  CHECK(berth_cluster_create(engine, &cluster, &error));
  CHECK(berth_cluster_upsert(cluster, kNodes, std::strlen(kNodes), &error));
  CHECK(berth_cluster_upsert(cluster, kYaml, std::strlen(kYaml), &error));
  CHECK(berth_pod_create(cluster, kPod, std::strlen(kPod), nullptr, &pod, &error));
  CHECK(berth_snapshot_create(cluster, &snapshot, &error));
  CHECK(berth_snapshot_explain(snapshot, pod, 0, &result, &error));
  CHECK(berth_result_json(result, &text, &error));
  if (std::strstr(text.data, "0/2 nodes are available: 2 Insufficient cpu") == nullptr) return EXIT_FAILURE;
  berth_result_free(&result);
  CHECK(berth_snapshot_write_memory(snapshot, &result, &error));
  CHECK(berth_result_bytes(result, &text, &error));
  CHECK(berth_snapshot_open_memory(engine, text.data, text.size, &again, nullptr, &error));
  berth_result_free(&result);
  berth_pod_free(&pod);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&again);
  berth_cluster_free(&cluster);
  berth_engine_free(&engine);
  return EXIT_SUCCESS;
}
