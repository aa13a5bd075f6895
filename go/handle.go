// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// kind is a kind of handle.
type kind uint8

const (
	engineKind kind = iota
	clusterKind
	podKind
	snapshotKind
	forkKind
	nodeSetKind
	queueKind
	resultKind
	kindCount
)

var kindNames = [kindCount]string{"Engine", "Cluster", "Pod", "Snapshot", "Fork", "NodeSet", "Queue", "Result"}

var openHandles [kindCount]atomic.Int64

// OpenHandles is the number of handles that were made and not freed yet, by kind: "Engine", "Cluster", "Pod",
// "Snapshot", "Fork", "NodeSet", "Queue", "Result". Kinds without one are left out. It is meant for tests.
func OpenHandles() map[string]int64 {
	open := map[string]int64{}
	for i := range openHandles {
		if n := openHandles[i].Load(); n != 0 {
			open[kindNames[i]] = n
		}
	}
	return open
}

var leakReporter atomic.Pointer[func(kind, stack string)]

// ReportLeaks calls report, on a goroutine of the runtime, for each handle that is made from now on and then becomes
// unreachable without Close. It gets the kind and the stack that made the handle. The handle is not freed. It costs a
// stack trace for each handle, and is meant for tests; nil ends it.
func ReportLeaks(report func(kind, stack string)) {
	if report == nil {
		leakReporter.Store(nil)
		return
	}
	leakReporter.Store(&report)
}

// Bits of handle.state; users count above them.
const (
	closedBit = 1
	freedBit  = 2
	oneUser   = 4
)

// handle counts the calls that use a handle, so that Close never frees one that is in use, nor one twice. Every handle
// type has it first.
type handle struct {
	// shared is what a cleanup may look at when the handle itself has become unreachable.
	*shared
	release func() // frees what the handle stands for
}

type shared struct {
	state atomic.Int64
	kind  kind
}

func newHandle(k kind) handle {
	openHandles[k].Add(1)
	return handle{shared: &shared{kind: k}}
}

// watched reports a leak of `owner`, the struct that has the handle, where that is asked for.
func watched[T any](owner *T, h handle) *T {
	if report := leakReporter.Load(); report != nil {
		stack := string(debug.Stack())
		runtime.AddCleanup(owner, func(s *shared) {
			if s.state.Load()&closedBit == 0 {
				(*report)(kindNames[s.kind], stack)
			}
		}, h.shared)
	}
	return owner
}

// enter counts one more user. It has to be followed by leave, unless it returns an error.
func (h *handle) enter(verb string) error {
	if h.shared == nil {
		return fmt.Errorf("berth: %s: a handle that this package did not make: %w", verb, ErrClosed)
	}
	if h.state.Add(oneUser)&closedBit != 0 {
		h.leave()
		return fmt.Errorf("berth: %s: %s: %w", verb, kindNames[h.kind], ErrClosed)
	}
	return nil
}

func (h *handle) leave() {
	if h.state.Add(-oneUser) == closedBit {
		h.freeOnce()
	}
}

func (h *handle) freeOnce() {
	if h.state.CompareAndSwap(closedBit, closedBit|freedBit) {
		h.release()
		openHandles[h.kind].Add(-1)
	}
}

// closed says that Close was called, by which the handle takes no further call.
func (h *handle) closed() bool { return h.state.Load()&closedBit != 0 }

func (h *handle) close() error {
	if h == nil || h.shared == nil {
		return nil
	}
	if old := h.state.Or(closedBit); old == 0 {
		h.freeOnce()
	}
	return nil
}
