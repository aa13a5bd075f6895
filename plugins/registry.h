// SPDX-License-Identifier: Apache-2.0
#pragma once

// What Berth has built of kube-scheduler's in-tree plugins: the rules of plugins/rules.h, and the few plugins that
// decide on no node.

#include <cstdint>
#include <span>
#include <string_view>

namespace berth {

enum class Support : std::uint8_t { kExact, kPartial, kUnsupported };
std::string_view to_string(Support support);  ///< "exact", "partial", "unsupported"

struct BuiltPlugin {
  std::string_view name;
  Support support = Support::kUnsupported;
  std::string_view missing;  ///< for kPartial: what is not there
};

/// The exact and the partial ones; a plugin that is not listed is unsupported.
std::span<const BuiltPlugin> built_plugins();
/// kUnsupported with an empty `missing` for a name that is not listed.
BuiltPlugin plugin_support(std::string_view name);

}  // namespace berth
