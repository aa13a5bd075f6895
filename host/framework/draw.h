// SPDX-License-Identifier: Apache-2.0
#pragma once

// The random draw among nodes of equal total (draw_bits.h, and node_name_hash of name_hash.h), a function of the node's
// state (docs/architecture.md "Ties"): every backend draws the same number, it is known in advance for the k-th copy,
// and no pass over the ties is needed.

#include "host/cluster/name_hash.h"
#include "host/framework/draw_bits.h"
