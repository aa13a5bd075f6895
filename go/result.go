// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
// static berth_status berth_go_columns(const berth_result* result, const uint32_t* ids, size_t count,
//                                      berth_column* views, berth_error* error) {
//   for (size_t i = 0; i < count; ++i) {
//     const berth_status status = berth_result_column(result, ids[i], &views[i], error);
//     if (status != BERTH_OK) return status;
//   }
//   return BERTH_OK;
// }
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// Judged says what an answer about a pod is worth.
type Judged uint8

// What is not judged never fits.
const (
	JudgedNot      Judged = C.BERTH_JUDGED_NOT
	JudgedFully    Judged = C.BERTH_JUDGED
	JudgedIgnoring Judged = C.BERTH_JUDGED_IGNORING
)

// Phase says where a verdict comes from.
type Phase uint8

// Phases of verdicts.
const (
	PhaseNone      Phase = C.BERTH_PHASE_NONE
	PhasePreFilter Phase = C.BERTH_PHASE_PRE_FILTER
	PhaseFilter    Phase = C.BERTH_PHASE_FILTER
	PhaseNode      Phase = C.BERTH_PHASE_NODE
)

// Code is a status code of kube-scheduler.
type Code uint8

// kube-scheduler's status codes.
const (
	CodeSuccess                      Code = C.BERTH_CODE_SUCCESS
	CodeError                        Code = C.BERTH_CODE_ERROR
	CodeUnschedulable                Code = C.BERTH_CODE_UNSCHEDULABLE
	CodeUnschedulableAndUnresolvable Code = C.BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE
	CodePending                      Code = C.BERTH_CODE_PENDING
)

// Result is what every answer is beside its columns.
type Result struct {
	handle
	p     *C.berth_result
	mutex sync.Mutex
	texts map[uint32]string
}

func (r *Result) take(c *call) {
	p := c.result
	c.result = nil
	r.handle, r.p = newHandle(resultKind), p
	r.release = func() { C.berth_result_free(&p) }
}

// closeResult closes the result of a typed one, whose columns it has cleared.
func (r *Result) closeResult() error { return r.close() }

// Origin is what an answer follows from, beside the pods.
type Origin struct {
	Version uint64 // of the snapshot; a fork's: the one at its root
	Seed    uint64
	Release string // "1.35"
	Backend string // "cpu"
}

// Origin tells what the answer follows from.
func (r *Result) Origin() (Origin, error) {
	c := begin("Result.Origin")
	defer c.end()
	if err := c.use(&r.handle); err != nil {
		return Origin{}, err
	}
	var seed C.uint64_t
	var release, backend *C.char
	if err := c.failed(C.berth_result_origin(r.p, &c.version, &seed, &release, &backend, &c.err)); err != nil {
		return Origin{}, err
	}
	return Origin{uint64(c.version), uint64(seed), C.GoString(release), C.GoString(backend)}, nil
}

// Texts is a column of texts, valid until Close of its result.
type Texts struct {
	// Numbers are the texts' numbers in the result: equal ones are equal texts, and 0 is the empty text.
	Numbers []uint32
	result  *Result
}

// Len is the number of elements.
func (t Texts) Len() int { return len(t.Numbers) }

// At is a copy of element i. Of a closed result it is an error that wraps ErrClosed.
func (t Texts) At(i int) (string, error) {
	if t.result == nil {
		return "", fmt.Errorf("berth: Texts.At: %w", ErrClosed)
	}
	if err := t.result.enter("Texts.At"); err != nil {
		return "", err
	}
	number := t.Numbers[i]
	t.result.leave()
	return t.result.textOf(number)
}

func (r *Result) textOf(number uint32) (string, error) {
	c := begin("Texts.At")
	defer c.end()
	if err := c.use(&r.handle); err != nil {
		return "", err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if text, ok := r.texts[number]; ok {
		return text, nil
	}
	if err := c.failed(C.berth_result_text(r.p, C.uint32_t(number), &c.text, &c.err)); err != nil {
		return "", err
	}
	if r.texts == nil {
		r.texts = map[uint32]string{}
	}
	text := c.copied()
	r.texts[number] = text
	return text, nil
}

// message is berth_result_message().
func (r *Result) message(c *call) (string, error) {
	if err := c.failed(C.berth_result_message(r.p, &c.text, &c.err)); err != nil {
		return "", err
	}
	return c.copied(), nil
}

// binding is a column and the address of the slice that becomes a view of it.
type binding struct {
	id C.uint32_t
	to any
}

const columnsMax = 24

// bind makes slices of columns.
func (r *Result) bind(c *call, bindings ...binding) error {
	var ids [columnsMax]C.uint32_t
	var views [columnsMax]C.berth_column
	for i, b := range bindings {
		ids[i] = b.id
	}
	status := C.berth_go_columns(r.p, &ids[0], C.size_t(len(bindings)), &views[0], &c.err)
	if err := c.failed(status); err != nil {
		return err
	}
	for i, b := range bindings {
		if err := r.view(&views[i], b); err != nil {
			return &Error{Call: c.verb, Status: Internal, Object: C.GoString(C.berth_column_name(b.id)),
				Text: err.Error()}
		}
	}
	return nil
}

func (r *Result) view(column *C.berth_column, b binding) error {
	switch to := b.to.(type) {
	case *[]bool:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]Judged:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]Phase:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]Code:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]Cap:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]Rule:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]Outcome:
		return viewOf(to, column, C.BERTH_TYPE_U8)
	case *[]NodeID:
		return viewOf(to, column, C.BERTH_TYPE_U32)
	case *[]uint32:
		return viewOf(to, column, C.BERTH_TYPE_U32)
	case *[]int32:
		return viewOf(to, column, C.BERTH_TYPE_I32)
	case *[]int64:
		return viewOf(to, column, C.BERTH_TYPE_I64)
	case *Texts:
		to.result = r
		return viewOf(&to.Numbers, column, C.BERTH_TYPE_U32)
	default:
		return fmt.Errorf("no column goes to %T", b.to)
	}
}

func viewOf[T any](to *[]T, column *C.berth_column, kind C.uint32_t) error {
	var element T
	if column._type != kind || (column.length > 0 && uintptr(column.stride) != unsafe.Sizeof(element)) {
		return fmt.Errorf("type %d and stride %d", column._type, column.stride)
	}
	*to = unsafe.Slice((*T)(column.data), int(column.length))
	return nil
}
