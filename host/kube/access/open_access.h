// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/kube/access/child_process.h"
#include "host/kube/access/surroundings.h"
#include "host/kube/http/server_access.h"

namespace berth {

/// As kube-scheduler's options: `clientConnection.kubeconfig` (or --kubeconfig) and --master.
struct AccessOptions {
  std::string kubeconfig = {};  ///< a path; empty: none
  std::string master = {};      ///< replaces the server of the kubeconfig; empty: none
  ChildLimits plugin_limits = {};
};

/// Where the API server is and who asks. With neither option, the service account of the pod around this process. With
/// `master` alone, nobody: requests carry no identity. KUBECONFIG is not read, as in kube-scheduler. Over http no
/// identity is sent, as in client-go. The certificate authority is read once.
/// @throws std::runtime_error (InputError for the kubeconfig's content); a message shows no secret
ServerAccess open_server_access(const AccessOptions& options, const Surroundings& around);

}  // namespace berth
