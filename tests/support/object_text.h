// SPDX-License-Identifier: Apache-2.0
#pragma once

// Short text for clusters in tests: one line per object. docs/testing.md lists every word.

#include <string>
#include <vector>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "tests/support/text_words.h"

namespace berth::test {

/// `node NAME[*COUNT] words...`: COUNT copies are named NAME0, NAME1, ...
void add_nodes(const std::vector<std::string>& words, ClusterObjects& objects);
/// `namespace NAME words...`
void add_namespace(const std::vector<std::string>& words, ClusterObjects& objects);
/// `service NAME words...`
void add_service(const std::vector<std::string>& words, ClusterObjects& objects);
/// `workload KIND/NAME words...`
void add_workload(const std::vector<std::string>& words, ClusterObjects& objects);
/// `pod NAME[*COUNT] words...`; "on=NODE" makes it a running one.
std::vector<PodPtr> make_pods(const std::vector<std::string>& words);
/// `config words...`: changes every profile of `config`. "release=" and "gates=" reset the words before them.
void apply_config(const std::vector<std::string>& words, SchedulerConfig& config);
/// `engine words...`
void apply_engine(const std::vector<std::string>& words, EngineConfig& engine);

}  // namespace berth::test
