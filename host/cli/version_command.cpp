// SPDX-License-Identifier: Apache-2.0
#include "host/cli/version_command.h"

#include <fmt/core.h>
#include <mimalloc.h>
#include <simdjson.h>
#include <tbb/version.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "host/report/document_formats.h"
#include "host/report/figures.h"
#include "host/report/output.h"
#include "host/report/table.h"
#include "host/scheduler/backend_factory.h"

// Given by the build; plain values keep the file compiling alone.
#ifndef BERTH_VERSION
#define BERTH_VERSION "0.0.0"
#endif
#ifndef BERTH_COMMIT
#define BERTH_COMMIT "unknown"
#endif
#ifndef BERTH_BUILD_TYPE
#define BERTH_BUILD_TYPE "unknown"
#endif
#ifndef BERTH_HAS_MIMALLOC
#define BERTH_HAS_MIMALLOC 0
#endif

namespace berth {
namespace {

constexpr int kDocumentSpreadDepth = 1;

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

std::string_view architecture() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

using Fact = std::pair<std::string_view, std::string>;

std::vector<Fact> build_facts(bool with_cuda) {
  return {{"version", std::string(program_version())},
          {"commit", std::string(program_commit())},
          {"build", BERTH_BUILD_TYPE},
          {"compiler", compiler()},
          {"architecture", std::string(architecture())},
          {"backends", with_cuda ? "reference, cpu, cuda" : "reference, cpu"},
          {"kubernetes", "1.35 (default), 1.36 with --emulate-version"},
          {"simdjson", fmt::format("{}.{}.{}", simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
                                   simdjson::SIMDJSON_VERSION_REVISION)},
          {"oneTBB", fmt::format("{}.{}", TBB_VERSION_MAJOR, TBB_VERSION_MINOR)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"mimalloc", BERTH_HAS_MIMALLOC != 0 ? fmt::format("{}.{}.{}", MI_MALLOC_VERSION / 100,
                                                             MI_MALLOC_VERSION / 10 % 10, MI_MALLOC_VERSION % 10)
                                               : "not in this build"}};
}

// 90 -> "9.0"
std::string compute_capability(int sm) { return fmt::format("{}.{}", sm / 10, sm % 10); }

void add_cuda_rows(const CudaSupport& cuda, Table& table) {
  table.add_row(
      {"cuda", cuda.built ? fmt::format("{}, code for {}", cuda.version, cuda.architectures) : "not in this build"});
  if (!cuda.problem.empty()) table.add_row({"devices", "none: " + cuda.problem});
  for (const DeviceFacts& device : cuda.devices) {
    table.add_row({device.ordinal == 0 ? "devices" : "",
                   fmt::format("{}: {}, compute capability {}, {}", device.ordinal, device.name,
                               compute_capability(device.sm), byte_size(device.memory_bytes_total))});
  }
}

void write_cuda(const CudaSupport& cuda, DocumentWriter& writer) {
  writer.key("cuda");
  writer.begin_object();
  writer.key("built");
  writer.boolean(cuda.built);
  if (cuda.built) {
    writer.string_field("version", cuda.version);
    writer.string_field("architectures", cuda.architectures);
    writer.key("devices");
    writer.begin_array();
    for (const DeviceFacts& device : cuda.devices) {
      writer.begin_object();
      writer.integer_field("ordinal", device.ordinal);
      writer.string_field("name", device.name);
      writer.string_field("computeCapability", compute_capability(device.sm));
      writer.key("memoryBytes");
      writer.unsigned_integer(device.memory_bytes_total);
      writer.end_object();
    }
    writer.end_array();
    if (!cuda.problem.empty()) writer.string_field("problem", cuda.problem);
  }
  writer.end_object();
}

}  // namespace

std::string_view program_commit() { return BERTH_COMMIT; }

std::string_view program_version() { return BERTH_VERSION; }

ExitCode run(const VersionCommand& command) {
  const CudaSupport cuda = cuda_support();
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    const auto writer = json_writer(output, kDocumentSpreadDepth);
    writer->begin_object();
    for (const auto& [name, value] : build_facts(cuda.built)) writer->string_field(name, value);
    write_cuda(cuda, *writer);
    writer->end_object();
    writer->end_document();
  } else {
    Table table({{""}, {""}});
    for (const auto& [name, value] : build_facts(cuda.built)) table.add_row({std::string(name), value});
    add_cuda_rows(cuda, table);
    output.write("Berth\n" + table.render(Terminal::of(STDOUT_FILENO), 2));
  }
  output.flush();
  return ExitCode::kDone;
}

}  // namespace berth
