// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/cluster/snapshot.h"
#include "host/objects/pod.h"
#include "plugins/image_locality/rule.h"
#include "plugins/node_side.h"

namespace berth {

/// "app" -> "app:latest"; names with a tag or digest stay as they are: docs/behaviour/plugins-node.md 12.
std::string normalized_image_name(const std::string& name);

/// What the score of an image follows from.
struct ImageSpread {
  std::int64_t size_bytes = 0;
  std::int64_t nodes_with_image = 0;
  std::int64_t all_nodes = 0;
};

/// The images of a pod by their names on nodes, as often as they count. @param with_volumes  those of image volumes too
std::vector<std::string> counted_images(const PodSpec& spec, bool with_volumes);

/// @param image  Snapshot::image(); null: no node has it
ImageSpread image_spread(const ImageColumn* image, std::int64_t all_nodes);

/// [image of counted_images()]
std::vector<ImageSpread> image_spreads(const PodSpec& spec, bool with_volumes, const Snapshot& snapshot);

/// Whether a node that has some of the pod's images and keeps them may get another score when these spread differently.
/// @param before, after  of counted_images()
bool image_scores_may_differ(const PodSpec& spec, const std::vector<ImageSpread>& before,
                             const std::vector<ImageSpread>& after);

/// The score of every node, [node_count]; empty when it is 0 everywhere.
/// @param sum_image_volumes v1.36: images of image volumes are added to the sum
std::vector<std::uint8_t> compile_image_locality(const PodSpec& spec, const Snapshot& snapshot, bool sum_image_volumes);

/// The score of one node.
std::int64_t image_locality_on(std::int32_t node, const PodSpec& spec, const Snapshot& snapshot,
                               bool sum_image_volumes);

struct CompiledImageLocality : NodeSideDefaults {
  struct Options {
    bool sum_image_volumes = false;
  };
  static Options compile_options(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot);
  static CompiledImageLocality compile(const NodeSidePod& /*pod*/, const Options& /*options*/, Snapshot& /*snapshot*/) {
    return {};
  }
  void compute_scores(const PodSpec& spec, const Options& options, const Snapshot& snapshot) {
    score_of = compile_image_locality(spec, snapshot, options.sum_image_volumes);
  }
  std::int64_t score(const Snapshot& /*snapshot*/, std::int32_t node) const {
    return score_of.empty() ? 0 : score_of[static_cast<std::size_t>(node)];
  }
  std::int64_t score_now(const PodSpec& spec, const Options& options, const Snapshot& snapshot,
                         std::int32_t node) const {
    return image_locality_on(node, spec, snapshot, options.sum_image_volumes);
  }
  /// An image counts by the share of nodes that have it.
  bool scores_follow_images(const PodSpec& spec, const Snapshot& snapshot) const;
  std::uint64_t bytes() const { return score_of.size(); }

  std::vector<std::uint8_t> score_of;  ///< [node_count]; empty: 0 everywhere
};

}  // namespace berth
