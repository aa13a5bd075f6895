// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/kube/access/child_process.h"
#include "host/kube/access/exec_credential.h"
#include "host/kube/access/surroundings.h"
#include "host/kube/http/server_access.h"

namespace berth {

/// The identity that a credential plugin gives. The plugin is run on the thread that calls current(): first, after its
/// credential expired, and after a 401, at most once a second then. It is given up after ChildLimits::time_us. Where it
/// fails, every call fails for the next 5 s with the same message, without another run.
class ExecCredentials : public Credentials {
 public:
  /// @param cluster  given to the plugin where config.provides_cluster_info
  ExecCredentials(ExecConfig config, ExecCluster cluster, Surroundings around, ChildLimits limits = {});

  ClientIdentity current() override;
  void note_unauthorized() override { is_refused_ = true; }

 private:
  bool needs_run() const;
  void run();
  ExecCredential credential_of(const ChildResult& result, const std::string& program) const;
  std::string hint() const;

  ExecConfig config_;
  ExecCluster cluster_;
  Surroundings around_;
  ChildLimits limits_;
  std::optional<ClientIdentity> identity_;
  std::optional<std::int64_t> expires_us_;  ///< wall time
  std::int64_t last_run_us_ = 0;            ///< of the clock; when the last run ended
  std::string failure_;                     ///< of the last run; empty: it went well
  bool is_refused_ = false;
};

}  // namespace berth
