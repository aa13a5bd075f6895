// SPDX-License-Identifier: Apache-2.0
#pragma once

// Commits placements: in memory, or through a callback.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

/// Reports a placement to the owner of the cluster.
class Binder {
 public:
  virtual ~Binder() = default;
  /// @return Success, or an Error with the owner's reasons
  virtual Status bind(const Pod& pod, std::string_view node_name) = 0;
};

/// Stores the bindings in order.
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

/// Forwards every binding to a callback.
class CallbackBinder : public Binder {
 public:
  using Callback = std::function<Status(const Pod& pod, std::string_view node_name)>;
  explicit CallbackBinder(Callback callback) : callback_(std::move(callback)) {}
  Status bind(const Pod& pod, std::string_view node_name) override { return callback_(pod, node_name); }

 private:
  Callback callback_;
};

}  // namespace berth
