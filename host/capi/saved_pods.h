// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pods of a saved snapshot as columns. Most pods of a cluster differ from another one in few fields: name, uid,
// labels, node, priority and times are columns, and all else is a template, which is a Pod as JSON and is decoded once.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/capi/saved_bytes.h"
#include "host/capi/saved_columns.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod.h"
#include "host/objects/work_arena.h"

namespace berth::capi {

/// Takes pods in the order in which a cache is to get them again.
class PodColumnsOut {
 public:
  PodColumnsOut();
  ~PodColumnsOut();
  PodColumnsOut(const PodColumnsOut&) = delete;
  PodColumnsOut& operator=(const PodColumnsOut&) = delete;

  /// @param pod  outlives this
  /// @param node_name  where it stands; outlives this
  void add(const Pod& pod, std::string_view node_name, bool is_assumed);
  /// Each a Pod as JSON.
  const std::deque<std::string>& templates() const;
  void write(BytesOut& out) const;

 private:
  struct Columns;
  std::unique_ptr<Columns> columns_;
};

/// What PodColumnsOut wrote. Refers to the bytes that it was read from.
class PodColumns {
 public:
  // Bits of a pod's flags:
  static constexpr std::uint8_t kAssumed = 1;
  static constexpr std::uint8_t kHasNoNodeName = 2;  ///< an assumed pod whose object names no node

  PodColumns() = default;
  /// @throws ApiError BERTH_E_INPUT: damaged
  explicit PodColumns(BytesIn& in);

  std::size_t size() const { return template_of_.size(); }
  bool is_assumed(std::size_t pod) const { return (flags_[pod] & kAssumed) != 0; }
  /// Of the node where the pod stands.
  std::string_view node_name(std::size_t pod) const { return nodes_[node_of_[pod]]; }
  /// Whether a pod stands on the node of another one.
  bool is_on_node_of(std::size_t pod, std::size_t other) const { return node_of_[pod] == node_of_[other]; }

 private:
  friend class PodsMaking;
  void fill(std::size_t i, std::span<const LabelMap> labels, Pod& pod) const;

  TextsIn nodes_;
  TextsIn labels_;  ///< LabelMap::bytes() of each
  std::vector<std::uint32_t> template_of_;
  std::vector<std::uint32_t> labels_of_;
  std::vector<std::uint32_t> node_of_;
  std::string_view flags_;
  std::vector<std::int32_t> priorities_;
  std::vector<std::int64_t> creation_times_us_;
  std::vector<std::int64_t> start_times_us_;
  TextsIn names_;
  TextsIn uids_;  ///< empty: the object carries none
};

/// Makes the pods of columns, in threads that come to help.
class PodsMaking {
 public:
  /// @param columns  must outlive this, as `pods` must
  /// @param pods  [out] empty before
  PodsMaking(const PodColumns& columns, std::vector<PodPtr>& pods) : columns_(columns), pods_(pods) {}
  /// @param templates  as decoded @throws ApiError BERTH_E_INPUT: damaged, as make() does
  void begin(std::vector<PodPtr> templates, ObjectPools& pools, WorkArena& arena);
  /// Makes pods until each is made, or being made by another thread. Does nothing before begin() has returned.
  void make();

 private:
  const PodColumns& columns_;
  std::vector<PodPtr>& pods_;
  std::vector<PodPtr> templates_;
  std::vector<LabelMap> labels_;  ///< [PodColumns::labels_]
  std::atomic<bool> has_begun_ = false;
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace berth::capi
