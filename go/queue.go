// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"math"
	"sync"
	"time"
	"unsafe"
)

// QueueOptions say how a queue begins. The zero value, or nil: at time 0.
type QueueOptions struct {
	Now time.Duration // where the clock begins; backoffs end at whole seconds of it
}

// QueuePlace is where in a queue a pod is.
type QueuePlace uint32

// Places in a queue.
const (
	QueueActive        QueuePlace = C.BERTH_QUEUE_ACTIVE        // ready
	QueueBackoff       QueuePlace = C.BERTH_QUEUE_BACKOFF       // until the clock says so
	QueueUnschedulable QueuePlace = C.BERTH_QUEUE_UNSCHEDULABLE // until something may help, or for five minutes
	QueueGated         QueuePlace = C.BERTH_QUEUE_GATED         // a PreEnqueue plugin keeps it out: scheduling gates
	QueueTried         QueuePlace = C.BERTH_QUEUE_TRIED         // popped, and neither done nor failed
)

// Queue is kube-scheduler's queue, for programs that decide themselves where pods go and when. A pod is added,
// popped, and then either done or failed; which one is next follows from priorities, from who waits longest, from
// backoffs, and from what happens. The caller tells it of that by PodCame, PodLeaves and NodeChanged, and its clock
// stands still until Advance. It counts whole microseconds: what a Duration has beyond them is cut off. One goroutine
// uses a queue at a time; a second one gets Busy.
//
// The queue shares the pods that were added, which stay the caller's to close. They may be closed earlier; see Pop.
type Queue struct {
	handle
	p     *C.berth_queue
	mutex sync.Mutex // of pods, never waited for
	pods  map[*C.berth_pod]*Pod
}

// NewQueue makes an empty queue for pods of the cluster. Options nil: its clock begins at 0.
func (k *Cluster) NewQueue(options *QueueOptions) (*Queue, error) {
	c := begin("Cluster.NewQueue")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	o := C.berth_queue_options{}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.now_us = C.int64_t(options.Now.Microseconds())
	}
	var p *C.berth_queue
	if err := c.failed(C.berth_queue_create(k.p, &o, &p, &c.err)); err != nil {
		return nil, err
	}
	q := &Queue{handle: newHandle(queueKind), p: p, pods: map[*C.berth_pod]*Pod{}}
	q.release = func() {
		C.berth_queue_free(&p)
		q.pods = nil // so that a closed queue keeps none reachable
	}
	return watched(q, q.handle), nil
}

// Close gives the handle back; see the package's ownership rules. The pods in the queue stay as they are.
func (q *Queue) Close() error { return q.close() }

// about makes a call about a pod, which may use q.pods.
func (q *Queue) about(verb string, pod *Pod, call func(c *call) error) error {
	c := begin(verb)
	defer c.end()
	if err := c.useWith(&q.handle, pod); err != nil {
		return err
	}
	if err := q.lock(c); err != nil {
		return err
	}
	defer q.mutex.Unlock()
	return call(c)
}

// lock refuses a second goroutine as the library does, which knows nothing of q.pods.
func (q *Queue) lock(c *call) error {
	if q.mutex.TryLock() {
		return nil
	}
	return &Error{Call: c.verb, Status: Busy, Object: "queue", Text: "another goroutine is in a call on the queue"}
}

// Add lets a pod wait from now on, wherever it stands. Errors: Exists, where a pod of its name or uid waits or is
// tried; Argument, where no profile is for its schedulerName.
func (q *Queue) Add(pod *Pod) error {
	return q.about("Queue.Add", pod, func(c *call) error {
		err := c.failed(C.berth_queue_add(q.p, pod.p, &c.err))
		if err == nil {
			q.pods[pod.p] = pod
		}
		return err
	})
}

// Remove takes a pod out, whether it waits or is tried. Errors: NotFound.
func (q *Queue) Remove(pod *Pod) error {
	return q.about("Queue.Remove", pod, func(c *call) error {
		return q.forget(pod, c.failed(C.berth_queue_remove(q.p, pod.p, &c.err)))
	})
}

// Done says that a pod has a node, or is given up: the queue does not know it any more. Errors: NotFound, where it is
// not tried.
func (q *Queue) Done(pod *Pod) error {
	return q.about("Queue.Done", pod, func(c *call) error {
		return q.forget(pod, c.failed(C.berth_queue_done(q.p, pod.p, &c.err)))
	})
}

func (q *Queue) forget(pod *Pod, err error) error {
	if err == nil {
		delete(q.pods, pod.p)
	}
	return err
}

// Pop gives the next pod, which is tried from now on; nil: none is ready. It is the *Pod that was added. Where that has
// been closed since, it is another handle of the pod, which the caller closes, and which the queue gives again while it
// is open. Fail, Done and Remove need a handle that is open: this one, or one by Retain.
func (q *Queue) Pop() (*Pod, error) {
	c := begin("Queue.Pop")
	defer c.end()
	if err := c.use(&q.handle); err != nil {
		return nil, err
	}
	if err := q.lock(c); err != nil {
		return nil, err
	}
	defer q.mutex.Unlock()
	var p *C.berth_pod
	if err := c.failed(C.berth_queue_pop(q.p, &p, &c.err)); err != nil || p == nil {
		return nil, err
	}
	pod := q.pods[p]
	if pod.closed() {
		pod = newPod(p)
		q.pods[p] = pod
	} else {
		C.berth_pod_free(&p) // the *Pod has a share of its own
	}
	return pod, nil
}

// Fail says that the attempt failed: the pod waits again. Rejectors are the names of the plugins that refused it, and
// pending those of them that answered Pending, separated by commas and blanks, as ScheduleColumns has them. Without
// rejectors the attempt ended with an error, and the pod backs off whatever happens. Errors: NotFound, where it is not
// tried; Argument, where the queue was told more than 64 names.
func (q *Queue) Fail(pod *Pod, rejectors, pending string) error {
	return q.about("Queue.Fail", pod, func(c *call) error {
		names, err := c.optional("rejectors", rejectors)
		if err != nil {
			return err
		}
		pendingNames, err := c.optional("pending", pending)
		if err != nil {
			return err
		}
		return c.failed(C.berth_queue_fail(q.p, pod.p, names, pendingNames, &c.err))
	})
}

// Advance lets time pass: backoffs end, and pods that were unschedulable for five minutes are tried again. Errors:
// Argument, of a time before the queue's; Memory, and the clock stands at a time up to which all of that has happened.
func (q *Queue) Advance(now time.Duration) error {
	c := begin("Queue.Advance")
	defer c.end()
	if err := c.use(&q.handle); err != nil {
		return err
	}
	return c.failed(C.berth_queue_advance(q.p, C.int64_t(now.Microseconds()), &c.err))
}

// Times are the queue's time, and when the clock is next looked at for a pod that waits; without waits, no pod waits
// for it, and next is 0.
func (q *Queue) Times() (now, next time.Duration, waits bool, err error) {
	c := begin("Queue.Times")
	defer c.end()
	if err := c.use(&q.handle); err != nil {
		return 0, 0, false, err
	}
	var nowUs, nextUs C.int64_t
	if err := c.failed(C.berth_queue_times(q.p, &nowUs, &nextUs, &c.err)); err != nil {
		return 0, 0, false, err
	}
	if nextUs == math.MaxInt64 {
		return durationOf(nowUs), 0, false, nil
	}
	return durationOf(nowUs), durationOf(nextUs), true, nil
}

// durationOf is at most what a Duration holds, 292 years, which a backoff may pass.
func durationOf(us C.int64_t) time.Duration {
	return time.Duration(min(int64(us), math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// PodCame says that a pod came to the node on which it stands in the fork. Errors: NotFound, where it stands on none;
// Busy, where another goroutine is in a call on the fork.
func (q *Queue) PodCame(fork *Fork, uid string) error {
	return q.inFork("Queue.PodCame", fork, uid, func(c *call, text *C.char) C.berth_status {
		return C.berth_queue_pod_came(q.p, fork.fork, text, &c.err)
	})
}

// PodLeaves says that a pod is about to leave the node on which it stands in the fork: call it before the pod does.
// Errors: NotFound, where it stands on none; Busy, where another goroutine is in a call on the fork.
func (q *Queue) PodLeaves(fork *Fork, uid string) error {
	return q.inFork("Queue.PodLeaves", fork, uid, func(c *call, text *C.char) C.berth_status {
		return C.berth_queue_pod_leaves(q.p, fork.fork, text, &c.err)
	})
}

func (q *Queue) inFork(verb string, fork *Fork, uid string, tell func(*call, *C.char) C.berth_status) error {
	c := begin(verb)
	defer c.end()
	if err := c.use(&q.handle); err != nil {
		return err
	}
	if fork == nil {
		return refused(c.verb, "fork", "nil")
	}
	if err := c.use(&fork.handle); err != nil {
		return err
	}
	text, err := c.chars("uid", uid)
	if err != nil {
		return err
	}
	return c.failed(tell(c, text))
}

// NodeChanged says that a node came (before is empty), changed, or went (after is empty). Each is the text of one Node.
// Errors: Input; Argument, where neither is given, or they have different names.
func (q *Queue) NodeChanged(before, after []byte) error {
	c := begin("Queue.NodeChanged")
	defer c.end()
	if err := c.use(&q.handle); err != nil {
		return err
	}
	return c.failed(C.berth_queue_node_changed(q.p, bytes(before), C.size_t(len(before)), bytes(after),
		C.size_t(len(after)), &c.err))
}

// Size is how many pods are in a place.
func (q *Queue) Size(place QueuePlace) (uint64, error) {
	c := begin("Queue.Size")
	defer c.end()
	if err := c.use(&q.handle); err != nil {
		return 0, err
	}
	if err := c.failed(C.berth_queue_size(q.p, C.uint32_t(place), &c.version, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.version), nil
}
