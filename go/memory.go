// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

// memory asks how many bytes go with a handle.
func (h *handle) memory(verb string, ask func(bytes *C.uint64_t, err *C.berth_error) C.berth_status) (uint64, error) {
	c := begin(verb)
	defer c.end()
	if err := c.use(h); err != nil {
		return 0, err
	}
	if err := c.failed(ask(&c.version, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.version), nil
}

// Memory is what all handles of an engine with MaxMemoryBytes hold, in bytes. Errors: State, of one without.
func (e *Engine) Memory() (uint64, error) {
	return e.memory("Engine.Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		return C.berth_engine_memory(e.p, bytes, err)
	})
}

// Memory is what the cluster holds, in bytes: an estimate, which looks at every pod.
func (cluster *Cluster) Memory() (uint64, error) {
	return cluster.memory("Cluster.Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		return C.berth_cluster_memory(cluster.p, bytes, err)
	})
}

// Memory is what goes with the snapshot or fork, in bytes, without objects.
func (a *asker) Memory() (uint64, error) {
	return a.memory("Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		if a.fork != nil {
			return C.berth_fork_memory(a.fork, bytes, err)
		}
		return C.berth_snapshot_memory(a.snapshot, bytes, err)
	})
}

// Memory is what goes with the pod, in bytes: the handle and the object.
func (pod *Pod) Memory() (uint64, error) {
	return pod.memory("Pod.Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		return C.berth_pod_memory(pod.p, bytes, err)
	})
}

// Memory is the size of the set, in bytes.
func (set *NodeSet) Memory() (uint64, error) {
	return set.memory("NodeSet.Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		return C.berth_node_set_memory(set.p, bytes, err)
	})
}

// Memory is what the queue takes, in bytes: an estimate, without the pods.
func (q *Queue) Memory() (uint64, error) {
	return q.memory("Queue.Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		return C.berth_queue_memory(q.p, bytes, err)
	})
}

// Memory is what columns, texts and record take, in bytes.
func (r *Result) Memory() (uint64, error) {
	return r.memory("Result.Memory", func(bytes *C.uint64_t, err *C.berth_error) C.berth_status {
		return C.berth_result_memory(r.p, bytes, err)
	})
}
