// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects of the model as Kubernetes JSON, so that loading the text gives equal objects again. What the model does not
// keep (images' pull policies, other annotations, conditions, ...) is not written.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "host/objects/cluster_objects.h"

namespace berth {

/// Appends one JSON object, without line breaks.
void append_json(std::string& out, const Node& node);
void append_json(std::string& out, const Pod& pod);
void append_json(std::string& out, const Namespace& object);
void append_json(std::string& out, const PriorityClass& object);
void append_json(std::string& out, const Service& object);
void append_json(std::string& out, const RuntimeClass& object);
void append_json(std::string& out, const PodDisruptionBudget& object);
/// With 0 replicas, since pods that were made for it are written as pods; without owners.
/// @param object  a ReplicaSet, StatefulSet or ReplicationController
void append_json(std::string& out, const Workload& object);

void append_json(std::string& out, const PersistentVolume& volume);
void append_json(std::string& out, const VolumeClaim& claim);
void append_json(std::string& out, const StorageClass& object);
void append_json(std::string& out, const CsiNode& node);
void append_json(std::string& out, const CsiDriver& driver);
void append_json(std::string& out, const CsiStorageCapacity& capacity);
void append_json(std::string& out, const VolumeAttachment& attachment);

/// "NoSchedule", "PreferNoSchedule" or "NoExecute".
std::string_view effect_name(TaintEffect effect);

/// Microseconds since the epoch as RFC 3339 in UTC, with a fraction where there is one.
std::string format_time(std::int64_t time_us);

/// Writes objects as one `List`, an item a line. Memory is one buffer, whatever the number of objects.
class ObjectListWriter {
 public:
  /// @param file  not owned; stays open
  explicit ObjectListWriter(std::FILE* file);
  ObjectListWriter(const ObjectListWriter&) = delete;
  ObjectListWriter& operator=(const ObjectListWriter&) = delete;

  template <class T>
  void write(const T& object) {
    buffer_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    append_json(buffer_, object);
    if (buffer_.size() >= kFlushBytes) flush();
  }

  /// Ends the list and flushes. Call it once, as the last. @return false when any byte could not be written.
  bool finish();

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
  void flush();

  std::FILE* file_;
  std::string buffer_;
  bool is_first_ = true;
  bool failed_ = false;
};

}  // namespace berth
