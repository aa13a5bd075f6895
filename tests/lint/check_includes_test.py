# SPDX-License-Identifier: Apache-2.0
"""scripts/check_includes.py says so when an include points the wrong way."""

import unittest

from tree import TreeTest

POD = {"host/objects/pod.h": "#include <string>\n"}


class CheckIncludes(TreeTest):
    script = "check_includes.py"

    def test_an_include_of_a_lower_layer_is_fine(self):
        self.assert_clean({**POD, "host/cluster/cache.h": '#include "host/objects/pod.h"\n'})

    def test_an_include_of_a_higher_layer_is_found(self):
        self.assert_found({"host/objects/pod.h": '\n#include "host/cluster/cache.h"\n', "host/cluster/cache.h": ""},
                          "host/objects/pod.h:2: ")

    def test_an_include_of_a_layer_on_the_same_step_is_found(self):
        self.assert_found({"host/queue/queue.h": "", "host/binding/bind.cpp": '#include "host/queue/queue.h"\n'},
                          "host/binding/bind.cpp:1: ")

    def test_generate_stands_beside_scheduler(self):
        self.assert_found({"host/generate/generate.h": "",
                           "host/scheduler/loop.cpp": '#include "host/generate/generate.h"\n'},
                          "host/scheduler/loop.cpp:1: ")

    def test_cuda_and_the_cpu_engine_meet_at_the_seam_only(self):
        self.assert_found({"host/engine/cpu/pass.h": "", "batching/backend.h": "",
                           "cuda/backend.cpp": '#include "batching/backend.h"\n#include "host/engine/cpu/pass.h"\n'},
                          "cuda/backend.cpp:2: ")

    def test_reference_and_fast_engine_do_not_know_each_other(self):
        self.assert_found({"host/engine/reference/score.h": '#include "host/engine/cpu/pass.h"\n',
                           "host/engine/cpu/pass.h": '#include "host/engine/reference/score.h"\n'},
                          "host/engine/cpu/pass.h:1: ", "host/engine/reference/score.h:1: ")

    def test_the_reference_does_not_share_the_rules(self):
        self.assert_found({"plugins/node_name/rule.h": "",
                           "host/engine/reference/filter.cpp": '#include "plugins/node_name/rule.h"\n'},
                          "host/engine/reference/filter.cpp:1: ")

    def test_a_rule_of_plain_data_is_fine(self):
        self.assert_clean({"plugins/verdict.h": "#include <cstdint>\n",
                           "plugins/node_name/rule.h": '#include <cstdint>\n#include "plugins/verdict.h"\n'})

    def test_a_rule_that_reaches_an_allocating_header_is_found(self):
        self.assert_found({"plugins/verdict.h": "#include <vector>\n",
                           "plugins/node_name/rule.h": '#include "plugins/verdict.h"\n'},
                          "plugins/node_name/rule.h:1: ")

    def test_a_cuda_header_outside_cuda_is_found(self):
        self.assert_found({"host/engine/cpu/pass.cpp": "#include <cuda_runtime.h>\n",
                           "cuda/stream.cpp": "#include <cuda_runtime.h>\n"},
                          "host/engine/cpu/pass.cpp:1: ")

    def test_the_cuda_backend_is_known_to_the_backend_factory_only(self):
        probe = '#include "cuda/device_probe.h"\n'
        self.assert_found({"cuda/device_probe.h": "", "host/scheduler/backend_factory.cpp": probe,
                           "tests/unit/cuda/device_probe_test.cpp": probe, "cuda/device_probe.cpp": probe,
                           "host/scheduler/scheduler.cpp": probe, "host/cli/main.cpp": probe},
                          "host/cli/main.cpp:1: ", "host/scheduler/scheduler.cpp:1: ")

    def test_an_include_of_tests_or_bench_is_found(self):
        self.assert_found({"tests/support/check.h": "", "bench/timer.h": "",
                           "bench/run.cpp": '#include "tests/support/check.h"\n',
                           "host/cli/main.cpp": '#include "tests/support/check.h"\n#include "bench/timer.h"\n'},
                          "host/cli/main.cpp:1: ", "host/cli/main.cpp:2: ")

    def test_the_c_api_is_seen_by_capi_only(self):
        self.assert_found({"include/berth/berth.h": "", "host/capi/capi.cpp": '#include "include/berth/berth.h"\n',
                           "host/cli/main.cpp": '#include "include/berth/berth.h"\n'},
                          "host/cli/main.cpp:1: ")

    def test_an_installed_header_names_its_neighbour(self):
        self.assert_found({"include/berth/berth.h": "", "include/berth/plugin.h": '#include "berth.h"\n#include "none.h"\n'},
                          "include/berth/plugin.h:2: ")

    def test_an_include_that_is_not_written_from_the_root_is_found(self):
        self.assert_found({**POD, "host/objects/pod.cpp": '#include "pod.h"\n'}, "host/objects/pod.cpp:1: ")

    def test_a_standard_header_that_nothing_brings_along_is_found(self):
        self.assert_found({"host/objects/pod.cpp": '#include "host/objects/pod.h"\n// std::vector\nstd::vector<int> pods;\n',
                           "host/objects/pod.h": "#include <string>\n"},
                          "host/objects/pod.cpp:3: ")

    def test_a_standard_header_through_a_header_of_the_project_is_fine(self):
        self.assert_clean({"host/objects/pod.cpp": '#include "host/objects/pod.h"\nstd::vector<int> pods;\n',
                           "host/objects/pod.h": "#include <vector>\n"})

    def test_a_tree_without_sources_is_not_a_pass(self):
        self.assertEqual(self.check({"README.md": ""})[0], 2)


if __name__ == "__main__":
    unittest.main()
