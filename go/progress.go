// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
// extern void berthGoProgress(void* user_data, uint64_t done, uint64_t total);
import "C"

import (
	"context"
	"runtime/cgo"
	"unsafe"
)

// Progress is told how far a call is: so many elements (pods, shapes or nodes) of so many. It is called while the call
// runs, at most about once a millisecond, and once when all are done. What it asks of handles of the engine is answered
// with Reentry. A panic in it cancels the call, and goes on when the call has ended.
type Progress func(done, total uint64)

// progressing is what a call keeps of its Progress.
type progressing struct {
	tell     Progress
	self     cgo.Handle // of the call
	panicked any
}

// watch is follow, and tells progress where that is not nil, until end.
func (c *call) watch(ctx context.Context, progress Progress) error {
	if err := c.follow(ctx); err != nil || progress == nil {
		return err
	}
	if c.token == nil {
		if status := C.berth_cancel_create(&c.token, &c.err); status != C.BERTH_OK {
			return c.failed(status)
		}
	}
	c.progress.tell, c.progress.self = progress, cgo.NewHandle(c)
	return nil
}

// progressOptions are those of a call that watch has begun; NULL of one without a Progress.
func (c *call) progressOptions() (C.berth_progress_fn, unsafe.Pointer) {
	if c.progress.tell == nil {
		return nil, nil
	}
	userData := c.memory(unsafe.Sizeof(cgo.Handle(0)))
	*(*cgo.Handle)(userData) = c.progress.self
	return C.berth_progress_fn(C.berthGoProgress), userData
}

// unwatch gives back what a panic of Progress said.
func (c *call) unwatch() any {
	if c.progress.tell == nil {
		return nil
	}
	c.progress.self.Delete()
	panicked := c.progress.panicked
	c.progress = progressing{}
	return panicked
}

// A panic does not pass through the library, whose work it would break off.
//
//export berthGoProgress
func berthGoProgress(userData unsafe.Pointer, done, total C.uint64_t) {
	c := (*(*cgo.Handle)(userData)).Value().(*call)
	if c.progress.panicked != nil {
		return
	}
	defer func() {
		if c.progress.panicked = recover(); c.progress.panicked != nil {
			C.berth_cancel_trigger(c.token)
		}
	}()
	c.progress.tell(uint64(done), uint64(total))
}
