// SPDX-License-Identifier: Apache-2.0
#pragma once

// How figures are written for people. Machines get plain numbers from document_writer.h.

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

std::string grouped(std::int64_t value);                                               ///< "12,345"
std::string counted(std::int64_t count, std::string_view one, std::string_view many);  ///< "1 pod", "2,000 pods"
std::string percent(double share);           ///< "41.3 %"; "-" when not finite
std::string duration(double seconds);        ///< "31 ms", "2.4 s"
std::string rate(double per_second);         ///< "1.24 million", "98,700", "12.5"
std::string byte_size(std::uint64_t bytes);  ///< "1.5 GiB"
/// An amount of a resource in its own unit: cpu in millicores ("500m", "12 cores"), memory kinds in bytes, else a
/// count.
std::string amount_text(std::string_view resource, std::int64_t amount);

}  // namespace berth
