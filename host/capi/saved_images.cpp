// SPDX-License-Identifier: Apache-2.0
#include "host/capi/saved_images.h"

#include <utility>

#include "host/objects/utf8.h"

namespace berth::capi {
namespace {

/// Equal for equal images.
std::string key_of(const NodeImage& image) {
  std::string key = std::to_string(image.size_bytes);
  for (const std::string& name : image.names) {
    key += ' ' + std::to_string(name.size()) + ' ';
    key += name;
  }
  return key;
}

}  // namespace

void NodeImagesOut::add(const Node& node) {
  image_counts_.push_back(static_cast<std::uint32_t>(node.images.size()));
  for (const NodeImage& image : node.images) {
    const std::string key = key_of(image);
    if (!image_of_key_.contains(key)) {
      image_of_key_.number_of(keys_.emplace_back(key));
      sizes_bytes_.push_back(image.size_bytes);
      name_counts_.push_back(static_cast<std::uint32_t>(image.names.size()));
      for (const std::string& name : image.names) names_.add(name);
    }
    images_.push_back(image_of_key_.number_of(key));
  }
}

void NodeImagesOut::write(BytesOut& out) const {
  out.column(sizes_bytes_);
  out.column(name_counts_);
  names_.write(out);
  out.column(image_counts_);
  out.column(images_);
}

NodeImagesIn::NodeImagesIn(BytesIn& in) {
  const std::vector<std::int64_t> sizes_bytes = in.column<std::int64_t>();
  const std::vector<std::uint32_t> name_counts = in.column<std::uint32_t>();
  const TextsIn names(in);
  if (name_counts.size() != sizes_bytes.size()) BytesIn::throw_damaged();
  std::size_t next = 0;
  for (std::size_t i = 0; i < sizes_bytes.size(); ++i) {
    if (name_counts[i] > names.size() - next) BytesIn::throw_damaged();
    std::vector<std::string> of_image;
    for (const std::size_t end = next + name_counts[i]; next < end; ++next) {
      if (!is_utf8(names[next])) BytesIn::throw_damaged();
      of_image.emplace_back(names[next]);
    }
    distinct_.push_back({std::move(of_image), sizes_bytes[i]});
  }
  const std::vector<std::uint32_t> image_counts = in.column<std::uint32_t>();
  images_ = in.column<std::uint32_t>();
  std::size_t begin = 0;
  for (const std::uint32_t count : image_counts) begin_.push_back(begin += count);
  if (next != names.size() || begin != images_.size()) BytesIn::throw_damaged();
  for (const std::uint32_t image : images_)
    if (image >= distinct_.size()) BytesIn::throw_damaged();
}

std::vector<NodeImage> NodeImagesIn::of(std::size_t node) const {
  std::vector<NodeImage> images;
  images.reserve(begin_[node + 1] - begin_[node]);
  for (std::size_t i = begin_[node]; i < begin_[node + 1]; ++i) images.push_back(distinct_[images_[i]]);
  return images;
}

}  // namespace berth::capi
