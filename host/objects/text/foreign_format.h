// SPDX-License-Identifier: Apache-2.0
// Files that are given as a dump of a cluster by mistake: what kubectl prints for people, error pages, archives.
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// Says what a text is when its first bytes show that it can be neither JSON nor YAML objects.
/// @param first_bytes  of the text after decompression; a few kilobytes are enough
/// @return "is a table that kubectl prints for people, expected ..."; "" when the text may be objects. May quote the
///         text's first line, as it is there.
std::string describe_foreign_format(std::string_view first_bytes);

}  // namespace berth
