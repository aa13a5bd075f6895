// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheExamplesOfThePageAreThoseThatRun(t *testing.T) {
	page, err := os.ReadFile("../docs/go.md")
	ok(t, err)
	programs, err := os.ReadFile("example_test.go")
	ok(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(string(programs), block[1]) {
			t.Errorf("no example that runs has\n%s", block[1])
		}
	}
}
