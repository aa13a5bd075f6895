# SPDX-License-Identifier: Apache-2.0
# find_package(berth): the target berth::berth, the shared library.
include("${CMAKE_CURRENT_LIST_DIR}/berthTargets.cmake")
