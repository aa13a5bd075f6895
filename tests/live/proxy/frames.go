// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"encoding/binary"
	"io"
	"strings"
)

// frames splits a watch into events, each with its framing: a line of JSON, or protobuf after four bytes of length.
type frames struct {
	reader   *bufio.Reader
	protobuf bool
}

func newFrames(body io.Reader, contentType string) *frames {
	return &frames{reader: bufio.NewReaderSize(body, 64<<10), protobuf: strings.Contains(contentType, "protobuf")}
}

// next gives one event that the caller may keep.
func (f *frames) next() ([]byte, error) {
	if !f.protobuf {
		return f.reader.ReadBytes('\n')
	}
	var length [4]byte
	if _, err := io.ReadFull(f.reader, length[:]); err != nil {
		return nil, err
	}
	event := make([]byte, 4+binary.BigEndian.Uint32(length[:]))
	copy(event, length[:])
	_, err := io.ReadFull(f.reader, event[4:])
	return event, err
}
