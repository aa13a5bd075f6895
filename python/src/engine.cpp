// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>

#include "arguments.h"
#include "bind.h"
#include "call.h"

namespace berth_python {
namespace {

/// The callable of an engine's log. Freed when the engine goes, by whatever thread.
struct LogTarget {
  nb::object callable;
};

void log_message(void* user_data, std::int32_t level, const char* text) {
  CallScope* const scope = CallScope::current();
  if (!nb::is_alive() || (scope != nullptr && scope->has_raised())) return;
  const nb::gil_scoped_acquire acquired;
  try {
    static_cast<LogTarget*>(user_data)->callable(level, text_of(text, std::char_traits<char>::length(text)));
  } catch (nb::python_error& raised) {
    raised.restore();
    if (scope != nullptr)
      scope->keep_raised();
    else
      PyErr_WriteUnraisable(static_cast<LogTarget*>(user_data)->callable.ptr());
  }
}

void free_log_target(void* user_data) {
  auto* const target = static_cast<LogTarget*>(user_data);
  if (nb::is_alive()) {
    const nb::gil_scoped_acquire acquired;
    delete target;
  } else {
    (void)target->callable.release();  // the interpreter is gone, and its object with it
    delete target;
  }
}

using Text = std::optional<std::string>;

struct EngineArguments {
  Text scheduler_config, scheduler_config_file, engine_config, engine_config_file, release, feature_gates, backend;
  std::uint64_t seed;
  std::int32_t threads, log_level;
  nb::object log, plugin_files, ignored_plugins;
  std::uint32_t flags;
  std::uint64_t max_memory_bytes;
};

std::shared_ptr<berth_engine> create_engine(const EngineArguments& given) {
  const Texts plugin_files(given.plugin_files), ignored(given.ignored_plugins);
  auto target = given.log.is_none() ? nullptr : std::make_unique<LogTarget>(LogTarget{given.log});
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.flags = given.flags;
  options.scheduler_config = c_str(given.scheduler_config);
  options.scheduler_config_file = c_str(given.scheduler_config_file);
  options.engine_config = c_str(given.engine_config);
  options.engine_config_file = c_str(given.engine_config_file);
  options.release = c_str(given.release);
  options.feature_gates = c_str(given.feature_gates);
  options.backend = c_str(given.backend);
  options.seed = given.seed;
  options.threads = given.threads;
  options.log_level = given.log_level;
  if (target) {
    options.log = log_message;
    options.log_user_data = target.get();
    options.log_user_data_free = free_log_target;
  }
  options.plugin_files = plugin_files.data();
  options.plugin_file_count = plugin_files.size();
  options.ignored_plugins = ignored.data();
  options.ignored_plugin_count = ignored.size();
  options.max_memory_bytes = given.max_memory_bytes;
  Out<berth_engine> engine;
  run([&](berth_error* error) {
    const berth_status status = berth_engine_create(&options, engine.address(), error);
    // The engine's now, also where the log has raised.
    if (status >= 0) target.release();  // NOLINT(bugprone-unused-return-value)
    return status;
  });
  return engine.take();
}

}  // namespace

void bind_cancel(nb::module_& module) {
  nb::class_<CancelHandle> type(
      module, "CancelToken",
      "A token by which calls are cancelled. Any number of calls may have it; it belongs to no engine.");
  bind_closing(type);
  bind_immutable(type, "a CancelToken belongs to its process and cannot be pickled");
  type.def("__init__", [](CancelHandle* self) {
    Out<berth_cancel> cancel;
    run_short([&](berth_error* error) { return berth_cancel_create(cancel.address(), error); });
    new (self) CancelHandle(cancel.take());
  });
  type.def(
      "trigger", [](const CancelHandle& self) { berth_cancel_trigger(self.use().get()); },
      "Cancels the calls that have the token, and those that are given it later. Any thread.");
  type.def("reset", [](const CancelHandle& self) { berth_cancel_reset(self.use().get()); }, "The token is as new.");
  type.def_prop_ro(
      "triggered", [](const CancelHandle& self) { return berth_cancel_is_triggered(self.use().get()) != 0; },
      "Whether it was triggered.");
}

void bind_engine(nb::module_& module) {
  nb::class_<EngineHandle> type(module, "EngineHandle", "Configuration and limits; nothing of a cluster.");
  bind_closing(type);
  bind_memory(
      type,
      "What all handles of the engine hold, in bytes, as of the latest call on each. Raises StateError where the "
      "engine has no cap.");
  type.def(
      "__init__",
      [](EngineHandle* self, Text scheduler_config, Text scheduler_config_file, Text engine_config,
         Text engine_config_file, Text release, Text feature_gates, Text backend, std::uint64_t seed,
         std::int32_t threads, std::int32_t log_level, nb::object log, nb::object plugin_files,
         nb::object ignored_plugins, std::uint32_t flags, std::uint64_t max_memory_bytes) {
        new (self) EngineHandle(
            create_engine({std::move(scheduler_config), std::move(scheduler_config_file), std::move(engine_config),
                           std::move(engine_config_file), std::move(release), std::move(feature_gates),
                           std::move(backend), seed, threads, log_level, std::move(log), std::move(plugin_files),
                           std::move(ignored_plugins), flags, max_memory_bytes}));
      },
      nb::arg("scheduler_config").none(), nb::arg("scheduler_config_file").none(), nb::arg("engine_config").none(),
      nb::arg("engine_config_file").none(), nb::arg("release").none(), nb::arg("feature_gates").none(),
      nb::arg("backend").none(), nb::arg("seed"), nb::arg("threads"), nb::arg("log_level"), nb::arg("log").none(),
      nb::arg("plugin_files"), nb::arg("ignored_plugins"), nb::arg("flags"), nb::arg("max_memory_bytes"));
}

}  // namespace berth_python
