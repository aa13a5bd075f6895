// SPDX-License-Identifier: Apache-2.0
#include "host/objects/label_keys.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "host/objects/json_out.h"
#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Requirements = std::vector<SelectorRequirement>;

/// A pod with one required anti-affinity term of these JSON fields.
std::string pod_with_term(const std::string& term, const std::string& labels = R"("app":"web","rev":"7")") {
  return pod_json(R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)" + term +
                      R"("topologyKey":"k"}]}},)",
                  "", R"("labels":{)" + labels + "},");
}

const LabelSelector& selector_of(const ClusterObjects& objects) {
  return objects.pods.at(0)->spec->pod_anti_affinity.value().required.at(0).label_selector.value();
}

TEST(LabelKeys, BecomeRequirementsWithThePodsValues) {
  const auto objects = load_good(pod_with_term(
      R"("labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["rev","gone"],"mismatchLabelKeys":["app"],)"));
  EXPECT_EQ(selector_of(objects).match_expressions,
            (Requirements{{"rev", SelectorOperator::kIn, {"7"}}, {"app", SelectorOperator::kNotIn, {"web"}}}));
  EXPECT_EQ(selector_of(objects).match_labels, (LabelMap{{"app", "web"}}));
}

TEST(LabelKeys, OfPreferredTermsAreMerged) {
  const auto objects = load_good(pod_json(
      R"("affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{
      "labelSelector":{},"matchLabelKeys":["rev"],"topologyKey":"k"}}]}},)",
      "", R"("labels":{"rev":"7"},)"));
  EXPECT_EQ(
      objects.pods.at(0)->spec->pod_affinity.value().preferred.at(0).term.label_selector.value().match_expressions,
      (Requirements{{"rev", SelectorOperator::kIn, {"7"}}}));
}

TEST(LabelKeys, AreNotMergedAgainAfterAnApiServer) {
  const auto objects = load_good(pod_with_term(
      R"("labelSelector":{"matchExpressions":[{"key":"rev","operator":"In","values":["6"]}]},"matchLabelKeys":["rev"],)"));
  EXPECT_EQ(selector_of(objects).match_expressions, (Requirements{{"rev", SelectorOperator::kIn, {"6"}}}))
      << "the label was edited after the pod was made";
}

TEST(LabelKeys, AreMergedDespiteARequirementWithAnotherOperator) {
  const auto objects = load_good(pod_with_term(
      R"("labelSelector":{"matchExpressions":[{"key":"rev","operator":"Exists"}]},"matchLabelKeys":["rev"],)"));
  EXPECT_EQ(selector_of(objects).match_expressions.size(), 2u);
}

TEST(LabelKeys, AreIgnoredForANullSelector) {
  const auto objects = load_good(pod_with_term(R"("matchLabelKeys":["rev"],)"));
  EXPECT_FALSE(objects.pods.at(0)->spec->pod_anti_affinity.value().required.at(0).label_selector.has_value());
}

TEST(LabelKeys, DoNotCopyASpecWithoutAdditions) {
  ObjectPools pools;
  PodSpec spec;
  spec.pod_affinity.emplace().required.push_back({LabelSelector{}, {}, {}, "k", {"gone"}, {}});
  const SpecPtr before = pools.spec(std::move(spec));
  EXPECT_EQ(with_label_keys(before, {{"rev", "7"}}, pools), before);
  EXPECT_NE(with_label_keys(before, {{"gone", "7"}}, pools), before);
}

TEST(LabelKeys, KeepOneSpecForEqualPods) {
  const std::string term = R"("labelSelector":{},"matchLabelKeys":["rev"],)";
  std::string text = pod_with_term(term) + pod_with_term(term) + pod_with_term(term, R"("rev":"8")");
  for (const char* name : {"a", "b", "c"})
    text.replace(text.find(R"("name":"p")"), 10, R"("name":")" + std::string(name) + '"');
  const auto objects = load_good(text);
  EXPECT_EQ(objects.pods.at(0)->spec, objects.pods.at(1)->spec);
  EXPECT_NE(objects.pods.at(0)->spec, objects.pods.at(2)->spec);
}

TEST(LabelKeys, AreMergedWithLabelsAddedByAController) {
  const auto objects = load_good(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: k, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]}
)");
  EXPECT_EQ(selector_of(objects).match_expressions,
            (Requirements{{"pod-template-hash", SelectorOperator::kIn, {"berth"}}}));
  EXPECT_EQ(objects.pods.at(0)->spec, objects.pods.at(1)->spec);
}

TEST(LabelKeys, RoundTripThroughWriting) {
  const auto objects = load_good(pod_with_term(R"("labelSelector":{},"matchLabelKeys":["rev"],)"));
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  ObjectListWriter writer(file);
  writer.write(*objects.pods.at(0));
  EXPECT_TRUE(writer.finish());
  std::fclose(file);
  const auto again = load_good(std::string_view(text, size));
  std::free(text);
  EXPECT_EQ(*again.pods.at(0)->spec, *objects.pods.at(0)->spec);
}

}  // namespace
}  // namespace berth
