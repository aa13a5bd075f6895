// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/http_client.h"

#include <future>
#include <utility>

namespace berth {

HttpResponse call(HttpClient& client, HttpRequest request) {
  // Shared, because a client that is destroyed meanwhile never calls back: the promise breaks and get() says so.
  const auto answer = std::make_shared<std::promise<HttpResponse>>();
  std::future<HttpResponse> future = answer->get_future();
  client.start(std::move(request), [answer](HttpResponse response) { answer->set_value(std::move(response)); });
  return future.get();
}

}  // namespace berth
