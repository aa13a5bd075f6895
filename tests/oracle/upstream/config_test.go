// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubefeatures "k8s.io/kubernetes/pkg/features"
)

func TestFeatureGatesOfOneClusterDoNotReachTheNext(t *testing.T) {
	for _, list := range []string{"OpportunisticBatching=false,", "AllBeta=false"} {
		if err := SetFeatureGates(list); err != nil {
			t.Fatal(err)
		}
		if utilfeature.DefaultFeatureGate.Enabled(kubefeatures.OpportunisticBatching) {
			t.Errorf("%s: the gate is on", list)
		}
		if err := SetFeatureGates(""); err != nil {
			t.Fatal(err)
		}
		if !utilfeature.DefaultFeatureGate.Enabled(kubefeatures.OpportunisticBatching) {
			t.Errorf("after %s: the gate is off", list)
		}
	}
}

func TestAConfigurationThatIsNotAnsweredHereIsRefused(t *testing.T) {
	for text, config := range map[string]string{
		"names extenders":       `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "extenders": [{"urlPrefix": "http://x", "filterVerb": "f"}]}`,
		"parallelism":           `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": -1}`,
		"holds":                 `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeAffinityArgs"}`,
		"no kind":               `{"kind": "Other", "apiVersion": "v9"}`,
		"did not find expected": `[`,
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(path); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}
