// SPDX-License-Identifier: Apache-2.0
#include "plugins/image_locality/compile.h"

#include <algorithm>

namespace berth {

std::string normalized_image_name(const std::string& name) {
  const auto colon = name.rfind(':');
  const auto slash = name.rfind('/');
  const auto position = [](std::size_t at) { return at == std::string::npos ? -1 : static_cast<std::int64_t>(at); };
  return position(colon) <= position(slash) ? name + ":latest" : name;
}

std::vector<std::string> counted_images(const PodSpec& spec, bool with_volumes) {
  std::vector<std::string> names;
  names.reserve(spec.init_containers.size() + spec.containers.size() + spec.image_volumes.size());
  for (const Container& container : spec.init_containers) names.push_back(normalized_image_name(container.image));
  for (const Container& container : spec.containers) names.push_back(normalized_image_name(container.image));
  if (with_volumes)
    for (const std::string& image : spec.image_volumes) names.push_back(normalized_image_name(image));
  return names;
}

namespace {

/// A pod with more images is taken as one whose scores differ.
constexpr std::size_t kImagesCompared = 4;

std::int64_t container_count(const PodSpec& spec) {
  return static_cast<std::int64_t>(spec.containers.size() + spec.init_containers.size());
}

/// The score of a node that has the images whose bits are set.
std::int64_t score_with(const std::vector<ImageSpread>& images, std::size_t bits, const PodSpec& spec) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const ImageSpread& image = images[i];
    if ((bits >> i & 1) != 0 && image.nodes_with_image > 0)
      sum = add_wrapping(sum, ImageLocality::scaled_bytes(image.size_bytes, image.nodes_with_image, image.all_nodes));
  }
  return ImageLocality::score(sum, container_count(spec));
}

}  // namespace

ImageSpread image_spread(const ImageColumn* image, std::int64_t all_nodes) {
  return {image == nullptr ? 0 : image->size_bytes, image == nullptr ? 0 : image->node_count(), all_nodes};
}

std::vector<ImageSpread> image_spreads(const PodSpec& spec, bool with_volumes, const Snapshot& snapshot) {
  std::vector<ImageSpread> spreads;
  for (const std::string& name : counted_images(spec, with_volumes))
    spreads.push_back(image_spread(snapshot.image(name), snapshot.node_count_of_cluster()));
  return spreads;
}

bool image_scores_may_differ(const PodSpec& spec, const std::vector<ImageSpread>& before,
                             const std::vector<ImageSpread>& after) {
  if (before.size() > kImagesCompared) return true;
  for (std::size_t bits = 1; bits < std::size_t{1} << before.size(); ++bits)
    if (score_with(before, bits, spec) != score_with(after, bits, spec)) return true;
  return false;
}

namespace {

/// What the image adds to a node that has it.
std::int64_t scaled_bytes(const ImageColumn& image, const Snapshot& snapshot) {
  return ImageLocality::scaled_bytes(image.size_bytes, image.node_count(), snapshot.node_count_of_cluster());
}

}  // namespace

std::int64_t image_locality_on(std::int32_t node, const PodSpec& spec, const Snapshot& snapshot,
                               bool sum_image_volumes) {
  std::int64_t sum = 0;
  for (const std::string& name : counted_images(spec, sum_image_volumes)) {
    const ImageColumn* image = snapshot.image(name);
    if (image == nullptr || !std::binary_search(image->nodes.begin(), image->nodes.end(), node)) continue;
    sum = add_wrapping(sum, scaled_bytes(*image, snapshot));
  }
  return ImageLocality::score(sum, container_count(spec));
}

std::vector<std::uint8_t> compile_image_locality(const PodSpec& spec, const Snapshot& snapshot,
                                                 bool sum_image_volumes) {
  std::vector<const ImageColumn*> images;
  for (const std::string& name : counted_images(spec, sum_image_volumes))
    if (const ImageColumn* image = snapshot.image(name)) images.push_back(image);
  const std::int64_t containers = container_count(spec);
  std::vector<std::uint8_t> scores;
  const auto write = [&](std::int32_t node, std::int64_t score) {
    if (scores.empty()) scores.resize(static_cast<std::size_t>(snapshot.slot_count()));
    scores[static_cast<std::size_t>(node)] = static_cast<std::uint8_t>(score);
  };
  // A node without any of them has 0.
  if (images.size() == 1) {
    const std::int64_t score = ImageLocality::score(scaled_bytes(*images.front(), snapshot), containers);
    if (score == 0) return scores;
    for (const std::int32_t node : images.front()->nodes) write(node, score);
    return scores;
  }
  std::vector<std::int64_t> sums(images.empty() ? 0 : static_cast<std::size_t>(snapshot.slot_count()));
  for (const ImageColumn* image : images) {
    const std::int64_t bytes = scaled_bytes(*image, snapshot);
    for (const std::int32_t node : image->nodes) {
      std::int64_t& sum = sums[static_cast<std::size_t>(node)];
      sum = add_wrapping(sum, bytes);
    }
  }
  for (std::size_t node = 0; node < sums.size(); ++node)
    if (const std::int64_t score = sums[node] == 0 ? 0 : ImageLocality::score(sums[node], containers); score != 0)
      write(static_cast<std::int32_t>(node), score);
  return scores;
}

bool CompiledImageLocality::scores_follow_images(const PodSpec& spec, const Snapshot& snapshot) const {
  const auto is_on_a_node = [&](const std::string& name) {
    return snapshot.image(normalized_image_name(name)) != nullptr;
  };
  const auto has_image_on_a_node = [&](const Container& container) { return is_on_a_node(container.image); };
  return !score_of.empty() || std::any_of(spec.containers.begin(), spec.containers.end(), has_image_on_a_node) ||
         std::any_of(spec.init_containers.begin(), spec.init_containers.end(), has_image_on_a_node) ||
         std::any_of(spec.image_volumes.begin(), spec.image_volumes.end(), is_on_a_node);
}

CompiledImageLocality::Options CompiledImageLocality::compile_options(const Profile& /*profile*/,
                                                                      const FeatureGates& gates,
                                                                      Snapshot& /*snapshot*/) {
  return {gates.release() != Release::k1_35};
}

}  // namespace berth
