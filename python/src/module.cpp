// SPDX-License-Identifier: Apache-2.0
/// berth._native: the functions of berth.h as Python calls them. The public names are those of the package berth.
#include "bind.h"

namespace {

template <class Raw>
void count(nanobind::dict& counts) {
  using berth_python::Kind;
  counts[Kind<Raw>::name] = Kind<Raw>::open.load(std::memory_order_relaxed);
}

}  // namespace

NB_MODULE(_native, module) {
  namespace nb = nanobind;
  module.doc() = "berth.h for the package berth: its handles, and their calls without the GIL.";
  if (berth_abi_version() != BERTH_ABI_VERSION) {
    PyErr_Format(PyExc_ImportError, "berth._native was built for ABI %u of libberth, and %u is loaded",
                 BERTH_ABI_VERSION, berth_abi_version());
    throw nb::python_error();
  }
  module.def("version", [] { return berth_version_string(); }, "The version of libberth, as \"0.1.0\".");
  module.def("status_name", &berth_status_name, nb::arg("status"), "\"BERTH_E_STALE\".");
  module.def("status_text", &berth_status_text, nb::arg("status"), "One English sentence about a status.");
  module.def("column_name", &berth_column_name, nb::arg("column"), "\"reasons\".");
  module.def(
      "open_handles",
      [] {
        nb::dict counts;
        count<berth_engine>(counts);
        count<berth_cluster>(counts);
        count<berth_snapshot>(counts);
        count<berth_fork>(counts);
        count<berth_pod>(counts);
        count<berth_node_set>(counts);
        count<berth_queue>(counts);
        count<berth_result>(counts);
        count<berth_cancel>(counts);
        return counts;
      },
      nb::sig("def open_handles() -> dict[str, int]"),
      "How many handles of libberth the process holds, by kind. One that was closed counts until the calls, arrays "
      "and\n"
      "tables that use it are gone.");
  berth_python::bind_cancel(module);
  berth_python::bind_engine(module);
  berth_python::bind_cluster(module);
  berth_python::bind_results(module);
  berth_python::bind_snapshots(module);
  berth_python::bind_forks(module);
  berth_python::bind_queues(module);
  berth_python::bind_sim(module);
}
