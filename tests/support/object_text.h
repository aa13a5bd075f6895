// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clusters in a few words, for tests: one line a node or pod. docs/testing.md lists every word.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth::test {

/// A line of a case that means nothing; the message says which word.
class TextError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The words of a line; blanks separate, double quotes keep blanks together and are dropped; \" is a
/// quote itself.
std::vector<std::string> split_words(std::string_view line);

/// `node NAME[*COUNT] words...`: COUNT copies are named NAME0, NAME1, ...
void add_nodes(const std::vector<std::string>& words, ClusterObjects& objects);
/// `pod NAME[*COUNT] words...`; "on=NODE" makes it a running one.
void add_pods(const std::vector<std::string>& words, ClusterObjects& objects);
/// `config words...`: changes every profile of `config`. "release=" and "gates=" take back what stood before them.
void apply_config(const std::vector<std::string>& words, SchedulerConfig& config);
/// `engine words...`
void apply_engine(const std::vector<std::string>& words, EngineConfig& engine);

}  // namespace berth::test
