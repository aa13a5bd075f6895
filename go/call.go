// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// call is what one call of the library needs: the error and the out-parameters, in memory of the heap that is used
// again, and what goes when the call has returned.
type call struct {
	verb    string
	err     C.berth_error
	fits    C.int32_t
	number  C.uint32_t
	version C.uint64_t
	size    C.size_t
	text    C.berth_str
	result  *C.berth_result
	scores  bool // the result of a check has them

	pods    []*C.berth_pod
	used    []*handle
	strings []unsafe.Pointer
	pinner  runtime.Pinner

	token    *C.berth_cancel
	deadline C.uint64_t
	stop     func() bool
	stopped  chan struct{}
	progress progressing
}

var calls = sync.Pool{New: func() any { return new(call) }}

// begin has to be followed by end.
func begin(verb string) *call {
	c := calls.Get().(*call)
	c.verb = verb
	c.err.struct_size = C.uint32_t(unsafe.Sizeof(c.err))
	return c
}

func (c *call) end() {
	c.unfollow()
	panicked := c.unwatch()
	for i, h := range c.used {
		h.leave()
		c.used[i] = nil
	}
	for _, text := range c.strings {
		C.free(text)
	}
	c.pinner.Unpin()
	clear(c.pods)
	c.pods, c.used, c.strings = c.pods[:0], c.used[:0], c.strings[:0]
	c.result, c.scores = nil, false
	calls.Put(c)
	if panicked != nil {
		panic(panicked)
	}
}

// use keeps a handle from being freed until end.
func (c *call) use(h *handle) error {
	if err := h.enter(c.verb); err != nil {
		return err
	}
	c.used = append(c.used, h)
	return nil
}

// failed is the error of a negative status, of Partial, Deadline and Cancelled; nil of OK.
func (c *call) failed(status C.berth_status) error {
	if status == C.BERTH_OK {
		return nil
	}
	e := &Error{Call: c.verb, Status: Status(status)}
	switch status {
	case C.BERTH_DEADLINE:
		e.context = context.DeadlineExceeded
	case C.BERTH_CANCELLED:
		e.context = context.Canceled
	default:
		e.Object, e.Text = C.GoString(&c.err.object[0]), C.GoString(&c.err.text[0])
	}
	return e
}

// chars is a text for C, until end. A text with a NUL would end there.
func (c *call) chars(what, text string) (*C.char, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, refused(c.verb, what, "a NUL byte in a name")
	}
	copied := C.CString(text)
	c.strings = append(c.strings, unsafe.Pointer(copied))
	return copied, nil
}

// optional is the same, and NULL of an empty text.
func (c *call) optional(what, text string) (*C.char, error) {
	if text == "" {
		return nil, nil
	}
	return c.chars(what, text)
}

// list is an array of texts for C, until end; NULL of none.
func (c *call) list(what string, texts []string) (**C.char, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	memory := c.memory(uintptr(len(texts)) * unsafe.Sizeof((*C.char)(nil)))
	array := unsafe.Slice((**C.char)(memory), len(texts))
	for i, text := range texts {
		copied, err := c.chars(what, text)
		if err != nil {
			return nil, err
		}
		array[i] = copied
	}
	return (**C.char)(memory), nil
}

// memory is zeroed memory of C, until end.
func (c *call) memory(size uintptr) unsafe.Pointer {
	p := C.calloc(1, C.size_t(size))
	c.strings = append(c.strings, p)
	return p
}

// copy is a copy of bytes in memory of C, until end; not NULL.
func (c *call) copy(from []byte) unsafe.Pointer {
	p := c.memory(uintptr(len(from) + 1))
	copy(unsafe.Slice((*byte)(p), len(from)), from)
	return p
}

// podList is an array of pods for C, until end; NULL of none.
func (c *call) podList(pods []*Pod) (**C.berth_pod, C.size_t, error) {
	for i, pod := range pods {
		if pod == nil {
			return nil, 0, refused(c.verb, fmt.Sprintf("pods[%d]", i), "nil")
		}
		if err := c.use(&pod.handle); err != nil {
			return nil, 0, err
		}
		c.pods = append(c.pods, pod.p)
	}
	return unsafe.SliceData(c.pods), C.size_t(len(c.pods)), nil
}

// nodeSet is the set of a call's options; NULL of nil.
func (c *call) nodeSet(set *NodeSet) (*C.berth_node_set, error) {
	if set == nil {
		return nil, nil
	}
	if err := c.use(&set.handle); err != nil {
		return nil, err
	}
	return set.p, nil
}

// follow takes the deadline and the end of a context into `deadline` and `token`, until end. A deadline goes by
// deadline_us alone, so that at least what berth.h promises is answered.
func (c *call) follow(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return ended(c.verb, err)
	}
	if at, ok := ctx.Deadline(); ok {
		c.deadline = C.uint64_t(max(1, time.Until(at).Microseconds()))
	}
	if ctx.Done() == nil {
		return nil
	}
	if status := C.berth_cancel_create(&c.token, &c.err); status != C.BERTH_OK {
		return c.failed(status)
	}
	token, byDeadline, stopped := c.token, c.deadline != 0, make(chan struct{})
	c.stopped = stopped
	c.stop = context.AfterFunc(ctx, func() {
		defer close(stopped)
		if !byDeadline || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			C.berth_cancel_trigger(token)
		}
	})
	return nil
}

// unfollow frees the token, behind the last call of berth_cancel_trigger().
func (c *call) unfollow() {
	if c.stop != nil && !c.stop() {
		<-c.stopped
	}
	if c.token != nil {
		C.berth_cancel_free(&c.token)
	}
	c.token, c.deadline, c.stop, c.stopped = nil, 0, nil, nil
}

// bytes is the data of a text that is not empty; NULL of an empty one.
func bytes(text []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(text))) }

// bit is the flag where it is set.
func bit(set bool, flag C.uint32_t) C.uint32_t {
	if set {
		return flag
	}
	return 0
}
