// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/perf/perf_files.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>

namespace berth::test {
namespace {

const std::map<std::string, std::string> kTemplates = {
    {"nodes.yaml", R"(apiVersion: v1
kind: Node
metadata: {generateName: made-}
status: {capacity: {pods: "20", cpu: "2", memory: 4Gi}}
)"},
    {"numbered-node.yaml", R"(apiVersion: v1
kind: Node
metadata: {name: "node-{{ .Index }}"}
spec: {unschedulable: true}
status: {capacity: {pods: "20", cpu: "2", memory: 4Gi}}
)"},
    {"numbered-node-update.yaml", R"(apiVersion: v1
kind: Node
metadata: {name: "node-{{ .Index }}", labels: {ready: "yes"}}
status: {capacity: {pods: "20", cpu: "8", memory: 4Gi}}
)"},
    {"pod.yaml", R"(apiVersion: v1
kind: Pod
metadata: {generateName: pod-, labels: {kind: plain}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]
)"},
    {"numbered-pod.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: "pod-{{.Index}}"}
spec:
  containers: [{name: c, image: i, resources: {requests: {memory: "{{div 1000 .Count}}Mi"}}}]
)"},
    {"claim-pod.yaml", R"(apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
)"},
    {"extender.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://e", filterVerb: filter}]
)"},
    {"out-of-tree.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]
)"},
    {"volume.yaml", "apiVersion: v1\nkind: PersistentVolume\nspec: {csi: {driver: d.example.com}}\n"},
    {"claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nspec: {accessModes: [ReadOnlyMany]}\n"},
    {"device-class.yaml", "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: d}\nspec: {}\n"},
    {"service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {generateName: s-}\nspec: {selector: {app: x}}\n"},
};

/// Removes its folder.
struct Folder {
  std::string path;
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-perf-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = pattern + "/";
    for (const auto& [name, text] : kTemplates) std::ofstream(path + name) << text;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

const std::string& template_folder() {
  static const Folder kFolder;
  return kFolder.path;
}

PerfFile small_file(const std::string& ops, const std::string& workload) {
  const std::string text = "- name: Case\n  workloadTemplate:\n" + ops + "  workloads:\n  - name: Small\n" + workload;
  return parse_perf_file(text, template_folder() + "performance-config.yaml");
}

WorkloadPlan small_plan(const std::string& ops, const std::string& workload, PlanScale scale) {
  const PerfFile file = small_file(ops, workload);
  const PerfTestCase& test_case = file.cases.at(0);
  return plan_workload(file, test_case, test_case.workloads.at(0), PlanDepth::kWhole, scale);
}

}  // namespace berth::test
