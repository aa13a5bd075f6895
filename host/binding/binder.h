// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a placement becomes a fact: in memory, or wherever a callback takes it.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

/// Says to the owner of the cluster that a pod belongs on a node.
class Binder {
 public:
  virtual ~Binder() = default;
  /// @return Success, or an Error whose reasons say why the owner refused
  virtual Status bind(const Pod& pod, std::string_view node_name) = 0;
};

/// Keeps the bindings, in the order in which they were made.
class InMemoryBinder : public Binder {
 public:
  struct Binding {
    std::string pod;  ///< full name
    std::string uid;
    std::string node_name;
    friend bool operator==(const Binding&, const Binding&) = default;
  };
  Status bind(const Pod& pod, std::string_view node_name) override;
  const std::vector<Binding>& bindings() const { return bindings_; }

 private:
  std::vector<Binding> bindings_;
};

/// Passes every binding on.
class CallbackBinder : public Binder {
 public:
  using Callback = std::function<Status(const Pod& pod, std::string_view node_name)>;
  explicit CallbackBinder(Callback callback) : callback_(std::move(callback)) {}
  Status bind(const Pod& pod, std::string_view node_name) override { return callback_(pod, node_name); }

 private:
  Callback callback_;
};

}  // namespace berth
