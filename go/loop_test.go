// SPDX-License-Identifier: Apache-2.0

//go:build berth_bench

package berth

import "testing"

func BenchmarkCheckInC(b *testing.B) {
	_, snapshot, pod, a := benched(b)
	b.ResetTimer()
	if snapshot.checkLoop(pod, a, b.N) < 0 {
		b.Fatal("a check failed")
	}
}
