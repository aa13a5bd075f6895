// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images and the nodes that have them: docs/behaviour/scheduler-core.md 2.3.

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "host/cluster/cache.h"
#include "host/cluster/text_hash.h"
#include "host/cluster/undo_steps.h"

namespace berth {

/// A name counts once per node. Its size is the first one reported while any node has it.
class ImageTable {
 public:
  using States = std::map<std::string, ImageState, std::less<>>;

  ImageTable() = default;
  ImageTable(const ImageTable& other);
  ImageTable& operator=(const ImageTable&) = delete;

  /// @param undo  null: the change is for good
  void add(const Node& node, UndoSteps* undo = nullptr);
  /// Takes back exactly what add() of an equal image list did.
  void drop(const Node& node, UndoSteps* undo = nullptr);
  /// Of an image that some node has: another size counts, which another node reported.
  void set_size(std::string_view name, std::int64_t size_bytes);
  /// Whether drop() and add() of the node would change a size: no other node has the image, and the size that counts
  /// came from one that had it. Reads the node's images only when there is such an image somewhere.
  bool would_resize(const Node& node) const;
  const States& states() const { return states_; }
  std::uint64_t memory_bytes() const;

 private:
  static bool may_be_resized(const ImageState& state) { return state.node_count == 1 && state.sizes_differ; }

  class Touched;
  /// Where the state of a name is, so that the many names of a node need no walk down the map.
  struct Known {
    States::iterator at;
    std::uint64_t read_at = 0;  ///< reads_ when it was read last
  };
  using ByName = tsl::robin_map<std::string_view, Known, NameHash>;
  ByName::iterator index(States::iterator at) { return by_name_.emplace(at->first, Known{at, reads_}).first; }
  States::node_type extract(States::iterator at);

  States states_;
  ByName by_name_;                    ///< keys are those of `states_`
  std::uint64_t reads_ = 0;           ///< nodes that were added or dropped
  std::int64_t resizable_count_ = 0;  ///< images that may_be_resized()
};

}  // namespace berth
