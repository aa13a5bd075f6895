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

std::vector<std::uint8_t> compile_image_locality(const PodSpec& spec, const Snapshot& snapshot,
                                                 bool sum_image_volumes) {
  std::vector<std::int64_t> sums;
  const auto add = [&](const std::string& name) {
    const ImageColumn* image = snapshot.image(normalized_image_name(name));
    if (image == nullptr) return;
    sums.resize(static_cast<std::size_t>(snapshot.slot_count()));
    const std::int64_t bytes = ImageLocality::scaled_bytes(
        image->size_bytes, static_cast<std::int64_t>(image->nodes.size()), snapshot.node_count());
    for (const std::int32_t node : image->nodes) {
      std::int64_t& sum = sums[static_cast<std::size_t>(node)];
      sum = add_wrapping(sum, bytes);
    }
  };
  for (const Container& container : spec.init_containers) add(container.image);
  for (const Container& container : spec.containers) add(container.image);
  if (sum_image_volumes)
    for (const std::string& image : spec.image_volumes) add(image);

  const auto container_count = static_cast<std::int64_t>(spec.containers.size() + spec.init_containers.size());
  std::vector<std::uint8_t> scores;
  bool any = false;
  for (const std::int64_t sum : sums) {
    scores.push_back(static_cast<std::uint8_t>(ImageLocality::score(sum, container_count)));
    any = any || scores.back() != 0;
  }
  if (!any) scores.clear();
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
