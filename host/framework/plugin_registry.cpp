// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin_registry.h"

#include <stdexcept>
#include <utility>

namespace berth {

// NOLINTNEXTLINE(performance-unnecessary-value-param): try_emplace moves it
void PluginRegistry::add(std::string name, PluginFactory factory) {
  const auto [at, is_new] = factories_.try_emplace(std::move(name), std::move(factory));
  if (!is_new) throw std::invalid_argument("a plugin named \"" + at->first + "\" is registered already");
}

const PluginFactory* PluginRegistry::find(std::string_view name) const {
  const auto found = factories_.find(name);
  return found == factories_.end() ? nullptr : &found->second;
}

}  // namespace berth
