// SPDX-License-Identifier: Apache-2.0
/// The parts of the module, in the order in which they have to be bound.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <utility>

#include "handle.h"

namespace berth_python {

void bind_cancel(nb::module_& module);
void bind_engine(nb::module_& module);
void bind_cluster(nb::module_& module);
void bind_results(nb::module_& module);
void bind_snapshots(nb::module_& module);
void bind_forks(nb::module_& module);
void bind_queues(nb::module_& module);
void bind_sim(nb::module_& module);

/// A result and the status of the call, BERTH_DEADLINE among them.
using Answer = std::pair<std::unique_ptr<ResultHandle>, berth_status>;
Answer answer(Out<berth_result>& result, const std::shared_ptr<berth_cluster>& cluster, berth_status status);

std::unique_ptr<NodeSetHandle> node_set_of(const std::shared_ptr<berth_cluster>& cluster, nb::handle nodes);
inline constexpr const char* kNodeSetDoc =
    "A NodeSet of names or numbers, to be given as `nodes` to any number of calls. Raises NotFoundError.";

/// Names of node numbers, in order; BERTH_NO_NODE has None.
nb::list names_of(const std::shared_ptr<berth_cluster>& cluster, nb::handle nodes);

}  // namespace berth_python
