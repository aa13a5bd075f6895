// SPDX-License-Identifier: Apache-2.0
/// What Python gives as an argument, kept for as long as a call reads it.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handle.h"

namespace berth_python {

/// A value of C++ of an object. @throws TypeError saying `what` it is
template <class Value>
Value argument(nb::handle object, const char* what, bool converts = true) {
  Value value{};
  if (!nb::try_cast<Value>(object, value, converts)) throw nb::type_error(what);
  return value;
}

/// A capsule that owns a value, as arrays of numpy need one.
template <class Value>
nb::capsule owner_of(std::unique_ptr<Value> value) {
  nb::capsule owner(value.get(), [](void* owned) noexcept { delete static_cast<Value*>(owned); });
  value.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it
  return owner;
}
/// An array of numpy over these values, which it owns; read-only.
template <class Element>
nb::ndarray<nb::numpy, const Element, nb::ndim<1>> array_of(std::vector<Element> values) {
  auto kept = std::make_unique<std::vector<Element>>(std::move(values));
  const Element* const data = kept->data();
  const std::size_t shape[1] = {kept->size()};
  return {data, 1, shape, owner_of(std::move(kept))};
}

/// Pods of a call. @throws TypeError, ClosedError
class Pods {
 public:
  explicit Pods(nb::handle sequence);
  const berth_pod* const* data() const { return raw_.data(); }
  std::size_t size() const { return raw_.size(); }

 private:
  std::vector<std::shared_ptr<berth_pod>> kept_;
  std::vector<const berth_pod*> raw_;
};

/// Texts of a call, as C strings. @throws ValueError: a text with a NUL
class Texts {
 public:
  explicit Texts(nb::handle sequence);
  const char* const* data() const { return raw_.data(); }
  std::size_t size() const { return raw_.size(); }

 private:
  std::vector<std::string> kept_;
  std::vector<const char*> raw_;
};

/// Shapes of a call, as berth/verbs.py gives them: tuples (node text or None, copy_of, flags, max_nodes, taints, pods,
/// caps, price).
class Shapes {
 public:
  explicit Shapes(nb::handle sequence);
  const berth_shape* const* data() const { return raw_.data(); }
  std::size_t size() const { return raw_.size(); }

 private:
  struct Kept;
  std::vector<std::shared_ptr<Kept>> kept_;
  std::vector<const berth_shape*> raw_;
};

/// A node given as a number or by its name. @throws TypeError, NotFoundError
std::uint32_t node_number(const std::shared_ptr<berth_cluster>& cluster, nb::handle node);
/// Numbers of nodes, each as node_number() takes it.
std::vector<std::uint32_t> node_numbers(const std::shared_ptr<berth_cluster>& cluster, nb::handle nodes);

using NodeArray = nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>>;

/// A token of a call, or none.
class Cancel {
 public:
  explicit Cancel(const CancelHandle* handle) : kept_(handle == nullptr ? nullptr : handle->use()) {}
  const berth_cancel* get() const { return kept_.get(); }

 private:
  std::shared_ptr<berth_cancel> kept_;
};
/// Until when a load goes on, and its token.
class LoadLimits {
 public:
  LoadLimits(std::uint64_t deadline_us, const CancelHandle* cancel) : token_(cancel) {
    options_.deadline_us = deadline_us;
    options_.cancel = token_.get();
  }
  LoadLimits(const LoadLimits&) = delete;
  LoadLimits& operator=(const LoadLimits&) = delete;
  const berth_load_options* get() const { return &options_; }

 private:
  Cancel token_;
  berth_load_options options_ = BERTH_LOAD_OPTIONS_INIT;
};

/// A token of a call and a callable that is told how far it is; either may be None. One that raises cancels the call,
/// by a token of its own where it was given none.
class Watched {
 public:
  Watched(const CancelHandle* token, nb::handle progress);
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  /// @param options  of berth.h; used by a call that ends before this object
  template <class Options>
  void set(Options& options) {
    options.cancel = token_.get();
    if (progress_.is_none()) return;
    options.progress = tell;
    options.progress_user_data = this;
  }

 private:
  static void tell(void* user_data, std::uint64_t done, std::uint64_t total);

  std::shared_ptr<berth_cancel> token_;
  nb::handle progress_;  ///< the caller's, who has it while the call runs
};

/// The nodes of a call, or all.
class Nodes {
 public:
  explicit Nodes(const NodeSetHandle* handle) : kept_(handle == nullptr ? nullptr : handle->use()) {}
  const berth_node_set* get() const { return kept_.get(); }

 private:
  std::shared_ptr<berth_node_set> kept_;
};

inline const char* c_str(const std::optional<std::string>& text) { return text ? text->c_str() : nullptr; }

/// The uid of a pod given as Pod or as text.
std::string uid_of(nb::handle pod);

}  // namespace berth_python
