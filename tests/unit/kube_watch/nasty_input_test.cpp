// SPDX-License-Identifier: Apache-2.0
// The fuzz target's function on deliberately awkward inputs; libFuzzer searches for more (tests/fuzz).

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace berth {
namespace {

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const char* name : {"stream.txt", "list.json"}) {
    std::ifstream file(std::string(BERTH_SOURCE_DIR "/tests/fuzz/corpus/watch/") + name);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    EXPECT_FALSE(texts.back().empty()) << name;
  }
  return texts;
}

TEST(WatchNastyInput, OddTextsAreNoEvents) {
  const std::vector<std::string> lines = {
      "",
      "{}",
      "null",
      "[]",
      R"({"type":"ADDED"})",
      std::string(1, '\0'),
      "\xFF\xFE",
      std::string(100'000, '['),
      std::string(100'000, '{'),
      R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"-1"}}})",
      R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"9999999999999999999999"}}})",
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":[]}}})"};
  for (const std::string& line : lines) {
    run(line);
    run(line + "\n");
  }
}

TEST(WatchNastyInput, PrefixesAreReadOrRefused) {
  for (const std::string& seed : seeds())
    for (std::size_t length = 0; length <= seed.size(); ++length) run(seed.substr(0, length));
}

TEST(WatchNastyInput, ChangedBytesAreReadOrRefused) {
  std::mt19937 dice(1);
  for (const std::string& seed : seeds()) {
    for (std::size_t at = 0; at < seed.size(); ++at) {
      std::string changed = seed;
      changed[at] = "\0\"{}[]:,-\n*&!#\x80"[dice() % 16];
      run(changed);
      changed.erase(at, dice() % 20);
      run(changed);
    }
  }
}

}  // namespace
}  // namespace berth
