// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_columns.h"

namespace berth::test {

/// A shape of berth.h, with what it refers to.
class GivenShape {
 public:
  GivenShape(EmbeddingCalls& calls, const ShapeQuestion& question) : text_(question.node.dump()) {
    for (const nlohmann::json& pod : question.pods) pods_.push_back(calls.pod(pod));
    pod_pointers_ = pointers(pods_);
    for (const std::string& key : question.startup_taints) taints_.push_back(key.c_str());
    for (const auto& [resource, amount] : question.caps) caps_.push_back({resource.c_str(), amount});
    if (question.name.empty()) {
      shape_.node = text_.data();
      shape_.node_size = text_.size();
    } else {
      shape_.copy_of = calls.node_number(question.name);
      shape_.flags = question.with_pods_of_node ? std::uint32_t{BERTH_SHAPE_WITH_PODS_OF_NODE} : 0U;
    }
    shape_.max_nodes = question.nodes_max;
    shape_.startup_taints = taints_.data();
    shape_.startup_taint_count = taints_.size();
    shape_.pods = pod_pointers_.data();
    shape_.pod_count = pod_pointers_.size();
    shape_.caps = caps_.data();
    shape_.cap_count = caps_.size();
    shape_.price = question.price;
  }
  GivenShape(const GivenShape&) = delete;
  GivenShape& operator=(const GivenShape&) = delete;

  const berth_shape* get() const { return &shape_; }

 private:
  std::string text_;
  std::vector<OwnedPod> pods_;
  std::vector<const berth_pod*> pod_pointers_;
  std::vector<const char*> taints_;
  std::vector<berth_amount> caps_;
  berth_shape shape_ = BERTH_SHAPE_INIT;
};

}  // namespace berth::test
