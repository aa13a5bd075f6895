// SPDX-License-Identifier: Apache-2.0

//go:build berth_bench

package berth

// #include <berth/berth.h>
// static int32_t berth_go_check_loop(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t node,
//                                    size_t count) {
//   berth_error error = BERTH_ERROR_INIT;
//   int32_t fits = 0;
//   for (size_t i = 0; i < count; ++i) {
//     if (berth_snapshot_check(snapshot, pod, node, 0, &fits, NULL, &error) != BERTH_OK) return -1;
//   }
//   return fits;
// }
import "C"

// checkLoop is Check as a program in C calls it, for the benchmark that tells what Go adds.
func (s *Snapshot) checkLoop(pod *Pod, node NodeID, count int) int {
	return int(C.berth_go_check_loop(s.snapshot, pod.p, C.uint32_t(node), C.size_t(count)))
}
