// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace berth {

/// ln(domains + 2) as Go's library computes it on amd64, bit for bit: the C library differs in the last bit for some
/// sizes. One table made on the host serves every backend. docs/behaviour/plugins-topology.md 2.10.
class DomainWeights {
 public:
  /// @param size_max  the largest number of domains that will be asked for
  explicit DomainWeights(std::size_t size_max = 0) { grow(size_max); }
  void grow(std::size_t size_max);
  double of(std::size_t domain_count) const { return weights_[domain_count]; }

 private:
  std::vector<double> weights_;
};

}  // namespace berth
