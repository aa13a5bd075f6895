// SPDX-License-Identifier: Apache-2.0
#include "host/kube/calls/api_requests.h"

#include <gtest/gtest.h>

#include "host/kube/protobuf/envelope.h"

namespace berth {
namespace {

constexpr std::int64_t kTimeUs = 1'700'000'000'500'000;  // 2023-11-14T22:13:20.5Z

Pod make_pod() {
  Pod pod;
  pod.name = "web-0";
  pod.namespace_ = "shop";
  pod.stored_uid = "u-1";
  return pod;
}

TEST(ApiRequests, ABindingNamesPodAndNode) {
  const HttpRequest request = binding_request({"shop", "web-0", "node-1", "u-1"}, BodyFormat::kJson);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/v1/namespaces/shop/pods/web-0/binding");
  EXPECT_EQ(request.content_type, "application/json");
  EXPECT_EQ(request.body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"web-0","namespace":"shop","uid":"u-1"},)"
            R"("target":{"kind":"Node","name":"node-1"}})");
}

TEST(ApiRequests, ABindingInProtobufIsForTheSamePath) {
  const HttpRequest request = binding_request({"shop", "web-0", "node-1", "u-1"}, BodyFormat::kProtobuf);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/v1/namespaces/shop/pods/web-0/binding");
  EXPECT_EQ(request.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(request.accept, "application/json");
  EXPECT_EQ(request.body, encode(BindingMessage{"shop", "web-0", "u-1", "node-1"}));
}

TEST(ApiRequests, AStatusPatchHoldsWhatChanges) {
  PodStatusPatch patch;
  patch.uid = "u-1";
  patch.conditions = {{.type = "PodScheduled",
                       .status = ConditionStatus::kFalse,
                       .reason = "Unschedulable",
                       .message = "0/1 nodes are available.",
                       .observed_generation = 2}};
  const HttpRequest request = status_patch_request(make_pod(), patch, kTimeUs, false);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.path, "/api/v1/namespaces/shop/pods/web-0/status");
  EXPECT_EQ(request.content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(request.body,
            R"({"metadata":{"uid":"u-1"},"status":{"conditions":[{"type":"PodScheduled","status":"False",)"
            R"("reason":"Unschedulable","message":"0/1 nodes are available.","observedGeneration":2,)"
            R"("lastTransitionTime":"2023-11-14T22:13:20Z"}]}})");
  EXPECT_EQ(status_patch_request(make_pod(), patch, kTimeUs, true).body.find("lastTransitionTime"), std::string::npos);
}

TEST(ApiRequests, ANominationIsSetOrTakenAway) {
  PodStatusPatch patch;
  patch.nominated_node_name = "node-1";
  EXPECT_EQ(status_patch_request(make_pod(), patch, kTimeUs, false).body,
            R"({"status":{"nominatedNodeName":"node-1"}})");
  patch.nominated_node_name = "";
  EXPECT_EQ(status_patch_request(make_pod(), patch, kTimeUs, false).body, R"({"status":{"nominatedNodeName":""}})");
}

TEST(ApiRequests, ADeletionNamesTheUid) {
  DeleteOptions options;
  options.uid = "u-1";
  const HttpRequest request = delete_request(make_pod(), options);
  EXPECT_EQ(request.method, "DELETE");
  EXPECT_EQ(request.path, "/api/v1/namespaces/shop/pods/web-0");
  EXPECT_EQ(request.body, R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u-1"}})");
}

TEST(ApiRequests, AVolumeIsBoundToAClaimOfItsVersion) {
  PersistentVolume volume;
  volume.name = "pv-1";
  VolumeClaim claim;
  claim.name = "data";
  claim.namespace_ = "shop";
  claim.uid = "c-1";
  const HttpRequest request = volume_patch_request(volume, 7, claim, 9);
  EXPECT_EQ(request.path, "/api/v1/persistentvolumes/pv-1");
  EXPECT_EQ(request.content_type, "application/merge-patch+json");
  EXPECT_EQ(request.body,
            R"({"metadata":{"resourceVersion":"7","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},)"
            R"("spec":{"claimRef":{"kind":"PersistentVolumeClaim","namespace":"shop","name":"data","uid":"c-1",)"
            R"("apiVersion":"v1","resourceVersion":"9"}}})");
  EXPECT_EQ(claim_patch_request(claim, 9, "node-1").body,
            R"({"metadata":{"resourceVersion":"9","annotations":{"volume.kubernetes.io/selected-node":"node-1"}}})");
}

TEST(ApiRequests, AnswersBecomeStatuses) {
  HttpResponse response;
  response.status = 409;
  response.body = R"({"kind":"Status","code":409,"message":"it is taken"})";
  EXPECT_EQ(status_of_answer(response).reason, StoreReason::kConflict);
  EXPECT_EQ(status_of_answer(response).message, "it is taken");
  response = {};
  response.problem = "connection refused";
  EXPECT_EQ(status_of_answer(response).reason, StoreReason::kServiceUnavailable);
  EXPECT_EQ(status_of_answer(response).message, "connection refused");
  response.status = 201;
  EXPECT_TRUE(status_of_answer(response).is_success());
}

}  // namespace
}  // namespace berth
