// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "host/generate/generate.h"
#include "host/objects/errors.h"
#include "host/objects/json_out.h"

namespace berth {
namespace {

constexpr const char* kGzipMode = "wb6";

[[noreturn]] void fail(const std::string& path, int error) {
  throw InputError(
      InputProblem{path, "", "cannot be written: " + std::string(std::strerror(error != 0 ? error : EIO))});
}

ssize_t write_compressed(void* file, const char* bytes, std::size_t count) {
  return gzwrite(static_cast<gzFile>(file), bytes, static_cast<unsigned>(count));
}

int close_compressed(void* file) { return gzclose(static_cast<gzFile>(file)) == Z_OK ? 0 : -1; }

std::FILE* open_compressed(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), kGzipMode);
  if (file == nullptr) return nullptr;
  cookie_io_functions_t functions{};
  functions.write = write_compressed;
  functions.close = close_compressed;
  std::FILE* stream = fopencookie(file, "w", functions);
  if (stream == nullptr) gzclose(file);
  return stream;
}

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

/// A device or a pipe is not removed.
void remove_partial_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
}

/// @param write  called with the open file; returns false when not all could be written
template <class Write>
void write_file(const std::string& path, const Write& write) {
  errno = 0;
  if (path == "-") {
    if (!write(stdout)) fail("standard output", errno);
    return;
  }
  std::FILE* file = path.ends_with(".gz") ? open_compressed(path) : std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(path, errno);
  const bool written = write(file);
  const int write_error = errno;
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return;
  const int error = written ? errno : write_error;
  remove_partial_file(path);
  fail(path, error);
}

}  // namespace

void write_cluster(const ClusterObjects& objects, const std::string& path) {
  write_file(path, [&](std::FILE* file) { return write_objects(objects, file); });
}

void write_text(const std::string& text, const std::string& path) {
  write_file(path, [&](std::FILE* file) {
    return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  });
}

}  // namespace berth
