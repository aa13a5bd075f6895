// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plugins publish new data when they like, and the answers of an engine must stay as they are while it works: calls see
// the data of their beginning.

#include <memory>
#include <shared_mutex>
#include <vector>

#include "host/plugin_abi/abi_plugin.h"

namespace berth::capi {

/// The plugins of one engine, and who is in a call that may ask them.
class PluginTurns {
 public:
  PluginTurns() = default;
  explicit PluginTurns(AbiPlugins plugins);

  const AbiPlugins& list() const { return plugins_; }
  bool empty() const { return plugins_.empty(); }
  /// One of them has called, from this thread.
  bool is_calling() const noexcept;

  /// Until leave() the plugins' versions stay. New ones are taken over before, for which it waits until no call is
  /// between enter() and leave().
  void enter() const;
  void leave() const noexcept;

 private:
  AbiPlugins plugins_;
  std::unique_ptr<std::shared_mutex> mutex_;  ///< null: there are no plugins
};

/// What a call of berth.h has entered. On the stack of the call; of nested calls the innermost one counts.
class CallScope {
 public:
  CallScope() noexcept;
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  /// In the innermost scope of this thread; nothing where there is none, or where it has entered them.
  static void enter(const PluginTurns& plugins);
  /// Leaves what the innermost scope has entered: before anything is called that may wait for other calls.
  static void leave_all() noexcept;

 private:
  void leave() noexcept;

  CallScope* outer_;
  std::vector<const PluginTurns*> entered_;
};

}  // namespace berth::capi
