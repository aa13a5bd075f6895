// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// Cluster is the content of one input file. Nodes and pods go to the scheduler's cache and queue directly, in file
// order; informers over a fake client serve the rest to the plugins.
type Cluster struct {
	Nodes []*v1.Node
	Pods  []*v1.Pod
	Rest  []runtime.Object
}

// ReadCluster reads JSON or YAML, plain or gzip, of objects and Lists. Only a pod's namespace,
// scheduler name, UID and the selectors of its affinity terms get defaults: the objects are treated as returned by an
// API server.
func ReadCluster(path string) (*Cluster, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	c := &Cluster{}
	decoder := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(bytes.NewReader(data)), 4096)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return c, nil
		} else if err != nil {
			return nil, err
		}
		if err := c.add(raw); err != nil {
			return nil, err
		}
	}
}

func (c *Cluster) add(raw json.RawMessage) error {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if list.Kind == "List" {
		for i, item := range list.Items {
			if err := c.add(item); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	}
	object, err := ReadCreated(raw)
	if err != nil {
		return err
	}
	switch o := object.(type) {
	case *v1.Node:
		c.Nodes = append(c.Nodes, o)
	case *v1.Pod:
		if o.Status.Phase != v1.PodSucceeded && o.Status.Phase != v1.PodFailed { // as the scheduler's informer selects
			c.Pods = append(c.Pods, o)
		}
	default:
		c.Rest = append(c.Rest, o)
	}
	return nil
}

// ReadObject reads one object as an API server returns it, with the defaults that ReadCluster names, but for the selectors:
// those were merged when the pod was created, and stay when its labels change.
func ReadObject(raw json.RawMessage) (runtime.Object, error) {
	object, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if pod, ok := object.(*v1.Pod); ok && err == nil {
		setDefaults(pod)
	}
	return object, err
}

// ReadCreated reads an object that is about to be created, as ReadCluster does.
func ReadCreated(raw json.RawMessage) (runtime.Object, error) {
	object, err := ReadObject(raw)
	if pod, ok := object.(*v1.Pod); ok && err == nil {
		mergeLabelKeys(pod)
	}
	return object, err
}

// The nominator identifies pods by UID only.
func setDefaults(pod *v1.Pod) {
	if pod.Namespace == "" {
		pod.Namespace = v1.NamespaceDefault
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
}
