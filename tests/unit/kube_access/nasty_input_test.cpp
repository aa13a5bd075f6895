// SPDX-License-Identifier: Apache-2.0
// The fuzz target's function on deliberately awkward inputs; libFuzzer searches for more (tests/fuzz).

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "host/kube/access/surroundings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace berth {
namespace {

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::vector<std::string> seeds() {
  const std::string folder = BERTH_SOURCE_DIR "/tests/fuzz/corpus/kube/";
  return {read_small_file(folder + "kubeconfig.yaml"), read_small_file(folder + "credential.json")};
}

TEST(AccessNastyInput, OddTextsAreRefused) {
  for (const std::string& text : std::vector<std::string>{
           "", "{", "[]", "null", "0", "\"\"", "---", "- - -", std::string("\0", 1), "\xFF\xFE", "a: &a [*a]",
           std::string(100'000, '['), std::string(100'000, '{'), "clusters: {}\ncurrent-context: x\n",
           "contexts: [null, 1, {name: 2}, {name: x, context: []}]\ncurrent-context: x\n",
           "contexts: [{name: x, context: null}]\ncurrent-context: x\n",
           "contexts: [{name: x}]\nclusters: [{cluster: 3}]\ncurrent-context: x\n",
           "contexts: [{name: x}]\nclusters: [{}]\nusers: [{}]\ncurrent-context: x\n",
           "current-context: " + std::string(2'000'000, 'x')}) {
    run(text);
  }
}

TEST(AccessNastyInput, PrefixesAreReadOrRefused) {
  for (const std::string& seed : seeds()) {
    for (std::size_t length = 0; length <= seed.size(); ++length) run(seed.substr(0, length));
  }
}

TEST(AccessNastyInput, ChangedBytesAreReadOrRefused) {
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
