// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images and the nodes that have them: docs/behaviour/scheduler-core.md 2.3.

#include <cstdint>
#include <map>
#include <string>

#include "host/cluster/cache.h"
#include "host/cluster/undo_steps.h"

namespace berth {

/// A name counts once per node. Its size is the first one reported while any node has it.
class ImageTable {
 public:
  using States = std::map<std::string, ImageState, std::less<>>;

  /// @param undo  null: the change is for good
  void add(const Node& node, UndoSteps* undo = nullptr);
  /// Takes back exactly what add() of an equal image list did.
  void drop(const Node& node, UndoSteps* undo = nullptr);
  /// Whether drop() and add() of the node would change a size: no other node has the image, and the size that counts
  /// came from one that had it. Reads the node's images only when there is such an image somewhere.
  bool would_resize(const Node& node) const;
  const States& states() const { return states_; }
  std::uint64_t memory_bytes() const;

 private:
  static bool may_be_resized(const ImageState& state) { return state.node_count == 1 && state.sizes_differ; }

  class Touched;

  States states_;
  std::int64_t resizable_count_ = 0;  ///< images that may_be_resized()
};

}  // namespace berth
