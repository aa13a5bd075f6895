// SPDX-License-Identifier: Apache-2.0
#include "host/cli/version_command.h"

#include <fmt/core.h>
#include <simdjson.h>
#include <tbb/version.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "host/cli/document_writer.h"
#include "host/cli/output.h"
#include "host/cli/table.h"

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

namespace berth {
namespace {

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

std::string_view backends() {
#if defined(BERTH_WITH_CUDA)
  return "reference, cpu, cuda";
#else
  return "reference, cpu";
#endif
}

using Fact = std::pair<std::string_view, std::string>;

std::vector<Fact> build_facts() {
  return {{"version", std::string(program_version())},
          {"commit", BERTH_COMMIT},
          {"build", BERTH_BUILD_TYPE},
          {"compiler", compiler()},
          {"architecture", std::string(architecture())},
          {"backends", std::string(backends())},
          {"kubernetes", "1.35 (default), 1.36 with --emulate-version"},
          {"simdjson", fmt::format("{}.{}.{}", simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
                                   simdjson::SIMDJSON_VERSION_REVISION)},
          {"oneTBB", fmt::format("{}.{}", TBB_VERSION_MAJOR, TBB_VERSION_MINOR)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
}

}  // namespace

std::string_view program_version() { return BERTH_VERSION; }

ExitCode run(const VersionCommand& command) {
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    const auto writer = json_writer(output, 1);
    writer->begin_object();
    for (const auto& [name, value] : build_facts()) writer->string_field(name, value);
    writer->end_object();
    writer->end_document();
  } else {
    Table table({{""}, {""}});
    for (const auto& [name, value] : build_facts()) table.add_row({std::string(name), value});
    output.write("Berth\n" + table.render(Terminal::of(STDOUT_FILENO), 2));
  }
  output.flush();
  return ExitCode::kDone;
}

}  // namespace berth
