// SPDX-License-Identifier: Apache-2.0
/// Handles of berth.h as Python objects own them: counted, closed at most once, and never freed under a running call.
#pragma once

#include <berth/berth.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace berth_python {

namespace nb = nanobind;

/// Name, free function and number of open handles of each kind.
template <class Raw>
struct Kind;
#define BERTH_PYTHON_KIND(kind, ...)                                   \
  template <>                                                          \
  struct Kind<berth_##kind> {                                          \
    static constexpr const char* name = #kind;                         \
    static void free(berth_##kind* raw) { berth_##kind##_free(&raw); } \
    static inline std::atomic<long> open{0};                           \
    __VA_ARGS__                                                        \
  };
/// And what it holds.
#define BERTH_PYTHON_KIND_WITH_MEMORY(kind) \
  BERTH_PYTHON_KIND(kind, static constexpr auto memory = berth_##kind##_memory;)
BERTH_PYTHON_KIND(cancel)
BERTH_PYTHON_KIND_WITH_MEMORY(engine)
BERTH_PYTHON_KIND_WITH_MEMORY(cluster)
BERTH_PYTHON_KIND_WITH_MEMORY(snapshot)
BERTH_PYTHON_KIND_WITH_MEMORY(fork)
BERTH_PYTHON_KIND_WITH_MEMORY(pod)
BERTH_PYTHON_KIND_WITH_MEMORY(node_set)
BERTH_PYTHON_KIND_WITH_MEMORY(queue)
BERTH_PYTHON_KIND_WITH_MEMORY(result)
#undef BERTH_PYTHON_KIND_WITH_MEMORY
#undef BERTH_PYTHON_KIND

/// Throws the exception of berth.errors for a status. Needs the GIL.
[[noreturn]] void raise_error(berth_status status, const char* object, const char* text);
/// Throws the exception itself. Needs the GIL.
[[noreturn]] void raise_object(const nb::object& raised);
/// Throws ClosedError naming the kind. Needs the GIL.
[[noreturn]] void raise_closed(const char* kind);

/// The library's text as a Python string; a character that was cut in two becomes U+FFFD.
nb::str text_of(const char* data, std::size_t size);
inline nb::str text_of(berth_str text) { return text_of(text.data, text.size); }

/// Frees a handle without the GIL: it may wait for a call of another thread, and takes long for a cluster.
template <class Raw>
void free_counted(Raw* raw) noexcept {
  if (nb::is_alive() && PyGILState_Check() != 0) {
    const nb::gil_scoped_release released;
    Kind<Raw>::free(raw);
  } else {
    Kind<Raw>::free(raw);
  }
  Kind<Raw>::open.fetch_sub(1, std::memory_order_relaxed);
}

/// Where a call puts a new handle. Frees it when an exception comes between.
template <class Raw>
class Out {
 public:
  Out() = default;
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  ~Out() {
    if (raw_ != nullptr) Kind<Raw>::free(raw_);
  }
  Raw** address() { return &raw_; }
  std::shared_ptr<Raw> take() {
    Kind<Raw>::open.fetch_add(1, std::memory_order_relaxed);
    // The deleter is called where shared_ptr cannot allocate its block.
    return std::shared_ptr<Raw>(std::exchange(raw_, nullptr), free_counted<Raw>);
  }

 private:
  Raw* raw_ = nullptr;
};

/// A handle of Python. Calls take use() and keep it while they run, so that close() in another thread ends with them.
template <class Raw>
class Handle {
 public:
  explicit Handle(std::shared_ptr<Raw> raw, std::shared_ptr<berth_cluster> cluster = nullptr)
      : raw_(std::move(raw)), cluster_(std::move(cluster)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// @throws ClosedError
  std::shared_ptr<Raw> use() const {
    {
      const std::scoped_lock lock(mutex_);
      if (raw_) return raw_;
    }
    raise_closed(Kind<Raw>::name);
  }
  /// The cluster that numbers its nodes; kept by snapshots, forks and results, for the names.
  std::shared_ptr<berth_cluster> cluster() const {
    {
      const std::scoped_lock lock(mutex_);
      if (cluster_) return cluster_;
    }
    raise_closed(Kind<Raw>::name);
  }
  bool is_closed() const {
    const std::scoped_lock lock(mutex_);
    return raw_ == nullptr;
  }
  void close() {
    std::shared_ptr<Raw> raw;
    std::shared_ptr<berth_cluster> cluster;
    {
      const std::scoped_lock lock(mutex_);
      raw.swap(raw_);
      cluster.swap(cluster_);
    }
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Raw> raw_;
  std::shared_ptr<berth_cluster> cluster_;
};

using CancelHandle = Handle<berth_cancel>;
using EngineHandle = Handle<berth_engine>;
using ClusterHandle = Handle<berth_cluster>;
using SnapshotHandle = Handle<berth_snapshot>;
using ForkHandle = Handle<berth_fork>;
using PodHandle = Handle<berth_pod>;
using NodeSetHandle = Handle<berth_node_set>;
using QueueHandle = Handle<berth_queue>;
using ResultHandle = Handle<berth_result>;

/// A copy is the object itself, and pickle says why it cannot.
template <class Raw>
void bind_immutable(nb::class_<Handle<Raw>>& type, const char* why_no_pickle) {
  type.def("__copy__", [](nb::object self) { return self; }, nb::sig("def __copy__(self) -> typing.Self"));
  type.def(
      "__deepcopy__", [](nb::object self, nb::handle) { return self; },
      nb::sig("def __deepcopy__(self, memo: object) -> typing.Self"), nb::arg("memo"));
  type.def(
      "__reduce_ex__", [why_no_pickle](const Handle<Raw>&, int) -> nb::object { throw nb::type_error(why_no_pickle); },
      nb::sig("def __reduce_ex__(self, protocol: typing.SupportsIndex, /) -> typing.NoReturn"), nb::arg("protocol"));
}

/// close(), `closed` and use in a with statement, of every kind.
template <class Raw>
void bind_closing(nb::class_<Handle<Raw>>& type) {
  type.def(
      "__enter__",
      [](nb::object self) {
        nb::cast<const Handle<Raw>&>(self).use();
        return self;
      },
      nb::sig("def __enter__(self) -> typing.Self"));
  type.def(
      "__exit__", [](Handle<Raw>& self, nb::handle, nb::handle, nb::handle) { self.close(); }, nb::arg("type").none(),
      nb::arg("value").none(), nb::arg("traceback").none());
  type.def("close", &Handle<Raw>::close,
           "Frees the handle, once the calls that use it have returned. Calls that come later raise ClosedError.");
  type.def_prop_ro("closed", &Handle<Raw>::is_closed, "Whether close() was called.");
}

}  // namespace berth_python
