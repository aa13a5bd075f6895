// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "host/kube/http/http_client.h"

namespace berth {

/// A review that was not answered.
struct ReviewProblem {
  std::string reason;  ///< for the log; holds no foreign text that is not quoted
};

/// Posts reviews to an API server, as the webhooks of k8s.io/apiserver do: what may pass is tried five times, half a
/// second to about two seconds apart, for ten seconds in all. At most kAtOnce reviews wait at once; more fail at once,
/// so that threads are left for those who need none. Any thread may call.
class ReviewClient {
 public:
  static constexpr std::size_t kAtOnce = 16;
  using Sleep = std::function<void(std::int64_t us)>;

  /// @param client  outlives this
  /// @param sleep  empty: the thread sleeps
  explicit ReviewClient(HttpClient& client, Sleep sleep = {});
  /// @return the answer's body
  /// @throws ReviewProblem
  std::string post(const std::string& path, const std::string& body);
  std::string get(const std::string& path);

 private:
  std::string answer(const HttpRequest& request);

  HttpClient& client_;
  Sleep sleep_;
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace berth
