// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/kube/watch/watch_text.h"
#include "host/kube/watch/watched_resource.h"
#include "host/objects/declared_paths.h"
#include "host/objects/decode.h"
#include "host/objects/list_entries.h"
#include "host/objects/object_pools.h"
#include "host/store/stored_object.h"

namespace berth {

/// Reads objects as an API server sends them: admission is done, so that nothing is added. One thread at a time.
class ApiObjectReader {
 public:
  /// @param declared  paths whose values are kept of nodes and pods; null: none
  explicit ApiObjectReader(DeclaredPathsPtr declared = nullptr);

  struct Text {
    const WatchedResource& resource;
    std::string_view json;                   ///< with kSlicePaddingBytes readable bytes behind it
    const ObjectVersion* version = nullptr;  ///< of the object; null: it is read here
  };
  /// T is the kind of the resource. Of a pod the condition PodScheduled is kept while it is on no node.
  /// @return null, with the reason in problem(), for what cannot be read; null without a reason for a pod that is
  ///     finished
  template <class T>
  StoredPtr<T> read(const Text& text);
  const std::string& problem() const { return problem_; }
  /// "namespace/name", where the last read() met a finished pod.
  std::string_view finished_pod() const {
    return out_.terminal_pods.empty() ? std::string_view() : out_.terminal_pods.front().object.name;
  }

 private:
  /// Equal label maps and specs are shared by the objects that were read since the last change of pools: so many, in
  /// order that what no object has any more is given back.
  static constexpr std::int64_t kObjectsOfPools = 200'000;
  struct Decoding {
    explicit Decoding(const DeclaredPathsPtr& declared) : decoder(pools, dense_entries, {.declared = declared}) {}
    ObjectPools pools;
    DenseEntries dense_entries{INT64_MAX};
    ObjectDecoder decoder;
  };

  bool decode(const Text& text);

  DeclaredPathsPtr declared_;
  WatchTextReader text_;
  ObjectVersion version_;
  std::unique_ptr<Decoding> decoding_;
  std::int64_t decoded_ = 0;
  DecodedObjects out_;
  std::string problem_;
};

}  // namespace berth
