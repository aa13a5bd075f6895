// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"berth.dev/tests/live/checks"
)

func TestTheDocumentListsEveryCheck(t *testing.T) {
	if err := compare("../../docs/live.md", checks.All()); err != nil {
		t.Fatal(err)
	}
	if err := compare("../../docs/live.md", checks.All()[1:]); err == nil {
		t.Fatal("a check that is missing in the code is not missed")
	}
}

func TestIdsAreUniqueAndSomeCanBeChosen(t *testing.T) {
	seen := map[string]bool{}
	for _, check := range checks.All() {
		if seen[check.ID] {
			t.Fatalf("%s is used twice", check.ID)
		}
		seen[check.ID] = true
	}
	if len(seen) < leastChecks {
		t.Fatalf("only %d checks", len(seen))
	}
	if chosen, err := choose("L-028, L-001"); err != nil || len(chosen) != 2 || chosen[0].ID != "L-001" {
		t.Fatalf("%v %v", chosen, err)
	}
	if _, err := choose("L-999"); err == nil {
		t.Fatal("an id that does not exist is taken")
	}
}
