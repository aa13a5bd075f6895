// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// Breaks printable(text) at blanks into lines of at most `columns`, each indented by `indent` and ended; a word that
/// is longer than a line stays whole, and so does "kubectl " with what follows it. Lines after the first are indented
/// as far as the first word behind two or more blanks, so that "label  long text" hangs.
std::string wrap(std::string_view paragraph, int columns, int indent);

}  // namespace berth
