// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
)

// Status is a berth_status. It is an error so that errors.Is(err, berth.NotFound) can ask for it.
type Status int32

// The statuses of berth.h, which says what each means.
const (
	OK          Status = C.BERTH_OK
	Partial     Status = C.BERTH_PARTIAL
	Deadline    Status = C.BERTH_DEADLINE
	Ignored     Status = C.BERTH_IGNORED
	Cancelled   Status = C.BERTH_CANCELLED
	Argument    Status = C.BERTH_E_ARGUMENT
	StructSize  Status = C.BERTH_E_STRUCT_SIZE
	Input       Status = C.BERTH_E_INPUT
	Unsupported Status = C.BERTH_E_UNSUPPORTED
	NotFound    Status = C.BERTH_E_NOT_FOUND
	Exists      Status = C.BERTH_E_EXISTS
	Stale       Status = C.BERTH_E_STALE
	State       Status = C.BERTH_E_STATE
	Busy        Status = C.BERTH_E_BUSY
	Reentry     Status = C.BERTH_E_REENTRY
	Forked      Status = C.BERTH_E_FORKED
	Memory      Status = C.BERTH_E_MEMORY
	Device      Status = C.BERTH_E_DEVICE
	Internal    Status = C.BERTH_E_INTERNAL
)

// String is the name in berth.h: "BERTH_E_STALE".
func (s Status) String() string { return C.GoString(C.berth_status_name(C.berth_status(s))) }

// Error is one sentence about the status.
func (s Status) Error() string { return C.GoString(C.berth_status_text(C.berth_status(s))) }

// ErrClosed is wrapped by the errors of calls on handles, or with handles, that were closed.
var ErrClosed = errors.New("the handle is closed")

// Error is why a call failed: the berth_error of the library, and the call.
type Error struct {
	Call   string // "Cluster.Upsert"
	Status Status
	Object string // what it is about: "Pod default/web-0", "nodes[3]"; may be empty
	Text   string // what is wrong there

	context error // what the context said, of Deadline and Cancelled
}

func (e *Error) Error() string {
	text := e.Text
	if text == "" {
		text = e.Status.Error()
	}
	if e.Object != "" {
		text = e.Object + ": " + text
	}
	return fmt.Sprintf("berth: %s: %s: %s", e.Call, e.Status.String(), text)
}

// Is says that the error is that of its status.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Unwrap is context.Canceled or context.DeadlineExceeded, of a call that a context ended.
func (e *Error) Unwrap() error { return e.context }

// refused is an argument that this package refuses before the library sees it.
func refused(verb, object, text string) error {
	return &Error{Call: verb, Status: Argument, Object: object, Text: text}
}

// ended is the error of a call that a context ended.
func ended(verb string, why error) error {
	status := Cancelled
	if errors.Is(why, context.DeadlineExceeded) {
		status = Deadline
	}
	return &Error{Call: verb, Status: status, context: why}
}
