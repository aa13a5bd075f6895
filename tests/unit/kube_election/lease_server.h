// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "host/kube/http/http_client.h"

namespace berth {

/// One Lease, with the API server's rules for its versions.
class LeaseServer {
 public:
  HttpResponse answer(const HttpRequest& request) {
    const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    if (request.method == "POST" && request.path == leases) return create(request);
    if (request.path != leases + "/kube-scheduler") return {.status = 400, .body = "unexpected " + request.path};
    if (!lease_) return {.status = 404, .body = R"({"kind":"Status","reason":"NotFound"})"};
    if (request.method == "GET") return {.status = 200, .body = lease_->dump()};
    return update(request);
  }
  const nlohmann::json& lease() const { return *lease_; }
  bool has_lease() const { return lease_.has_value(); }
  std::string holder() const { return lease_ ? lease_->at("spec").value("holderIdentity", std::string()) : ""; }
  void remove() { lease_.reset(); }
  /// Changes the lease as another client would.
  template <class Change>
  void edit(Change&& change) {
    change(*lease_);
    next_version();
  }
  void put(const std::string& holder, int duration_s, int transitions) {
    lease_ = {{"kind", "Lease"},
              {"apiVersion", "coordination.k8s.io/v1"},
              {"metadata", {{"name", "kube-scheduler"}, {"namespace", "kube-system"}, {"uid", "lease-uid"}}},
              {"spec",
               {{"holderIdentity", holder},
                {"leaseDurationSeconds", duration_s},
                {"leaseTransitions", transitions},
                {"acquireTime", "2026-01-01T00:00:00.000000Z"},
                {"renewTime", "2026-01-01T00:00:01.000000Z"}}}};
    next_version();
  }

 private:
  HttpResponse create(const HttpRequest& request) {
    if (lease_) return {.status = 409, .body = R"({"kind":"Status","reason":"AlreadyExists"})"};
    lease_ = nlohmann::json::parse(request.body);
    (*lease_)["metadata"]["uid"] = "lease-uid";
    next_version();
    return {.status = 201, .body = lease_->dump()};
  }
  HttpResponse update(const HttpRequest& request) {
    const nlohmann::json sent = nlohmann::json::parse(request.body);
    if (sent.at("metadata").at("resourceVersion") != lease_->at("metadata").at("resourceVersion")) {
      return {.status = 409, .body = R"({"kind":"Status","reason":"Conflict"})"};
    }
    lease_ = sent;
    next_version();
    return {.status = 200, .body = lease_->dump()};
  }
  void next_version() { (*lease_)["metadata"]["resourceVersion"] = std::to_string(++version_); }

  std::optional<nlohmann::json> lease_;
  int version_ = 0;
};

}  // namespace berth
