// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects of one kind, namespace and name that the input holds twice, and pods of one uid: the first one is kept.

#include <functional>
#include <string>
#include <vector>

#include "host/objects/decode.h"

namespace berth {

/// Called for each object that is dropped. @param object  as reports name it: "Pod a/b", "Node n"
using LeaveOut = std::function<void(SourcePlace place, const std::string& object, std::string message)>;

/// @param sources  names of the files, by SourcePlace::source
/// @param threads  as of LoadOptions
void drop_repeated_objects(DecodedObjects& objects, const std::vector<std::string>& sources, int threads,
                           const LeaveOut& leave_out);

}  // namespace berth
