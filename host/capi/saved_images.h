// SPDX-License-Identifier: Apache-2.0
#pragma once

// The images of the nodes of a saved snapshot, each described once: they are most of what a Node says.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "host/capi/saved_bytes.h"
#include "host/capi/saved_columns.h"
#include "host/objects/node.h"

namespace berth::capi {

class NodeImagesOut {
 public:
  /// @param node  outlives this
  void add(const Node& node);
  void write(BytesOut& out) const;

 private:
  std::deque<std::string> keys_;  ///< of images; a text keeps its address
  NumberedTexts image_of_key_;
  std::vector<std::int64_t> sizes_bytes_;   ///< [image]
  std::vector<std::uint32_t> name_counts_;  ///< [image]
  TextsOut names_;
  std::vector<std::uint32_t> image_counts_;  ///< [node]
  std::vector<std::uint32_t> images_;        ///< of the nodes, one behind the other
};

/// What NodeImagesOut wrote.
class NodeImagesIn {
 public:
  NodeImagesIn() = default;
  /// @throws ApiError BERTH_E_INPUT: damaged
  explicit NodeImagesIn(BytesIn& in);

  std::size_t node_count() const { return begin_.size() - 1; }
  std::vector<NodeImage> of(std::size_t node) const;

 private:
  std::vector<NodeImage> distinct_;
  std::vector<std::size_t> begin_ = {0};  ///< [nodes + 1] in images_
  std::vector<std::uint32_t> images_;
};

}  // namespace berth::capi
