// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"testing"
)

func TestEventsAreSplitInBothFormats(t *testing.T) {
	json := newFrames(bytes.NewBufferString("{\"a\":1}\n{\"b\":2}\n"), "application/json")
	binary := newFrames(bytes.NewBuffer([]byte{0, 0, 0, 2, 'a', 'b', 0, 0, 0, 1, 'c'}), "application/vnd.kubernetes.protobuf;stream=watch")
	for _, want := range []struct {
		frames *frames
		event  string
	}{{json, "{\"a\":1}\n"}, {json, "{\"b\":2}\n"}, {binary, "\x00\x00\x00\x02ab"}, {binary, "\x00\x00\x00\x01c"}} {
		event, err := want.frames.next()
		if err != nil || string(event) != want.event {
			t.Fatalf("%q, %v, not %q", event, err, want.event)
		}
	}
	for _, ended := range []*frames{json, binary} {
		if _, err := ended.next(); err != io.EOF {
			t.Fatalf("%v at the end", err)
		}
	}
}

func TestARuleStrikesAsOftenAsItSays(t *testing.T) {
	rule := &Rule{Times: 2}
	for i := range 4 {
		if rule.take() != (i < 2) {
			t.Fatalf("turn %d", i)
		}
	}
	if rule.Struck() != 2 {
		t.Fatalf("struck %d", rule.Struck())
	}
}
