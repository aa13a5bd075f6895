// SPDX-License-Identifier: Apache-2.0

// Package upstream sets up the published kube-scheduler for queries: its configuration, cache, queue and
// frameworks over the objects of one file, without its loop and without an API server.
package upstream

import (
	"flag"
	"fmt"
	"io"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// ReadConfig reads and validates a KubeSchedulerConfiguration; an empty path gives kube-scheduler's defaults under the
// current feature gates.
func ReadConfig(path string) (*schedulerapi.KubeSchedulerConfiguration, error) {
	if path == "" {
		return latest.Default()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	object, gvk, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s holds %s", path, gvk)
	}
	config.TypeMeta.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return nil, err
	}
	if len(config.Extenders) > 0 {
		return nil, fmt.Errorf("%s names extenders, which are not called here", path)
	}
	return config, nil
}

// SetFeatureGates applies a comma-separated list like kube-scheduler's flag; all other gates get the release's default.
func SetFeatureGates(list string) error {
	gates := utilfeature.DefaultMutableFeatureGate
	for name := range gates.GetAll() {
		if err := gates.ResetFeatureValueToDefault(name); err != nil {
			return err
		}
	}
	return gates.Set(list)
}

// SilenceLogs drops the scheduler's log, which only repeats the results.
func SilenceLogs() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}
