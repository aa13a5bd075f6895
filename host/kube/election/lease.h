// SPDX-License-Identifier: Apache-2.0
#pragma once

// coordination.k8s.io/v1 Lease, as far as leader election reads and writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// `spec`. Times stay as they are written.
struct LeaseRecord {
  std::string holder = {};
  std::int32_t duration_s = 0;
  std::int32_t transitions = 0;
  std::string acquire_time = {};
  std::string renew_time = {};
  std::string preferred_holder = {};  ///< read, so that a change of it is a change
  std::string strategy = {};
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct Lease {
  LeaseRecord record;
  std::string metadata_json;  ///< the whole object, sent back with an update
  std::string uid;
  std::string resource_version;
};

/// @return nullopt where `text` is no Lease
std::optional<Lease> parse_lease(std::string_view text);

/// The object to POST or PUT. As client-go, an update writes the fields of LeaseRecord but the last two, and no other
/// field of the spec. @param metadata_json  a JSON object
std::string lease_json(const std::string& metadata_json, const LeaseRecord& record);

/// `metadata` of a lease that is not there yet.
std::string lease_metadata_json(const std::string& namespace_name, const std::string& name);

}  // namespace berth
