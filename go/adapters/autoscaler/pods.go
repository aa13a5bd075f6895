// SPDX-License-Identifier: Apache-2.0

package autoscaler

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"

	berth "berth.dev/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podKey tells pods apart. The autoscaler changes pods in memory, so that the version alone does not say it.
type podKey struct {
	uid     types.UID
	version string
	spec    uint64
}

type knownPod struct {
	text []byte
	pod  *berth.Pod // nil until it is asked for
	used uint64     // the latest SetClusterState in whose time it was used
}

// podCache marshals and prepares a pod once.
type podCache struct {
	seed   maphash.Seed
	known  map[podKey]*knownPod
	buffer []byte
	round  uint64
	// marshalled counts, for tests.
	marshalled int
}

func newPodCache() *podCache {
	return &podCache{seed: maphash.MakeSeed(), known: map[podKey]*knownPod{}}
}

// keyOf hashes the spec, and of the rest what rules read and a program may change: name, labels, and the nomination.
func (c *podCache) keyOf(pod *corev1.Pod) (podKey, error) {
	size := pod.Spec.Size()
	if cap(c.buffer) < size {
		c.buffer = make([]byte, 2*size)
	}
	n, err := pod.Spec.MarshalToSizedBuffer(c.buffer[:size])
	if err != nil {
		return podKey{}, err
	}
	var hash maphash.Hash
	hash.SetSeed(c.seed)
	hash.Write(c.buffer[:n])
	for _, text := range []string{pod.Namespace, pod.Name, pod.Status.NominatedNodeName} {
		hash.WriteString(text)
		hash.WriteByte(0)
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		hash.WriteString(key)
		hash.WriteByte(0)
		hash.WriteString(pod.Labels[key])
		hash.WriteByte(0)
	}
	return podKey{pod.UID, pod.ResourceVersion, hash.Sum64()}, nil
}

func (c *podCache) find(pod *corev1.Pod) (*knownPod, error) {
	key, err := c.keyOf(pod)
	if err != nil {
		return nil, err
	}
	if known, there := c.known[key]; there {
		known.used = c.round
		return known, nil
	}
	text, err := textOf("Pod", pod)
	if err != nil {
		return nil, err
	}
	c.marshalled++
	known := &knownPod{text: text, used: c.round}
	c.known[key] = known
	return known, nil
}

// prepared is the pod as Berth asks about it.
func (c *podCache) prepared(cluster *berth.Cluster, pod *corev1.Pod) (*berth.Pod, error) {
	known, err := c.find(pod)
	if err != nil {
		return nil, err
	}
	if known.pod == nil {
		if known.pod, err = cluster.NewPod(known.text, nil); err != nil {
			return nil, err
		}
	}
	return known.pod, nil
}

// next begins a round, and forgets pods that were not used in the last one.
func (c *podCache) next() {
	for key, known := range c.known {
		if known.used < c.round {
			known.close()
			delete(c.known, key)
		}
	}
	c.round++
}

func (k *knownPod) close() {
	if k.pod != nil {
		k.pod.Close()
	}
}

func (c *podCache) close() {
	for _, known := range c.known {
		known.close()
	}
	clear(c.known)
}

// textOf is an object with kind and apiVersion.
func textOf(kind string, object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if len(text) > 8 && string(text[:8]) == `{"kind":` {
		return text, nil
	}
	return append([]byte(`{"apiVersion":"v1","kind":"`+kind+`",`), text[1:]...), nil
}

// uidOf is how Berth names a pod.
func uidOf(pod *corev1.Pod) string {
	if pod.UID != "" {
		return string(pod.UID)
	}
	return pod.Namespace + "/" + pod.Name
}
