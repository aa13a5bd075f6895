// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/decode.h"
#include "host/objects/json_value.h"
#include "host/objects/object_pools.h"

namespace berth {

/// metadata of any object.
struct DecodedMeta {
  std::string name;
  std::string namespace_;  ///< as read: "" when absent
  std::string uid;
  LabelMap labels;
  OwnersPtr owners;
  std::int64_t creation_time_us = 0;
  std::optional<std::int64_t> run_duration_us;                   ///< annotation kRunDurationAnnotation
  std::vector<std::pair<std::string, std::string>> annotations;  ///< PodRare::annotations
  std::optional<std::string> safe_volumes;                       ///< annotation kSafeVolumesAnnotation
  bool terminating = false;
};

/// Decodes parts of pods, and keeps what was decoded lately, because the next pod is mostly like the last ones.
/// One thread at a time.
class PodDecoder {
 public:
  explicit PodDecoder(ObjectPools& pools, DeclaredPathsPtr declared = nullptr)
      : pools_(pools), declared_(std::move(declared)) {}

  DecodedMeta read_metadata(const JsonValue& metadata, bool is_namespace_object = false);
  LabelMap read_labels(const JsonValue& value);
  DecodedPod read_pod(const JsonValue& object);
  PodTemplate read_template(const JsonValue& value);

 private:
  /// What a pod's spec says of this pod alone, or of its admission.
  struct PodOwn {
    std::string_view node_name;
    std::string_view priority_class_name;
    std::optional<std::int32_t> priority;
    std::optional<PreemptionPolicy> preemption_policy;
    PodRare rare;
    bool has_rare = false;
  };
  struct RecentOwners {
    std::string content;
    OwnersPtr owners;
  };
  static constexpr std::size_t kRecentCount = 256;
  static constexpr std::size_t kRecentSpecBytes = std::size_t{16} << 20;

  SpecPtr read_spec(const JsonValue& spec, PodOwn& own);
  SpecPtr shared_spec(const JsonValue& spec);
  OwnersPtr read_owners(const JsonValue& value);
  static void keep_annotations(DecodedMeta&& meta, const JsonValue& spec, PodOwn& own);
  void keep_declared(const JsonValue& object, PodOwn& own) const;
  static bool read_own_field(std::string_view key, const JsonValue& value, PodOwn& own);
  static void read_status(const JsonValue& status, Pod& pod, PodOwn& own);

  ObjectPools& pools_;
  DeclaredPathsPtr declared_;
  std::array<LabelMap, kRecentCount> recent_labels_;
  std::array<RecentOwners, kRecentCount> recent_owners_;
  struct BytesHash {
    std::size_t operator()(const std::string& bytes) const { return hash_bytes(bytes); }
  };
  tsl::robin_map<std::string, SpecPtr, BytesHash> recent_specs_;  ///< by the JSON that the spec was decoded from
  std::size_t recent_spec_bytes_ = 0;
  std::vector<LabelMap::Entry> entries_;
  std::string scratch_;
};

}  // namespace berth
