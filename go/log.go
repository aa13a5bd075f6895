// SPDX-License-Identifier: Apache-2.0

package berth

// #include <stdint.h>
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// The user data of a log callback is the address of a cgo.Handle in memory of C, which the library gives back by
// berthGoLogFree.

//export berthGoLog
func berthGoLog(userData unsafe.Pointer, level C.int32_t, text *C.char) {
	(*(*cgo.Handle)(userData)).Value().(func(LogLevel, string))(LogLevel(level), C.GoString(text))
}

//export berthGoLogFree
func berthGoLogFree(userData unsafe.Pointer) {
	(*(*cgo.Handle)(userData)).Delete()
	freeMemory(userData)
}
