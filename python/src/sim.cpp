// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>

#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bind.h"
#include "call.h"
#include "crew.h"
#include "episode.h"

namespace berth_python {
namespace {

template <class Element, std::size_t Dimensions>
using Given = nb::ndarray<Element, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

/// The caller's arrays, a row or an element for each environment.
struct Arrays {
  Given<std::uint8_t, 2> mask;
  Given<std::int64_t, 3> use;
  Given<std::int32_t, 1> pod, node, placed, pending;
  Given<double, 1> time;
  Given<std::uint8_t, 1> illegal, done;
  Given<std::int32_t, 1> evicted;
};

class Sim {
 public:
  Sim(const SnapshotHandle& snapshot, nb::handle pods, const Given<const double, 1>& arrivals,
      const Given<const double, 1>& durations, bool is_shuffled, bool is_recorded, bool preempts, bool has_kube_queue,
      std::size_t count, std::size_t threads, nb::handle resources)
      : crew_(threads) {
    const auto raw = snapshot.use();
    for (const nb::handle item : nb::cast<nb::tuple>(pods)) add_pod(item);
    const std::size_t pod_count = scenario_.pods.size();
    if (arrivals.size() != pod_count || durations.size() != pod_count)
      throw nb::value_error("arrivals and durations have one entry for each pod");
    scenario_.arrivals.assign(arrivals.data(), arrivals.data() + pod_count);
    scenario_.durations.assign(durations.data(), durations.data() + pod_count);
    scenario_.is_shuffled = is_shuffled;
    scenario_.is_recorded = is_recorded;
    scenario_.preempts = preempts;
    scenario_.has_kube_queue = has_kube_queue;
    scenario_.cluster = snapshot.cluster();
    std::size_t node_count = 0;
    run([&](berth_error* error) {
      const berth_status status = berth_snapshot_nodes(raw.get(), nullptr, 0, &node_count, error);
      if (status < 0) return status;
      scenario_.nodes.resize(node_count);
      return berth_snapshot_nodes(raw.get(), scenario_.nodes.data(), node_count, &node_count, error);
    });
    const Texts names(resources);
    scenario_.resources.assign(names.data(), names.data() + names.size());
    for (const std::string& name : scenario_.resources) scenario_.names_of_resources.push_back(name.c_str());
    for (std::size_t i = 0; i < count; ++i) {
      Out<berth_fork> fork;
      run([&](berth_error* error) { return berth_snapshot_fork(raw.get(), fork.address(), error); });
      episodes_.emplace_back(scenario_, fork.take());
    }
    is_reset_.resize(count);
  }

  std::size_t size() const { return episodes_.size(); }
  const std::vector<std::uint32_t>& nodes() const { return scenario_.nodes; }
  const std::vector<std::string>& resources() const { return scenario_.resources; }

  void reset(const Given<const std::uint64_t, 1>& seeds, const Given<const std::uint8_t, 1>& which, const Arrays& out) {
    check_idle();
    check(seeds.size() == size() && which.size() == size());
    for_each(out, [&](std::size_t i, Shown& shown, berth_error* error) {
      if (which(i) == 0) return shown_before(i, out, shown);
      is_reset_[i] = 0;
      const berth_status status = episodes_[i].reset(seeds(i), shown, error);
      if (status >= 0) is_reset_[i] = 1;
      return status;
    });
  }

  void step(const Given<const std::int32_t, 1>& actions, const Arrays& out) {
    check_idle();
    check(actions.size() == size());
    for (const std::uint8_t is_reset : is_reset_) check_reset(is_reset);
    for_each(out, [&](std::size_t i, Shown& shown, berth_error* error) {
      const berth_status status = episodes_[i].step(actions(i), shown, error);
      if (status < 0) is_reset_[i] = 0;
      return status;
    });
  }

  void submit(const Given<const std::int32_t, 1>& pods, const Given<const std::uint8_t, 1>& which, const Arrays& out) {
    check_ready(which);
    const std::span<const std::int32_t> given(pods.data(), pods.size());
    std::vector<std::uint8_t> is_given(scenario_.pods.size());
    for (const std::int32_t pod : given) {
      if (pod < 0 || static_cast<std::size_t>(pod) >= is_given.size())
        throw nb::value_error(("there is no pod " + std::to_string(pod)).c_str());
      if (std::exchange(is_given[static_cast<std::size_t>(pod)], 1) != 0)
        throw nb::value_error(("pod " + std::to_string(pod) + " is given twice").c_str());
    }
    for (const std::int32_t pod : given)
      for (std::size_t i = 0; i < size(); ++i)
        if (which(i) != 0 && !episodes_[i].is_out(static_cast<std::uint32_t>(pod)))
          raise_error(BERTH_E_EXISTS, "Sim",
                      ("pod " + std::to_string(pod) + " waits, runs or is to come in environment " + std::to_string(i))
                          .c_str());
    go_on_in(which, out,
             [&](Episode& episode, Shown& shown, berth_error* error) { return episode.submit(given, shown, error); });
  }

  void advance(double until, const Given<const std::uint8_t, 1>& which, const Arrays& out) {
    check_ready(which);
    go_on_in(which, out,
             [&](Episode& episode, Shown& shown, berth_error* error) { return episode.advance(until, shown, error); });
  }

  /// Columns: environment, time, kind, pod, node.
  nb::tuple take_events() {
    check_idle();
    std::vector<std::int32_t> environments, pods, nodes;
    std::vector<double> times;
    std::vector<std::uint8_t> kinds;
    for (std::size_t i = 0; i < size(); ++i)
      for (const Event& event : episodes_[i].take_events()) {
        environments.push_back(static_cast<std::int32_t>(i));
        times.push_back(event.time);
        kinds.push_back(static_cast<std::uint8_t>(event.kind));
        pods.push_back(event.pod);
        nodes.push_back(event.node);
      }
    return nb::make_tuple(array_of(std::move(environments)), array_of(std::move(times)), array_of(std::move(kinds)),
                          array_of(std::move(pods)), array_of(std::move(nodes)));
  }

  void close() {
    check_idle();
    episodes_.clear();
    scenario_.pods.clear();
    scenario_.cluster.reset();
    is_closed_ = true;
  }
  bool is_closed() const { return is_closed_; }

 private:
  struct Failure {
    berth_status status = BERTH_OK;
    berth_error error = BERTH_ERROR_INIT;
    nb::object raised;
  };

  /// While a call runs. Made and destroyed with the GIL.
  class Busy {
   public:
    explicit Busy(bool& is_busy) : is_busy_(is_busy) { is_busy_ = true; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { is_busy_ = false; }

   private:
    bool& is_busy_;
  };

  void add_pod(nb::handle item) {
    const PodHandle* handle = nullptr;
    if (!nb::try_cast<const PodHandle*>(item, handle) || handle == nullptr)
      throw nb::type_error("pods are Pod objects; cluster.pod() makes one of a manifest");
    auto pod = handle->use();
    berth_str uid{};
    run_short([&](berth_error* error) { return berth_pod_uid(pod.get(), &uid, error); });
    std::int32_t priority = 0;
    run_short([&](berth_error* error) { return berth_pod_priority(pod.get(), &priority, error); });
    scenario_.pod_of_uid.emplace(std::string(uid.data, uid.size), static_cast<std::uint32_t>(scenario_.pods.size()));
    scenario_.uids.emplace_back(uid.data, uid.size);
    scenario_.priorities.push_back(priority);
    scenario_.position_of_pod.emplace(pod.get(), static_cast<std::uint32_t>(scenario_.pods.size()));
    scenario_.pods.push_back(std::move(pod));
  }

  static void check_reset(std::uint8_t is_reset) {
    if (is_reset == 0) raise_error(BERTH_E_STATE, "Sim", "an environment is to be reset first");
  }
  /// Of a call about some of the environments.
  void check_ready(const Given<const std::uint8_t, 1>& which) const {
    check_idle();
    check(which.size() == size());
    for (std::size_t i = 0; i < size(); ++i)
      if (which(i) != 0) check_reset(is_reset_[i]);
  }
  /// Runs call(episode, shown, error) in those environments; the others stay.
  template <class Call>
  void go_on_in(const Given<const std::uint8_t, 1>& which, const Arrays& out, Call call) {
    for_each(out, [&](std::size_t i, Shown& shown, berth_error* error) {
      if (which(i) == 0) return shown_before(i, out, shown);
      const berth_status status = call(episodes_[i], shown, error);
      if (status < 0) is_reset_[i] = 0;
      return status;
    });
  }

  static void check(bool has_shape) {
    if (!has_shape) throw nb::value_error("the arrays have one entry for each environment");
  }
  void check_idle() const {
    if (is_closed_) raise_closed("sim");
    if (is_busy_) raise_error(BERTH_E_BUSY, "Sim", "another thread is in a call");
  }

  /// An environment that is not asked shows what the arrays have.
  static berth_status shown_before(std::size_t i, const Arrays& out, Shown& shown) {
    shown.pod = out.pod(i);
    shown.node = out.node(i);
    shown.placed = out.placed(i);
    shown.pending = out.pending(i);
    shown.time = out.time(i);
    shown.is_illegal = out.illegal(i);
    shown.is_done = out.done(i);
    shown.evicted = out.evicted(i);
    return BERTH_OK;
  }

  /// Runs an environment after the other, or beside it: they share nothing that changes. The first failure is raised.
  template <class Call>
  void for_each(const Arrays& out, Call&& call) {
    check_idle();
    const std::size_t count = size();
    check(out.mask.shape(0) == count && out.mask.shape(1) == nodes().size() && out.use.shape(0) == count &&
          out.use.shape(1) == resources().size() && out.use.shape(2) == nodes().size() && out.pod.size() == count &&
          out.node.size() == count && out.placed.size() == count && out.pending.size() == count &&
          out.time.size() == count && out.illegal.size() == count && out.done.size() == count &&
          out.evicted.size() == count);
    std::vector<Failure> failures(count);
    const Busy busy(is_busy_);
    {
      const nb::gil_scoped_release released;
      crew_.run(count, [&](std::size_t i) {
        CallScope scope;
        Shown shown{out.mask.data() + i * nodes().size(),
                    out.use.data() + i * resources().size() * nodes().size(),
                    -1,
                    -1,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0};
        try {
          failures[i].status = call(i, shown, &failures[i].error);
        } catch (const std::bad_alloc&) {
          is_reset_[i] = 0;
          failures[i].status = BERTH_E_MEMORY;
        }
        failures[i].raised = scope.take_raised();
        if (failures[i].status < 0) return;
        out.pod(i) = shown.pod;
        out.node(i) = shown.node;
        out.placed(i) = shown.placed;
        out.pending(i) = shown.pending;
        out.time(i) = shown.time;
        out.illegal(i) = shown.is_illegal;
        out.done(i) = shown.is_done;
        out.evicted(i) = shown.evicted;
      });
    }
    for (const Failure& failure : failures) {
      if (failure.raised.is_valid()) raise_object(failure.raised);
      if (failure.status < 0) raise_error(failure.status, failure.error.object, failure.error.text);
    }
  }

  Scenario scenario_;
  std::vector<Episode> episodes_;
  std::vector<std::uint8_t> is_reset_;
  Crew crew_;
  bool is_busy_ = false, is_closed_ = false;  // read and written with the GIL
};

template <class Array>
Array written(nb::handle array) {
  return argument<Array>(array, "arrays are writable, C-contiguous and of the types of Arrays", false);
}

Arrays arrays_of(nb::handle out) {
  const auto fields = nb::cast<nb::tuple>(out);
  return {written<Given<std::uint8_t, 2>>(fields[0]), written<Given<std::int64_t, 3>>(fields[1]),
          written<Given<std::int32_t, 1>>(fields[2]), written<Given<std::int32_t, 1>>(fields[3]),
          written<Given<std::int32_t, 1>>(fields[4]), written<Given<std::int32_t, 1>>(fields[5]),
          written<Given<double, 1>>(fields[6]),       written<Given<std::uint8_t, 1>>(fields[7]),
          written<Given<std::uint8_t, 1>>(fields[8]), written<Given<std::int32_t, 1>>(fields[9])};
}

}  // namespace

void bind_sim(nb::module_& module) {
  nb::class_<Sim> type(module, "SimHandle", "Environments over forks of a snapshot. One thread at a time.");
  type.def(nb::init<const SnapshotHandle&, nb::handle, const Given<const double, 1>&, const Given<const double, 1>&,
                    bool, bool, bool, bool, std::size_t, std::size_t, nb::handle>(),
           nb::arg("snapshot"), nb::arg("pods"), nb::arg("arrivals"), nb::arg("durations"), nb::arg("shuffled"),
           nb::arg("recorded"), nb::arg("preempts"), nb::arg("kube_queue"), nb::arg("count"), nb::arg("threads"),
           nb::arg("resources"));
  type.def(
      "_reset",  // berth/sim.py has the order of the arrays
      [](Sim& self, const Given<const std::uint64_t, 1>& seeds, const Given<const std::uint8_t, 1>& which,
         nb::handle out) { self.reset(seeds, which, arrays_of(out)); },
      nb::arg("seeds"), nb::arg("which"), nb::arg("out"));
  type.def(
      "_step",
      [](Sim& self, const Given<const std::int32_t, 1>& actions, nb::handle out) {
        self.step(actions, arrays_of(out));
      },
      nb::arg("actions"), nb::arg("out"));
  type.def(
      "_submit",
      [](Sim& self, const Given<const std::int32_t, 1>& pods, const Given<const std::uint8_t, 1>& which,
         nb::handle out) { self.submit(pods, which, arrays_of(out)); },
      nb::arg("pods"), nb::arg("which"), nb::arg("out"));
  type.def(
      "_advance",
      [](Sim& self, double until, const Given<const std::uint8_t, 1>& which, nb::handle out) {
        self.advance(until, which, arrays_of(out));
      },
      nb::arg("until"), nb::arg("which"), nb::arg("out"));
  type.def("_take_events", &Sim::take_events, nb::sig("def _take_events(self) -> tuple[typing.Any, ...]"));
  type.def_prop_ro("num_envs", &Sim::size, "How many environments there are.");
  type.def_prop_ro(
      "nodes", [](const Sim& self) { return nb::cast(array_of(self.nodes())); },
      nb::sig("def nodes(self) -> NDArray[numpy.uint32]"),
      "Numbers of the nodes: an action is a position in this array.");
  type.def("close", &Sim::close, "Frees the forks. Calls that come later raise ClosedError.");
  type.def_prop_ro("closed", &Sim::is_closed, "Whether close() was called.");
}

}  // namespace berth_python
