// SPDX-License-Identifier: Apache-2.0
// What a dump lacks, and the one command that brings it.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "host/objects/dump_command.h"
#include "tests/cli/program.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

const std::string kNode = R"(apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
)";

/// A pod as an API server stores it. @param spec  fields besides the containers, @param owner  of ReplicaSet "web-1"
std::string stored_pod(const std::string& name, const std::string& spec, bool owned = false) {
  const std::string owners =
      owned ? "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}], "
            : "";
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: u-" + name + ", labels: {app: web}, " +
         owners + "namespace: team}\nspec: {" + spec + "containers: [{name: c, image: i}]}\n";
}

std::string service() {
  return "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: team}\nspec: {selector: {app: web}}\n";
}

std::string selecting_namespaces() {
  return "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, "
         "labelSelector: {}}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "[{topologyKey: kubernetes.io/hostname, labelSelector: {}, namespaceSelector: {matchLabels: {a: b}}}]}}, ";
}

std::vector<std::string> notes_of(const std::string& cluster) {
  const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", "json"}, cluster);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(report, "schedule-report")) << run.out;
  return report.value("notes", std::vector<std::string>());
}

/// Notes that have `part`.
std::int64_t count(const std::vector<std::string>& notes, const std::string& part) {
  return std::count_if(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

TEST(MissingInputs, NamespacesAreNamedWhereASelectorReadsThem) {
  const std::string cluster = kNode + stored_pod("p", selecting_namespaces()) + stored_pod("q", selecting_namespaces());
  const std::vector<std::string> notes = notes_of(cluster);
  EXPECT_EQ(count(notes, "kubectl get namespaces -A -o json"), 1) << joined(notes);
  EXPECT_EQ(count(notes, "has no Namespace \"team\", whose labels a namespaceSelector of pods team/p and 1 more"), 1)
      << joined(notes);
  const std::string there = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
  EXPECT_EQ(notes_of(cluster + there), std::vector<std::string>());
}

TEST(MissingInputs, ControllersAndServicesAreNamedForDefaultSpreading) {
  const std::string cluster = kNode + stored_pod("p", "", true) + stored_pod("q", "", true);
  const std::vector<std::string> notes = notes_of(cluster);
  EXPECT_EQ(count(notes, "has no ReplicaSet \"web-1\", the owner of pods team/p and 1 more"), 1) << joined(notes);
  EXPECT_EQ(count(notes, "kubectl get replicasets -A -o json"), 1) << joined(notes);
  EXPECT_EQ(count(notes, "kubectl get services -A -o json"), 1) << joined(notes);
  const std::string there = R"(---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, namespace: team, uid: r}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
  spec: {containers: [{name: c, image: i}]}}}
)";
  EXPECT_EQ(notes_of(cluster + there + service()), std::vector<std::string>());
}

TEST(MissingInputs, ServicesAreNotMissedInHandWrittenInput) {
  EXPECT_EQ(notes_of(kNode + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: web}}\n"
                             "spec: {containers: [{name: c, image: i}]}\n"),
            std::vector<std::string>());
}

TEST(MissingInputs, ClaimsAreNamedWithTheTruthAboutThem) {
  const std::vector<std::string> notes =
      notes_of(kNode + service() + stored_pod("p", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], "));
  EXPECT_EQ(count(notes, "has no PersistentVolumeClaim \"team/data\" for the volume claims of pod team/p"), 1)
      << joined(notes);
}

std::string claim(const std::string& name, const std::string& spec) {
  return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + ", namespace: team}\nspec: {" +
         spec + "}\n";
}

std::string pod_with_claims(const std::string& pod, const std::vector<std::string>& claims) {
  std::string volumes;
  for (const std::string& name : claims)
    volumes += "{name: v-" + name + ", persistentVolumeClaim: {claimName: " + name + "}}, ";
  return stored_pod(pod, "volumes: [" + volumes + "], ");
}

TEST(MissingInputs, EachLinkBetweenPodsAndVolumesIsNamedOnce) {
  const std::string cluster = kNode + service() + pod_with_claims("p", {"a", "b", "bound", "waiting", "static"}) +
                              pod_with_claims("q", {"a", "bound", "waiting"}) +
                              claim("bound", "volumeName: pv-1, storageClassName: gone") +
                              claim("waiting", "storageClassName: fast") + claim("static", "storageClassName: \"\"");
  const std::vector<std::string> notes = notes_of(cluster);
  EXPECT_EQ(notes.size(), 4U) << joined(notes);
  EXPECT_EQ(count(notes,
                  "no PersistentVolumeClaim \"team/a\" and 1 more for the volume claims of pods team/p and 1 "
                  "more"),
            1)
      << joined(notes);
  EXPECT_EQ(count(notes, "no PersistentVolume \"pv-1\", bound to the volume claims of pods team/p and 1 more"), 1)
      << joined(notes);
  EXPECT_EQ(count(notes, "To add what is missing: kubectl get persistentvolumes -A -o json"), 1) << joined(notes);
  EXPECT_EQ(count(notes, "no StorageClass \"fast\", named by unbound volume claims of pods team/p and 1 more"), 1)
      << joined(notes);
  EXPECT_EQ(count(notes, "kubectl get storageclasses -A -o json"), 1) << joined(notes);
  const std::string there = claim("a", "volumeName: pv-1") + claim("b", "volumeName: pv-1") +
                            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-1}\n"
                            "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n";
  EXPECT_EQ(notes_of(cluster + there), std::vector<std::string>());
}

TEST(MissingInputs, WhatACsiDriverBringsIsMissedForItsVolumes) {
  const std::string storage_class =
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n"
      "provisioner: csi.example.com\nvolumeBindingMode: WaitForFirstConsumer\n";
  const std::string cluster = kNode + service() + pod_with_claims("p", {"a", "b"}) +
                              claim("a", "storageClassName: fast") + claim("b", "storageClassName: fast") +
                              storage_class;
  const std::vector<std::string> notes = notes_of(cluster);
  EXPECT_EQ(count(notes, "has no CSINode: how many volumes a node takes is not known, for pod team/p"), 1)
      << joined(notes);
  EXPECT_EQ(count(notes, "has no CSIDriver: whether free storage is checked is not known, for pod team/p"), 1)
      << joined(notes);
  const std::string csi_node =
      "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: node-1}\nspec: {drivers: []}\n";
  const std::string driver =
      "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: csi.example.com}\n"
      "spec: {storageCapacity: true}\n";
  const std::vector<std::string> rest = notes_of(cluster + csi_node + driver);
  EXPECT_EQ(count(rest, "has no CSIStorageCapacity: no node has free storage for pod team/p"), 1) << joined(rest);
  EXPECT_EQ(count(rest, "csistoragecapacities -A -o json"), 1) << joined(rest);
}

TEST(MissingInputs, ClaimsThatAreMadeWithTheirPodsAreNotMissed) {
  EXPECT_EQ(notes_of(kNode + service() + R"(---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: team}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates: [{metadata: {name: data}}]
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: hand-written, namespace: team}
spec: {volumes: [{name: v, ephemeral: {}}], containers: [{name: c, image: i}]}
)"),
            std::vector<std::string>());
  EXPECT_EQ(count(notes_of(kNode + service() + stored_pod("p", "volumes: [{name: v, ephemeral: {}}], ")),
                  "no PersistentVolumeClaim \"team/p-v\""),
            1);
}

TEST(MissingInputs, AClusterWithoutNodesIsNotedInTheReport) {
  const std::string empty = R"({"kind":"List","apiVersion":"v1","items":[]})";
  EXPECT_EQ(count(notes_of(empty), "the input has no Node"), 1);
  for (const char* format : {"bindings", "deletions"}) {
    const std::string said = run_berth({"schedule", "-f", "-", "-o", format}, empty).err;
    EXPECT_EQ(said.find("no Node"), said.rfind("no Node")) << said;
    EXPECT_NE(said.find("no Node"), std::string::npos);
  }
}

TEST(MissingInputs, RuntimeClassesAreNamedWhereAnOverheadMayBeMissing) {
  const std::string cluster =
      kNode + service() + stored_pod("p", "runtimeClassName: gone, ") + stored_pod("q", "runtimeClassName: gone, ");
  const std::vector<std::string> notes = notes_of(cluster);
  EXPECT_EQ(count(notes,
                  "the input has no RuntimeClass \"gone\": no overhead is added to pods team/p and 1 more. To "
                  "add what is missing: kubectl get runtimeclasses -A -o json"),
            1)
      << joined(notes);
  EXPECT_EQ(count(notes, std::string(kDumpCommand)), 1) << joined(notes);
  EXPECT_EQ(notes_of(kNode + service() + stored_pod("p", "runtimeClassName: gone, overhead: {cpu: 1m}, ")),
            std::vector<std::string>());
}

TEST(MissingInputs, BudgetsAreNamedWhereAPodMayEvict) {
  const std::string running = stored_pod("low", "nodeName: a, priority: 1, ");
  const std::string preemptor = stored_pod("high", "priority: 5, ");
  const std::string cluster = kNode + service() + running + preemptor;
  const std::vector<std::string> notes = notes_of(cluster);
  EXPECT_EQ(count(notes,
                  "the input has no PodDisruptionBudget: which pods it protects from eviction is not known, for "
                  "pod team/high. To add what is missing: kubectl get poddisruptionbudgets -A -o json"),
            1)
      << joined(notes);
  EXPECT_EQ(notes_of(cluster + "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"),
            std::vector<std::string>());
  EXPECT_EQ(notes_of(kNode + service() + running + stored_pod("equal", "priority: 1, ")), std::vector<std::string>());
  EXPECT_EQ(notes_of(kNode + service() + running + stored_pod("never", "priority: 5, preemptionPolicy: Never, ")),
            std::vector<std::string>());
  const ProgramRun off = run_berth({"schedule", "-f", "-", "-o", "json", "--preemption", "off"}, cluster);
  EXPECT_EQ(off.out.find("PodDisruptionBudget"), std::string::npos) << off.out;
}

TEST(MissingInputs, ExplainSaysWhatTheAskedPodsNeedAlone) {
  const std::string cluster = kNode + service() + stored_pod("p", "") +
                              stored_pod("claims", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], ");
  EXPECT_EQ(run_berth({"explain", "p", "-f", "-"}, cluster).err, "");
  EXPECT_NE(run_berth({"explain", "claims", "-f", "-"}, cluster).err.find("team/data"), std::string::npos);
  EXPECT_NE(run_berth({"explain", "--all", "-f", "-"}, cluster).err.find("team/data"), std::string::npos);
  const std::string apart = stored_pod("apart", "nodeName: a, " + selecting_namespaces());
  EXPECT_NE(run_berth({"explain", "p", "-f", "-"}, cluster + apart).err.find("no Namespace \"team\""),
            std::string::npos)
      << "a term of a running pod may select the asked one";
}

TEST(MissingInputs, PriorityClassesAreNamedInTheError) {
  const ProgramRun run =
      run_berth({"schedule", "-f", "-"}, kNode + stored_pod("p", "priorityClassName: high, ") + service());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("To add what is missing: kubectl get priorityclasses -A -o json, or all that Berth reads: " +
                         std::string(kDumpCommand)),
            std::string::npos)
      << run.err;
}

TEST(MissingInputs, AreWarningsOfCommandsWithoutNotes) {
  const std::string cluster = kNode + stored_pod("p", selecting_namespaces());
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"explain", "p", "-f", "-"},
                                             {"bench", "--repeat", "1", "-f", "-"},
                                             {"schedule", "-o", "bindings", "-f", "-"}}) {
    const ProgramRun run = run_berth(arguments, cluster);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_NE(run.err.find("has no Namespace \"team\""), std::string::npos) << arguments[0] << run.err;
    std::vector<std::string> quiet = arguments;
    quiet.push_back("-q");
    EXPECT_EQ(run_berth(quiet, cluster).err, "") << arguments[0];
  }
}

std::string with_single_blanks(const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); }

TEST(DumpCommand, IsTheSameInHelpReadmeManualAndMessages) {
  const std::string command(kDumpCommand);
  EXPECT_NE(with_single_blanks(run_berth({"--help"}).out).find(command), std::string::npos);
  EXPECT_NE(with_single_blanks(run_berth({"schedule", "--help"}).out).find(command), std::string::npos);
  EXPECT_NE(read_file("README.md").find(command), std::string::npos);
  EXPECT_NE(read_file("docs/cli.md").find(command), std::string::npos);
  EXPECT_EQ(count(notes_of(kNode + stored_pod("p", selecting_namespaces())), command), 1);
  // No page recommends another dump of nodes and pods.
  for (const char* page : {"README.md", "docs/cli.md"}) {
    const std::string text = read_file(page);
    for (std::size_t at = text.find("kubectl get no"); at != std::string::npos;
         at = text.find("kubectl get no", at + 1)) {
      EXPECT_EQ(text.compare(at, command.size(), command), 0) << page;
    }
  }
}

/// What kubectl prints for each kind of the command.
TEST(DumpCommand, BringsOnlyKindsThatAreReadOrKnown) {
  struct Kind {
    const char* version;
    const char* kind;
    const char* kubectl_name;
    std::string rest;  ///< of the object, as few fields as an API server takes
  };
  const std::string pod_spec = "spec: {containers: [{name: c, image: i}]}";
  const std::string pods = "template: {metadata: {labels: {app: x}}, " + pod_spec + "}}";
  const std::string selected_pods = "spec: {replicas: 0, selector: {matchLabels: {app: x}}, " + pods;
  const std::string gigabyte = "{storage: 1G}";
  const Kind kinds[] = {
      {"v1", "Node", "no", ""},
      {"v1", "Pod", "po", pod_spec},
      {"v1", "Namespace", "ns", ""},
      {"v1", "Service", "svc", ""},
      {"v1", "ReplicationController", "rc", "spec: {replicas: 0, selector: {app: x}, " + pods},
      {"apps/v1", "ReplicaSet", "rs", selected_pods},
      {"apps/v1", "StatefulSet", "sts", selected_pods},
      {"scheduling.k8s.io/v1", "PriorityClass", "pc", "value: 1"},
      {"node.k8s.io/v1", "RuntimeClass", "runtimeclasses", ""},
      {"policy/v1", "PodDisruptionBudget", "pdb", ""},
      {"v1", "PersistentVolume", "pv", "spec: {accessModes: [ReadWriteOnce], capacity: " + gigabyte + "}"},
      {"v1", "PersistentVolumeClaim", "pvc",
       "spec: {accessModes: [ReadWriteOnce], resources: {requests: " + gigabyte + "}}"},
      {"storage.k8s.io/v1", "StorageClass", "sc", "provisioner: p"},
      {"storage.k8s.io/v1", "CSINode", "csinodes", ""},
      {"storage.k8s.io/v1", "CSIDriver", "csidrivers", ""},
      {"storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", "storageClassName: x"},
      {"storage.k8s.io/v1", "VolumeAttachment", "volumeattachments",
       "spec: {attacher: d, nodeName: x, source: {persistentVolumeName: x}}"}};
  std::string resources;
  std::string cluster = kNode;
  for (const auto& [version, kind, kubectl_name, rest] : kinds) {
    resources += (resources.empty() ? "" : ",") + std::string(kubectl_name);
    cluster += std::string("---\napiVersion: ") + version + "\nkind: " + kind + "\nmetadata: {name: x}\n" + rest + "\n";
  }
  EXPECT_EQ("kubectl get " + resources + " -A -o json > cluster.json", kDumpCommand);
  const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", "json"}, cluster);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "") << "no kind is unknown";
}

}  // namespace
}  // namespace berth::test
