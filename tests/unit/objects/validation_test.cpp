// SPDX-License-Identifier: Apache-2.0
#include "host/objects/validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

/// A pod that no check has anything to say about.
std::string good_pod(const std::string& spec = "", const std::string& container = "",
                     const std::string& metadata = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p")" + metadata + R"(},"spec":{)" + spec +
         R"("containers":[{"name":"c","image":"i")" + container + "}]}}";
}

std::string affinity(const std::string& content) { return good_pod(R"("affinity":{)" + content + "},"); }
std::string required_node_terms(const std::string& terms) {
  return affinity(R"("nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" + terms +
                  "]}}");
}
std::string anti_affinity_term(const std::string& term) {
  return affinity(R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)" + term + "}]}");
}
std::string spread(const std::string& constraint) {
  return good_pod(R"("topologySpreadConstraints":[{)" + constraint + "}],");
}
std::string node(const std::string& content) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},)" + content + "}";
}
std::string workload(const std::string& kind, const std::string& spec, const std::string& pod_spec = "") {
  const std::string version = kind == "Job" ? "batch/v1" : kind == "ReplicationController" ? "v1" : "apps/v1";
  return R"({"apiVersion":")" + version + R"(","kind":")" + kind + R"(","metadata":{"name":"w"},"spec":{)" + spec +
         R"("template":{"metadata":{"labels":{"app":"x"}},"spec":{)" + pod_spec +
         R"("containers":[{"name":"c","image":"i"}]}}}})";
}
std::string object(const std::string& version, const std::string& kind, const std::string& rest) {
  return R"({"apiVersion":")" + version + R"(","kind":")" + kind + R"(","metadata":{"name":"o"})" + rest + "}";
}

/// The same pod with the label app=x.
std::string labelled(std::string pod) {
  constexpr std::string_view kName = R"("name":"p")";
  return pod.insert(pod.find(kName) + kName.size(), R"(,"labels":{"app":"x"})");
}

constexpr auto kZone = R"("topologyKey":"zone")";
constexpr auto kHard = R"("whenUnsatisfiable":"DoNotSchedule")";

struct Case {
  std::string id;
  std::string text;
  std::string finding;  ///< without the file's name
};

std::vector<Case> cases() {
  const std::string hard = std::string(kZone) + "," + kHard;
  const std::string two_keys = R"("labelSelector":{"matchLabels":{"app":"x"}},"matchLabelKeys":["app"],)";
  const std::string twice_required = R"("labelSelector":{"matchLabels":{"app":"x"},"matchExpressions":[
      {"key":"app","operator":"Exists"}]},"matchLabelKeys":["app"],)";
  const std::string resources = R"(,"resources":)";
  return {
      {"unknown-field", good_pod(R"("quantumAffinity":1,)"),
       "spec.quantumAffinity (Pod default/p): unknown to PodSpec of Kubernetes 1.35 and 1.36 and not read"},
      {"unknown-field", good_pod(R"("nodeselector":{"a":"b"},)"),
       "spec.nodeselector (Pod default/p): PodSpec has no such field and it is not read, expected nodeSelector"},
      {"unknown-field", good_pod(R"("toleration":[],)"),
       "spec.toleration (Pod default/p): PodSpec has no such field and it is not read, expected tolerations"},
      {"unknown-field", good_pod(R"("podAntiAffinity":{},)"),
       "spec.podAntiAffinity (Pod default/p): PodSpec has no such field and it is not read; it is a field of Affinity"},
      {"unknown-field", affinity(R"("podantiaffinity":{})"),
       "spec.affinity.podantiaffinity (Pod default/p): Affinity has no such field and it is not read, expected "
       "podAntiAffinity"},
      {"unknown-field",
       affinity(R"("nodeAffinity":{"requiredDuringSchedulingRequiredDuringExecution":{"nodeSelectorTerms":[]}})"),
       "spec.affinity.nodeAffinity.requiredDuringSchedulingRequiredDuringExecution (Pod default/p): NodeAffinity has "
       "no "
       "such field and it is not read"},
      {"unknown-field", anti_affinity_term(std::string(kZone) + R"(,"labelselector":{})"),
       "labelselector (Pod default/p)"},
      {"unknown-field", good_pod("", R"(,"resource":{"requests":{"cpu":"1"}})"),
       "spec.containers[0].resource (Pod default/p): Container has no such field and it is not read, expected "
       "resources"},
      {"unknown-field", good_pod("", R"(,"resources":{"request":{"cpu":"1"}})"), "expected requests"},
      {"unknown-field", good_pod(R"("tolerations":[{"key":"a","operater":"Exists"}],)"), "expected operator"},
      {"unknown-field", spread(hard + R"(,"maxSkew":1,"minDomain":2)"), "expected minDomains"},
      {"unknown-field", good_pod("", "", R"(,"label":{"a":"b"})"), "metadata.label (Pod default/p)"},
      {"unknown-field", node(R"("status":{"allocateable":{"cpu":"1"}})"), "status.allocateable (Node n)"},
      {"unknown-field", node(R"("spec":{"taint":[]})"), "spec.taint (Node n)"},
      {"unknown-field", workload("Deployment", R"("selector":{"matchLabels":{"app":"x"}},"replica":3,)"),
       "spec.replica (Deployment default/w): DeploymentSpec has no such field and it is not read, expected replicas"},
      {"unknown-field", object("scheduling.k8s.io/v1", "PriorityClass", R"(,"Value":5)"), "expected value"},
      {"unknown-field", affinity(R"("nodeAffinity":{"requiredDuringScheduling":{"nodeSelectorTerms":[]}})"),
       "expected requiredDuringSchedulingIgnoredDuringExecution"},
      {"unknown-field", affinity(R"("podAffinity":{"required":[]})"),
       "expected requiredDuringSchedulingIgnoredDuringExecution"},
      {"unknown-field", affinity(R"("anti-affinity":{})"), "expected podAntiAffinity"},
      {"unknown-field", good_pod("", R"(,"resources":{"cpu":1})"),
       "spec.containers[0].resources.cpu (Pod default/p): unknown to ResourceRequirements"},
      {"unknown-field", good_pod(R"("tolerations":[{"key":"a","op":"Exists"}],)"), "expected operator"},
      {"unknown-field", spread(hard + R"(,"maxSkew":1,"selector":{})"), "expected labelSelector"},
      {"unknown-field", spread(hard + R"(,"maxSkew":1,"skew":2)"), "expected maxSkew"},
      {"unknown-field", workload("DaemonSet", R"("selector":{"matchLabels":{"app":"x"}},"replicas":3,)"),
       "spec.replicas (DaemonSet default/w): unknown to DaemonSetSpec of Kubernetes 1.35 and 1.36 and not read"},
      {"unknown-field", good_pod("", R"(,"containerPort":80)"), "it is a field of ContainerPort"},
      {"duplicate-field", good_pod(R"("nodeSelector":{"a":"b"},"nodeSelector":{"a":"c"},)"),
       "spec.nodeSelector (Pod default/p): stands twice, expected once"},
      {"duplicate-field", good_pod(R"("nodeSelector":{"a":"b","a":"c"},)"), "spec.nodeSelector.a (Pod default/p)"},
      {"duplicate-field", good_pod("", R"(,"image":"j")"), "spec.containers[0].image (Pod default/p)"},
      {"duplicate-field", good_pod("", "", R"(,"labels":{"a":"b","a":"c"})"), "metadata.labels.a (Pod default/p)"},
      {"name", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"Node_1"}})",
       R"(metadata.name (Node Node_1): got)"},
      {"name", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a.b"}})",
       "metadata.name (Namespace a.b): got"},
      {"name", good_pod("", "", R"(,"namespace":"A")"), R"(metadata.namespace (Pod A/p): got "A")"},
      {"labels", good_pod("", "", R"(,"labels":{"x":"not a label!"})"),
       R"(metadata.labels.x (Pod default/p): got "not a label!", expected a label value)"},
      {"labels", good_pod("", "", R"(,"labels":{"-x":"y"})"),
       "metadata.labels.-x (Pod default/p): the key is no qualified name"},
      {"referenced-name", good_pod(R"("nodeName":"A B",)"), R"(spec.nodeName (Pod default/p): got "A B")"},
      {"referenced-name", good_pod(R"("priority":1,"priorityClassName":"A B",)"), "spec.priorityClassName"},
      {"containers", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[]}})",
       "spec.containers (Pod default/p): got an array, expected at least one container"},
      {"container-name", good_pod(R"("initContainers":[{"name":"c","image":"i"}],)"),
       R"(spec.initContainers[0].name (Pod default/p): got "c", expected a name that stands once)"},
      {"container-name", good_pod(R"("initContainers":[{"name":"C","image":"i"}],)"), "spec.initContainers[0].name"},
      {"container-port", good_pod("", R"(,"ports":[{"hostPort":80}])"),
       "spec.containers[0].ports[0].containerPort (Pod default/p): got nothing, expected a port from 1 to 65535"},
      {"port-protocol", good_pod("", R"(,"ports":[{"containerPort":80,"protocol":"tcp"}])"),
       R"(spec.containers[0].ports[0].protocol (Pod default/p): got "tcp", expected TCP, UDP or SCTP)"},
      {"host-port-conflict", good_pod("", R"(,"ports":[{"containerPort":80,"hostPort":80},
          {"containerPort":81,"hostPort":80,"protocol":"TCP"}])"),
       "spec.containers[0].ports[1].hostPort (Pod default/p): got 80, expected a port that no container of the pod "
       "has"},
      {"host-network-port", good_pod(R"("hostNetwork":true,)", R"(,"ports":[{"containerPort":80,"hostPort":81}])"),
       "spec.containers[0].ports[0].hostPort (Pod default/p): got 81, expected the containerPort"},
      {"resource-name", good_pod("", resources + R"({"requests":{"cpus":"1"}})"),
       "spec.containers[0].resources.requests.cpus (Pod default/p): no scheduler counts a resource of that name"},
      {"resource-name", good_pod("", resources + R"({"limits":{"requests.example.com/a":"1"}})"),
       "spec.containers[0].resources.limits[requests.example.com/a]"},
      {"resource-name", good_pod(R"("overhead":{"pods":"1"},)"), "spec.overhead.pods"},
      {"whole-resource", good_pod("", resources + R"({"requests":{"a.b/gpu":"0.5"}})"),
       R"(spec.containers[0].resources.requests[a.b/gpu] (Pod default/p): got "0.5", expected a whole number)"},
      {"whole-resource", node(R"("status":{"allocatable":{"pods":"1.5"}})"), "status.allocatable.pods (Node n)"},
      {"request-above-limit", good_pod("", resources + R"({"requests":{"cpu":"2"},"limits":{"cpu":"1"}})"),
       R"(spec.containers[0].resources.requests.cpu (Pod default/p): got "2", expected at most the limit, 1)"},
      {"no-overcommit", good_pod("", resources + R"({"requests":{"a.b/gpu":1},"limits":{"a.b/gpu":2}})"),
       "spec.containers[0].resources.requests[a.b/gpu] (Pod default/p): got 1, expected the limit, 2"},
      {"huge-pages", good_pod("", resources + R"({"limits":{"hugepages-2Mi":"2Mi"}})"),
       "spec.containers[0].resources (Pod default/p): huge pages alone"},
      {"huge-pages", good_pod("", resources + R"({"limits":{"cpu":"1","hugepages-2Mi":"3Mi"}})"),
       R"(got "3Mi", expected a multiple of the page size)"},
      {"container-claim", good_pod("", resources + R"({"claims":[{"name":"gpu"}]})"),
       R"(spec.containers[0].resources.claims[0].name (Pod default/p): got "gpu")"},
      {"container-claim",
       good_pod(R"("resourceClaims":[{"name":"g","resourceClaimName":"x"}],)",
                resources + R"({"claims":[{"name":"g","request":"a"},{"name":"g"}]})"),
       "spec.containers[0].resources.claims[1] (Pod default/p): names what an earlier entry names"},
      {"container-claim",
       good_pod(R"("resourceClaims":[{"name":"g","resourceClaimName":"x"}],)",
                resources + R"({"claims":[{"name":"g","request":"A!"}]})"),
       R"(claims[0].request (Pod default/p): got "A!")"},
      {"container-restart-policy", good_pod(R"("initContainers":[{"name":"d","image":"i","restartPolicy":""}],)"),
       R"(spec.initContainers[0].restartPolicy (Pod default/p): got "", expected Always, OnFailure or Never)"},
      {"container-restart-policy", good_pod("", R"(,"restartPolicy":"")"),
       R"(spec.containers[0].restartPolicy (Pod default/p): got "")"},
      {"preemption-policy", good_pod(R"("preemptionPolicy":"",)"),
       R"(spec.preemptionPolicy (Pod default/p): got "", expected PreemptLowerPriority or Never)"},
      {"preemption-policy", object("scheduling.k8s.io/v1", "PriorityClass", R"(,"value":1,"preemptionPolicy":"")"),
       R"(preemptionPolicy (PriorityClass o): got "")"},
      {"container-restart-policy", good_pod(R"("initContainers":[{"name":"d","image":"i","restartPolicy":"always"}],)"),
       R"(spec.initContainers[0].restartPolicy (Pod default/p): got "always", expected Always, OnFailure or Never)"},
      {"restart-rule", good_pod("", R"(,"restartPolicy":"Never","restartPolicyRules":[{"action":"restart"}])"),
       R"(restartPolicyRules[0].action (Pod default/p): got "restart")"},
      {"restart-rule", good_pod("", R"(,"restartPolicyRules":[{"action":"Restart"}])"),
       "expected a restartPolicy beside"},
      {"pod-restart-policy", good_pod(R"("restartPolicy":"always",)"),
       R"(spec.restartPolicy (Pod default/p): got "always", expected Always, OnFailure or Never)"},
      {"pod-restart-policy",
       workload("Deployment", R"("selector":{"matchLabels":{"app":"x"}},)", R"("restartPolicy":"Never",)"),
       R"(spec.template.spec.restartPolicy (Deployment default/w): got "Never", expected Always for a Deployment)"},
      {"pod-restart-policy", workload("Job", ""), "got nothing, expected OnFailure or Never for a Job"},
      {"pod-level-resources", good_pod(R"("resources":{"requests":{"a.b/gpu":"1"}},)"),
       "spec.resources.requests[a.b/gpu] (Pod default/p): expected only cpu, memory and huge pages"},
      {"pod-level-resources",
       good_pod(R"("resources":{"requests":{"cpu":"1"}},)", resources + R"({"requests":{"cpu":"2"}})"),
       R"(spec.resources.requests.cpu (Pod default/p): got "1", expected at least the containers' requests, 2)"},
      {"pod-level-resources",
       good_pod(R"("resources":{"limits":{"cpu":"1"}},)", resources + R"({"limits":{"cpu":"2"}})"),
       "expected at least the limit of each container, 2"},
      {"request-above-limit", good_pod(R"("resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}},)"),
       R"(spec.resources.requests.cpu (Pod default/p): got "2", expected at most the limit, 1)"},
      {"no-overcommit",
       good_pod(R"("resources":{"requests":{"cpu":"1","hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"4Mi"}},)"),
       R"(spec.resources.requests.hugepages-2Mi (Pod default/p): got "2Mi", expected the limit, 4194304)"},
      {"huge-pages", good_pod(R"("resources":{"requests":{"hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"2Mi"}},)"),
       "spec.resources (Pod default/p): huge pages alone"},
      {"huge-pages", good_pod(R"("resources":{"limits":{"cpu":"1","hugepages-2Mi":"3Mi"}},)"),
       R"(spec.resources.limits.hugepages-2Mi (Pod default/p): got "3Mi", expected a multiple of the page size)"},
      {"pod-level-resources",
       good_pod(R"("resources":{"limits":{"cpu":"1"}},)", resources + R"({"requests":{"cpu":"2"}})"),
       R"(spec.resources.limits.cpu (Pod default/p): got "1", expected at least the containers' requests, 2)"},
      {"pod-level-resources",
       good_pod(R"("resources":{"limits":{"cpu":"1","hugepages-2Mi":"2Mi"}},)",
                resources + R"({"limits":{"cpu":"1","hugepages-2Mi":"4Mi"}})"),
       R"(spec.resources.limits.hugepages-2Mi (Pod default/p): got "2Mi", expected at least the containers' limits, 4194304)"},
      {"volume", good_pod(R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":""}}],)"),
       R"(claimName (Pod default/p): got "", expected the name of a claim)"},
      {"volume", good_pod(R"("volumes":[{"name":"v","persistentVolumeClaim":{}}],)"),
       "spec.volumes[0].persistentVolumeClaim.claimName (Pod default/p): got nothing, expected the name of a claim"},
      {"volume", good_pod(R"("volumes":[{"name":"v","emptyDir":{},"hostPath":{}}],)"), "more than one source"},
      {"volume", good_pod(R"("volumes":[{"name":"v"},{"name":"v"}],)"), "expected a name that stands once"},
      {"resource-claim", good_pod(R"("resourceClaims":[{"name":"a"}],)"),
       "spec.resourceClaims[0] (Pod default/p): expected either resourceClaimName or resourceClaimTemplateName"},
      {"resource-claim", good_pod(R"("resourceClaims":[{"name":"a","resourceClaimName":"A_b"}],)"),
       R"(spec.resourceClaims[0].resourceClaimName (Pod default/p): got "A_b", expected the name of an object)"},
      {"resource-claim", good_pod(R"("resourceClaims":[{"name":"a","resourceClaimTemplateName":""}],)"),
       R"(spec.resourceClaims[0].resourceClaimTemplateName (Pod default/p): got "")"},
      {"resource-claim",
       good_pod(R"("resourceClaims":[{"name":"a","resourceClaimName":"b"},{"name":"a","resourceClaimName":"c"}],)"),
       R"(spec.resourceClaims[1].name (Pod default/p): got "a", expected a name that stands once)"},
      {"scheduling-gate", good_pod(R"("schedulingGates":[{"name":"a"},{"name":"a"}],)"),
       "expected a gate that stands once"},
      {"scheduling-gate", good_pod(R"("schedulingGates":[{}],)"),
       "spec.schedulingGates[0].name (Pod default/p): got nothing"},
      {"gated-node-name", good_pod(R"("nodeName":"n","schedulingGates":[{"name":"a"}],)"),
       R"(spec.nodeName (Pod default/p): got "n", expected no node while schedulingGates has entries)"},
      {"node-selector", good_pod(R"("nodeSelector":{"a":"b c"},)"),
       R"(spec.nodeSelector.a (Pod default/p): got "b c")"},
      {"node-selector-terms", required_node_terms(""),
       "nodeSelectorTerms (Pod default/p): no term, expected at least one"},
      {"node-requirement", required_node_terms(R"({"matchExpressions":[{"key":"a","operator":"In"}]})"), "no value"},
      {"node-requirement",
       required_node_terms(R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})"),
       "expected no values for Exists"},
      {"node-requirement",
       required_node_terms(R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1","2"]}]})"),
       "expected exactly one value for Gt and Lt"},
      {"node-requirement", required_node_terms(R"({"matchExpressions":[{"key":"a b","operator":"Exists"}]})"),
       R"(got "a b")"},
      {"node-requirement",
       required_node_terms(R"({"matchExpressions":[{"key":"a","operator":"In","values":["b c"]}]})"),
       R"(values[0] (Pod default/p): got "b c")"},
      {"node-field", required_node_terms(R"({"matchFields":[{"key":"metadata.uid","operator":"In","values":["n"]}]})"),
       R"(got "metadata.uid", expected metadata.name)"},
      {"node-field", required_node_terms(R"({"matchFields":[{"key":"metadata.name","operator":"Exists"}]})"),
       R"(got "Exists", expected In or NotIn)"},
      {"node-field",
       required_node_terms(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["a","b"]}]})"),
       "expected exactly one value"},
      {"preference-weight", affinity(R"("nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":0,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}]})"),
       "weight (Pod default/p): got 0, expected a weight from 1 to 100"},
      {"affinity-topology-key", anti_affinity_term(R"("labelSelector":{})"),
       "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey (Pod default/p): "
       "got "
       "nothing, expected a node label"},
      {"affinity-namespaces", anti_affinity_term(std::string(kZone) + R"(,"namespaces":["A"])"),
       R"(namespaces[0] (Pod)"},
      {"label-selector",
       anti_affinity_term(std::string(kZone) +
                          R"(,"labelSelector":{"matchExpressions":[{"key":"a","operator":"In"}]})"),
       "no value, expected at least one for In and NotIn"},
      {"label-selector", anti_affinity_term(std::string(kZone) + R"(,"labelSelector":{"matchLabels":{"a":"b c"}})"),
       R"(matchLabels.a (Pod default/p): got "b c")"},
      {"label-selector",
       object("policy/v1", "PodDisruptionBudget", R"(,"spec":{"selector":{"matchLabels":{"a b":"c"}}})"),
       "(PodDisruptionBudget default/o): the key is no qualified name"},
      {"label-keys", anti_affinity_term(std::string(kZone) + R"(,"matchLabelKeys":["app"])"),
       "expected a labelSelector beside"},
      {"label-keys", labelled(anti_affinity_term(two_keys + kZone)),
       R"(matchLabelKeys[0] (Pod default/p): got "app", expected a key that the labelSelector does not require)"},
      {"label-keys", anti_affinity_term(twice_required + kZone), "expected a key that the labelSelector does not"},
      {"label-keys",
       labelled(anti_affinity_term(R"("labelSelector":{},"matchLabelKeys":["app","app"],)" + std::string(kZone))),
       R"(matchLabelKeys[1] (Pod default/p): got "app", expected a key that stands once)"},
      {"label-keys",
       labelled(affinity(R"("podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,
           "podAffinityTerm":{)" +
                         two_keys + kZone + "}}]}")),
       "preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys[0]"},
      {"label-keys",
       anti_affinity_term(R"("labelSelector":{},"matchLabelKeys":["b"],"mismatchLabelKeys":["b"],)" +
                          std::string(kZone)),
       R"(got "b", expected a key that is not in mismatchLabelKeys)"},
      {"label-keys", labelled(spread(two_keys + R"("maxSkew":1,)" + hard)),
       "topologySpreadConstraints[0].matchLabelKeys[0]"},
      {"max-skew", spread(R"("maxSkew":0,)" + hard),
       "spec.topologySpreadConstraints[0].maxSkew (Pod default/p): got 0, expected at least 1"},
      {"max-skew", spread(R"("maxSkew":-1,)" + hard), "got -1, expected at least 1"},
      {"max-skew", spread(hard), "got nothing, expected at least 1"},
      {"spread-topology-key", spread(R"("maxSkew":1,)" + std::string(kHard)),
       "topologyKey (Pod default/p): got nothing"},
      {"min-domains", spread(R"("maxSkew":1,"minDomains":0,)" + hard),
       "minDomains (Pod default/p): got 0, expected at least 1"},
      {"min-domains",
       spread(std::string(kZone) + R"(,"maxSkew":1,"minDomains":2,"whenUnsatisfiable":"ScheduleAnyway")"),
       "expected only where whenUnsatisfiable is DoNotSchedule"},
      {"spread-duplicate", spread(R"("maxSkew":1,)" + hard + R"(},{"maxSkew":2,)" + hard),
       "spec.topologySpreadConstraints[1] (Pod default/p): has the topologyKey and whenUnsatisfiable of an earlier"},
      {"toleration-key", good_pod(R"("tolerations":[{"key":"a b","operator":"Exists"}],)"), R"(got "a b")"},
      {"toleration-key", good_pod(R"("tolerations":[{"value":"v"}],)"),
       "got nothing, expected a key, or the operator Exists"},
      {"toleration-value", good_pod(R"("tolerations":[{"key":"a","operator":"Exists","value":"v"}],)"),
       R"(got "v", expected no value beside the operator Exists)"},
      {"toleration-value", good_pod(R"("tolerations":[{"key":"a","value":"b c"}],)"), R"(got "b c")"},
      {"toleration-value", good_pod(R"("tolerations":[{"key":"a","operator":"Gt","value":"01"}],)"),
       "expected an integer"},
      {"toleration-seconds", good_pod(R"("tolerations":[{"key":"a","operator":"Exists","tolerationSeconds":3}],)"),
       "expected only beside the effect NoExecute"},
      {"toleration-duplicate",
       object("node.k8s.io/v1", "RuntimeClass",
              R"(,"handler":"h","scheduling":{"tolerations":[{"operator":"Exists"},{"operator":"Exists"}]})"),
       "scheduling.tolerations[1] (RuntimeClass o): stands twice"},
      {"taint", node(R"("spec":{"taints":[{"key":"a b","effect":"NoSchedule"}]})"), R"(got "a b")"},
      {"taint-duplicate",
       node(R"("spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoSchedule"}]})"),
       "spec.taints[1] (Node n): has key and effect of an earlier taint"},
      {"declared-features", node(R"("status":{"declaredFeatures":["B","A"]})"),
       R"(got "A", expected names in sorted order)"},
      {"declared-features", node(R"("status":{"declaredFeatures":["low"]})"), R"(got "low", expected a name such as)"},
      {"priority-value", object("scheduling.k8s.io/v1", "PriorityClass", R"(,"value":1000000001)"),
       "value (PriorityClass o): got 1000000001, expected at most 1000000000"},
      {"priority-value",
       R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-mine"},"value":1})",
       "expected a name without"},
      {"service-selector", object("v1", "Service", R"(,"spec":{"selector":{"a":"b c"}})"),
       "spec.selector.a (Service default/o)"},
      {"disruptions-allowed", object("policy/v1", "PodDisruptionBudget", R"(,"status":{"disruptionsAllowed":-1})"),
       "got -1, expected at least 0"},
      {"workload-selector", workload("Deployment", ""),
       "spec.selector (Deployment default/w): got nothing, expected a selector"},
      {"workload-selector", workload("StatefulSet", R"("selector":{},)"),
       "spec.selector (StatefulSet default/w): empty"},
      {"selector-template", workload("DaemonSet", R"("selector":{"matchLabels":{"app":"y"}},)"),
       "spec.selector (DaemonSet default/w): does not match the labels of spec.template"},
      {"selector-template", workload("ReplicationController", R"("selector":{"app":"y"},)"), "does not match"},
      {"indexed-job", workload("Job", R"("completionMode":"indexed",)", R"("restartPolicy":"Never",)"),
       R"(spec.completionMode (Job default/w): got "indexed", expected Indexed or NonIndexed)"},
      {"indexed-job", workload("Job", R"("completionMode":"",)", R"("restartPolicy":"Never",)"), R"(got "")"},
      {"indexed-job", workload("Job", R"("completionMode":"Indexed",)", R"("restartPolicy":"Never",)"),
       "spec.completions (Job default/w): got nothing, expected a number"},
  };
}

/// The findings of a load, without the closing line that counts them.
Strings findings_of(const std::string& text) {
  LoadResult result = load_cluster_from_text(text, "test", {});
  EXPECT_EQ(texts(result.problems), Strings{}) << text;
  Strings warnings = result.objects.warnings;
  if (!warnings.empty()) warnings.pop_back();
  return warnings;
}

TEST(Validation, EachCheckReportsItsValueAndReadsItAsStored) {
  for (const Case& one : cases()) {
    const Strings found = findings_of(one.text);
    ASSERT_EQ(found.size(), 1u) << one.id << "\n" << one.text << "\n" << testing::PrintToString(found);
    EXPECT_NE(found[0].find(one.finding), std::string::npos) << found[0] << "\nlacks\n" << one.finding;
    EXPECT_TRUE(found[0].ends_with("[" + one.id + "]")) << found[0] << "\nis not " << one.id;
  }
}

TEST(Validation, StrictRefusesWhatFailsACheck) {
  LoadOptions strict;
  strict.strict = true;
  for (const Case& one : cases()) {
    const LoadResult result = load_cluster_from_text(one.text, "test", strict);
    EXPECT_EQ(result.problem_count, 1) << one.id << "\n" << one.text;
  }
}

TEST(Validation, StrictRefusesInLargeObjectsToo) {
  const std::string note(600'000, 'x');
  LoadOptions strict;
  strict.strict = true;
  const std::string annotations = R"(,"annotations":{"a":")" + note + R"(","b":")" + note + "\"}";
  const LoadResult result = load_cluster_from_text(good_pod(R"("nodeselector":{},)", "", annotations), "test", strict);
  EXPECT_EQ(result.problem_count, 1);
}

TEST(Validation, EveryCheckHasACase) {
  std::set<std::string_view> covered;
  const std::vector<Case> all = cases();
  for (const Case& one : all) covered.insert(one.id);
  for (const ValidationRule& rule : validation_rules()) EXPECT_TRUE(covered.contains(rule.id)) << rule.id;
}

TEST(Validation, TheTableOfTheDocumentationIsTheListOfChecks) {
  std::ifstream file("docs/objects.md");
  ASSERT_TRUE(file.is_open());
  Strings rows;
  bool is_in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| Check |")) is_in_table = true;
    if (is_in_table && line.empty()) break;
    if (is_in_table && line.starts_with("| `")) rows.push_back(line);
  }
  Strings wanted;
  for (const ValidationRule& rule : validation_rules()) {
    std::ostringstream row;
    row << "| `" << rule.id << "` | " << rule.fields << " | " << rule.rule << " | " << rule.stored << " |";
    wanted.push_back(row.str());
  }
  EXPECT_EQ(rows, wanted);
}

TEST(Validation, GoodObjectsHaveNoFindings) {
  const Strings good = {
      good_pod(),
      good_pod(
          R"("restartPolicy":"Never","nodeName":"node-1.example","hostNetwork":true,"tolerations":[{"operator":"Exists"},
        {"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"volumes":[{"name":"v","emptyDir":{}},
        {"name":"w"}],"resourceClaims":[{"name":"g","resourceClaimName":"x"}],"overhead":{"cpu":"1m"},)",
          R"(,"ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"resources":{"claims":[{"name":"g"}],
        "requests":{"cpu":"100m","a.b/gpu":"1"},"limits":{"cpu":"1","memory":"1Gi","a.b/gpu":"1","hugepages-2Mi":"4Mi"}})",
          R"(,"labels":{"app.kubernetes.io/name":"x"},"annotations":{"a":"b"},"managedFields":[])"),
      // What an API server has made of matchLabelKeys.
      labelled(
          anti_affinity_term(R"("labelSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["x"]}]},
        "matchLabelKeys":["app"],"topologyKey":"kubernetes.io/hostname")")),
      // Nothing is merged where the pod lacks the label.
      anti_affinity_term(R"("labelSelector":{"matchLabels":{"q":"1"}},"matchLabelKeys":["q","q"],)" +
                         std::string(kZone)),
      good_pod(R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"My_Claim"}}],)"),
      good_pod(R"("resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}},)"),
      good_pod(R"("resourceClaims":[{"name":"g","resourceClaimName":"x"}],)",
               R"(,"resources":{"claims":[{"name":"g","request":"a"},{"name":"g","request":"b"}]})"),
      workload("Job", R"("completionMode":"NonIndexed",)", R"("restartPolicy":"Never",)"),
      node(
          R"("spec":{"podCIDR":"10.0.0.0/24","taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]},
        "status":{"capacity":{},"allocatable":{"cpu":"3920m","pods":"110","a.b/gpu":"8"},"declaredFeatures":["A","A/b","B"],
        "conditions":[],"nodeInfo":{}})"),
      workload("Deployment", R"("replicas":2,"selector":{"matchLabels":{"app":"x"}},"strategy":{},)"),
      workload("StatefulSet", R"("serviceName":"s","selector":{"matchLabels":{"app":"x"}},"ordinals":{"start":1},)"),
      workload("DaemonSet", R"("selector":{"matchExpressions":[{"key":"app","operator":"In","values":["x","y"]}]},)"),
      workload("ReplicationController", ""),
      workload("Job", R"("completions":3,"completionMode":"Indexed",)", R"("restartPolicy":"OnFailure",)"),
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-node-critical"},
        "value":2000001000,"description":"d"})",
  };
  for (const std::string& text : good) EXPECT_EQ(findings_of(text), Strings{}) << text;
}

TEST(Validation, FoldsEqualFindings) {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (int i = 0; i < 42; ++i) {
    std::string pod = good_pod(R"("nodeselector":{"a":"b"},)");
    pod.replace(pod.find(R"("name":"p")"), 10, R"("name":"p)" + std::to_string(i) + '"');
    text += (i == 0 ? "" : ",") + pod;
  }
  const LoadResult result = load_cluster_from_text(text + "]}", "test", {});
  ASSERT_EQ(result.objects.warnings.size(), 2u);
  EXPECT_EQ(result.objects.warnings[0],
            "test: line 1, items[0].spec.nodeselector (Pod default/p0): PodSpec has no such field and it is not read, "
            "expected "
            "nodeSelector [unknown-field] (and 41 more like it)");
  EXPECT_EQ(result.objects.warnings[1],
            "42 values that an API server would refuse were read as stored; --strict refuses such objects; "
            "docs/objects.md lists the checks");
}

TEST(Validation, ASharedSpecIsCheckedWithTheLabelsOfEachPod) {
  const std::string spec =
      R"("labelSelector":{"matchLabels":{"app":"x"}},"matchLabelKeys":["app"],)" + std::string(kZone);
  std::string other = anti_affinity_term(spec);
  other.replace(other.find(R"("name":"p")"), 10, R"("name":"q")");
  const Strings found = findings_of(other + "\n" + labelled(anti_affinity_term(spec)));
  ASSERT_EQ(found.size(), 1U) << testing::PrintToString(found);
  EXPECT_NE(found[0].find("(Pod default/p)"), std::string::npos) << found[0];
}

TEST(Validation, AnEmptyPreemptionPolicyIsNotThatOfTheClass) {
  const ClusterObjects objects =
      load_cluster_from_text(R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"c"},
          "value":5,"preemptionPolicy":"Never"})" +
                                 good_pod(R"("preemptionPolicy":"","priorityClassName":"c",)"),
                             "test", {})
          .objects;
  ASSERT_EQ(objects.pods.size(), 1U);
  EXPECT_EQ(objects.pods[0]->preemption_policy, PreemptionPolicy::kPreemptLowerPriority);
}

TEST(Validation, TheLastOfRepeatedKeysCounts) {
  const LoadResult result = load_cluster_from_text(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"metadata":{"name":"p"},"spec":{"priority":1,"priority":2,
          "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":1},"requests":{"cpu":2}}}]}})",
      "test", {});
  ASSERT_EQ(result.objects.pods.size(), 1u);
  EXPECT_EQ(result.objects.pods[0]->name, "p");
  EXPECT_EQ(result.objects.pods[0]->priority, 2);
  EXPECT_EQ(find(result.objects.pods[0]->spec->containers[0].requests, "cpu")->value(), 2);
}

/// sigs.k8s.io/yaml and encoding/json both take the last; both refuse it under strict field validation.
TEST(Validation, ARepeatedKeyIsTheSameInYamlAndInJson) {
  const std::string yaml = R"(apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  priority: 1
  priority: 2
  nodeSelector: {a: b, a: c}
  containers: [{name: c, image: i}]
)";
  const LoadResult lenient = load_cluster_from_text(yaml, "test", {});
  EXPECT_EQ(lenient.problem_count, 0);
  ASSERT_EQ(lenient.objects.pods.size(), 1U);
  EXPECT_EQ(lenient.objects.pods[0]->priority, 2);
  EXPECT_EQ(lenient.objects.pods[0]->spec->node_selector.find("a"), "c");
  EXPECT_EQ(findings_of(yaml),
            (Strings{"test: line 5, spec.priority (Pod default/p): stands twice, expected once [duplicate-field]",
                     "test: line 7, spec.nodeSelector.a (Pod default/p): stands twice, expected once "
                     "[duplicate-field]"}));
  LoadOptions strict;
  strict.strict = true;
  EXPECT_EQ(texts(load_cluster_from_text(yaml, "test", strict).problems),
            Strings{"test: line 6: duplicate key \"priority\""});
}

TEST(Validation, ARepeatedKeyInAnAnchoredNodeIsAProblem) {
  EXPECT_EQ(problems_with_lines("apiVersion: v1\nkind: Pod\nmetadata: &m {name: p, name: q}\n"),
            Strings{"test: line 3: duplicate key \"name\""});
}

TEST(Validation, FinishedPodsAreNotChecked) {
  std::string pod = good_pod(R"("nodeselector":{},)");
  pod.insert(pod.size() - 1, R"(,"status":{"phase":"Failed"})");
  EXPECT_TRUE(load_cluster_from_text(pod, "test", {}).objects.warnings.empty());
}

}  // namespace
}  // namespace berth
