// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace berth {

/// Is told of each request that ended, on the client's thread. A stream ends when its answer begins.
class HttpMeter {
 public:
  virtual ~HttpMeter() = default;
  /// @param host  "10.0.0.1:6443"
  /// @param status  0: there was no answer
  virtual void on_request(std::string_view host, std::string_view method, int status, double seconds) = 0;
};

}  // namespace berth
