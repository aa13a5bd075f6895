// SPDX-License-Identifier: Apache-2.0

package berth

// With the tag berth_static the archive is linked, and libberth.so, which pkg-config names as well, is not needed by
// any symbol then.

// #cgo !berth_static pkg-config: berth
// #cgo berth_static pkg-config: --static berth
// #cgo berth_static LDFLAGS: -Wl,--as-needed -l:libberth.a
// #include <berth/berth.h>
import "C"

// abiVersion is that of the header that this package is written for.
const abiVersion = 0

// Version is the version of the library that is loaded, such as "0.1.0".
func Version() string { return C.GoString(C.berth_version_string()) }

// ABIVersion is the number of the binary interface of the library that is loaded. NewEngine refuses another one than
// that of this package.
func ABIVersion() uint32 { return uint32(C.berth_abi_version()) }
