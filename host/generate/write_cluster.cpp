// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "host/generate/generate.h"
#include "host/generate/output_file.h"
#include "host/objects/json_out.h"

namespace berth {
namespace {

bool write_objects(const ClusterObjects& objects, std::FILE* file) {
  ObjectListWriter writer(file);
  for (const Namespace& ns : objects.namespaces) writer.write(ns);
  for (const PriorityClass& priority_class : objects.priority_classes) writer.write(priority_class);
  for (const Service& service : objects.services) writer.write(service);
  for (const Workload& workload : objects.workloads) writer.write(workload);
  const StorageObjects& storage = objects.storage;
  for (const StorageClass& object : storage.classes) writer.write(object);
  for (const PersistentVolume& volume : storage.volumes) writer.write(volume);
  for (const VolumeClaim& claim : storage.claims) writer.write(claim);
  for (const CsiNode& node : storage.csi_nodes) writer.write(node);
  for (const CsiDriver& driver : storage.csi_drivers) writer.write(driver);
  for (const CsiStorageCapacity& capacity : storage.capacities) writer.write(capacity);
  for (const VolumeAttachment& attachment : storage.attachments) writer.write(attachment);
  for (const NodePtr& node : objects.nodes) writer.write(*node);
  for (const PodPtr& pod : objects.pods) writer.write(*pod);
  return writer.finish();
}

}  // namespace

void write_cluster(const ClusterObjects& objects, const std::string& path) {
  write_output_file(path, [&](std::FILE* file) { return write_objects(objects, file); });
}

void write_text(const std::string& text, const std::string& path) {
  write_output_file(path, [&](std::FILE* file) {
    return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  });
}

}  // namespace berth
