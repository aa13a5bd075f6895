// SPDX-License-Identifier: Apache-2.0
// Which plugins an engine takes, and what it says of those that it refuses.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/capi/scripted_plugin.h"

namespace berth::test {
namespace {

Refused refusal_of(const std::vector<const berth_plugin*>& plugins, const std::string& config = config_with_scripted(),
                   const std::vector<const char*>& files = {}) {
  Refused refused;
  EXPECT_EQ(engine_with(plugins, config, &refused, files), nullptr);
  EXPECT_EQ(refused.status, BERTH_E_INPUT);
  const std::string where = plugins.empty() ? files.front() : "plugins[" + std::to_string(plugins.size() - 1) + "]";
  EXPECT_EQ(refused.text.substr(0, where.size() + 2), where + ": ");
  refused.text.erase(0, where.size() + 2);
  return refused;
}

/// What is said of a plugin that a test has spoilt.
std::string refusal_of(const std::function<void(berth_plugin&)>& spoil) {
  ScriptedPlugin script;
  berth_plugin table = *script.table();
  spoil(table);
  const Refused refused = refusal_of({&table});
  EXPECT_EQ(script.destroyed, 0);
  return refused.text;
}

std::string file_of(const char* name) { return std::string(BERTH_TEST_PLUGINS) + "/" + name; }

TEST(PluginTable, IsOfTheVersionAndSizeOfThisRelease) {
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.abi_version = 7; }),
            "the plugin is of version 7 of the plugin interface, expected version 1");
  EXPECT_NE(refusal_of([](berth_plugin& p) { p.struct_size = 8; }).find("struct_size is 8, expected at least "),
            std::string::npos);
  EXPECT_NE(refusal_of([](berth_plugin& p) { p.struct_size = 1u << 30; }).find("struct_size is "), std::string::npos);
}

TEST(PluginTable, OfALaterReleaseIsTakenWithoutWhatItAdds) {
  ScriptedPlugin script;
  std::vector<unsigned char> bytes(sizeof(berth_plugin) + 16, 0);
  std::memcpy(bytes.data(), script.table(), sizeof(berth_plugin));
  auto* const later = reinterpret_cast<berth_plugin*>(bytes.data());
  later->struct_size = static_cast<std::uint32_t>(bytes.size());
  EXPECT_NE(engine_with({later}, config_with_scripted()), nullptr);
  bytes[sizeof(berth_plugin) + 3] = 1;
  EXPECT_NE(refusal_of({later}).text.find("nothing would call it"), std::string::npos);
}

TEST(PluginTable, OfAnEarlierReleaseIsTaken) {
  ScriptedPlugin script;
  berth_plugin earlier = *script.table();
  earlier.struct_size = offsetof(berth_plugin, pre_score);
  EXPECT_NE(engine_with({&earlier}, config_with_scripted()), nullptr);
}

TEST(PluginTable, HasEveryEntryThatIsCalledAndNoOther) {
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.evaluate = nullptr; }),
            "evaluate() is not there, expected one with BERTH_PLUGIN_FILTERS or BERTH_PLUGIN_SCORES");
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.filter_changed = nullptr; }),
            "filter_changed() is not there, expected one with BERTH_PLUGIN_FILTERS");
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.flags = BERTH_PLUGIN_SCORES; }),
            "filter_changed() is there, which nothing calls without BERTH_PLUGIN_FILTERS");
  EXPECT_EQ(refusal_of([](berth_plugin& p) {
              p.normalize = [](void*, berth_plugin_call*, const berth_plugin_pod*, std::int64_t*, std::size_t) {
                return std::int32_t{0};
              };
            }),
            "normalize() is there, which nothing calls without BERTH_PLUGIN_SCORES");
  EXPECT_EQ(refusal_of([](berth_plugin& p) {
              p.flags = 0;
              p.evaluate = nullptr;
              p.filter_changed = nullptr;
            }),
            "the plugin joins no point");
  EXPECT_EQ(refusal_of([](berth_plugin& p) {
              p.permit = [](void*, berth_plugin_call*, const berth_plugin_pod*, berth_plugin_text, std::int64_t*) {
                return std::int32_t{0};
              };
            }),
            "permit() is there, which nothing calls here: no pod is bound (berth schedule and berth simulate call it)");
  EXPECT_EQ(refusal_of([](berth_plugin& p) {
              p.unreserve = [](void*, berth_plugin_call*, const berth_plugin_pod*, berth_plugin_text) {};
            }),
            "unreserve() is there, which nothing calls without reserve()");
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.flags |= 128; }), "flags has bits that mean nothing");
}

TEST(PluginTable, NamesEventsThatAreThere) {
  const auto with_event = [](std::uint32_t resource, std::uint32_t actions) {
    const berth_plugin_event event = {resource, actions};
    return refusal_of([&](berth_plugin& p) {
      p.events = &event;
      p.event_count = 1;
    });
  };
  EXPECT_EQ(with_event(9, BERTH_EVENT_ADD), "events[0].resource is 9, expected 0 to 8");
  EXPECT_EQ(with_event(BERTH_EVENT_NODE, 0), "events[0].actions is 0, expected bits of BERTH_EVENT_ALL");
  EXPECT_EQ(with_event(BERTH_EVENT_NODE, 32), "events[0].actions is 32, expected bits of BERTH_EVENT_ALL");
  EXPECT_EQ(with_event(BERTH_EVENT_NODE, 8192), "events[0].actions is 8192, expected bits of BERTH_EVENT_ALL");
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.event_count = 1; }), "events is NULL");
  const berth_plugin_event events[] = {{BERTH_EVENT_NODE, BERTH_EVENT_ADD}};
  EXPECT_EQ(refusal_of([&](berth_plugin& p) {
              p.flags = BERTH_PLUGIN_SCORES;
              p.filter_changed = nullptr;
              p.pre_filter = nullptr;
              p.events = events;
            }),
            "events is there, which nothing reads without a point that refuses pods");
  ScriptedPlugin script;
  berth_plugin table = *script.table();
  table.events = events;
  table.event_count = 1;
  EXPECT_NE(engine_with({&table}, config_with_scripted()), nullptr);
}

TEST(PluginTable, HasANameOfItsOwn) {
  EXPECT_EQ(refusal_of([](berth_plugin& p) { p.name = nullptr; }), "the plugin has no name");
  EXPECT_NE(refusal_of([](berth_plugin& p) { p.name = "NodeAffinity"; }).find("kube-scheduler has a plugin named"),
            std::string::npos);
  ScriptedPlugin one;
  ScriptedPlugin two;
  EXPECT_EQ(refusal_of({one.table(), two.table()}).text, "another plugin has the name Scripted, too");
  EXPECT_EQ(refusal_of(std::vector<const berth_plugin*>{nullptr}).text, "the plugin is NULL");
}

TEST(PluginTable, DeclaresPathsThatCanBeKept) {
  const auto with_path = [](bool of_pod, const char* path) {
    return refusal_of([&](berth_plugin& p) {
      (of_pod ? p.pod_paths : p.node_paths) = &path;
      (of_pod ? p.pod_path_count : p.node_path_count) = 1;
    });
  };
  const std::string begin = "plugin Scripted: path ";
  EXPECT_EQ(with_path(true, "status.phase"),
            begin + "\"status.phase\": it changes as pods are placed, and is not kept");
  EXPECT_EQ(with_path(true, "spec.nodeName"),
            begin + "\"spec.nodeName\": it changes as pods are placed, and is not kept");
  EXPECT_EQ(with_path(false, "spec.taints[0].key"),
            begin + "\"spec.taints[0].key\": expected ['key'] behind \"[\": lists have no path");
  EXPECT_EQ(with_path(false, "metadata.annotations['x"),
            begin + "\"metadata.annotations['x\": a bracket is not closed");
  EXPECT_EQ(with_path(false, "kind"), begin + "\"kind\": expected one below metadata, spec or status");
  EXPECT_EQ(with_path(false, "spec..x"), begin + "\"spec..x\": a key is empty");
  EXPECT_EQ(with_path(false, ""), begin + "\"\": a key is empty");
}

TEST(PluginTable, IsOfNoUseToAConfigurationThatDoesNotNameIt) {
  ScriptedPlugin script;
  const std::string other = R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"})";
  EXPECT_EQ(refusal_of({script.table()}, other).text,
            "no profile enables plugin Scripted, expected its name under profiles[].plugins of the configuration");
  const std::string reserves =
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[)"
      R"({"plugins":{"reserve":{"enabled":[{"name":"Scripted"}]}}}]})";
  Refused refused;
  EXPECT_EQ(engine_with({script.table()}, reserves, &refused), nullptr);
  EXPECT_NE(refused.text.find("plugin \"Scripted\" has no extension point reserve"), std::string::npos);
}

TEST(PluginTable, WithoutAPluginOfTheNameTheConfigurationIsRefused) {
  Refused refused;
  EXPECT_EQ(engine_with({}, config_with_scripted(), &refused), nullptr);
  EXPECT_EQ(refused.status, BERTH_E_UNSUPPORTED);
}

TEST(PluginArguments, AreGivenAsJson) {
  std::vector<std::string> given;
  ScriptedPlugin script;
  script.create = [&](berth_plugin_call*, const std::string& arguments) {
    given.push_back(arguments);
    return std::int32_t{BERTH_CODE_SUCCESS};
  };
  engine_with({script.table()}, config_with_scripted());
  engine_with({script.table()}, config_with_scripted(R"({"a": [1, "two"], "b": {"c": null}})"));
  EXPECT_EQ(given, (std::vector<std::string>{"{}", R"({"a":[1,"two"],"b":{"c":null}})"}));
  EXPECT_EQ(script.destroyed, 2);
}

TEST(PluginArguments, ThatThePluginRefusesAreAnErrorWithItsReason) {
  ScriptedPlugin script;
  script.create = [&](berth_plugin_call* call, const std::string& /*arguments*/) {
    script.host->add_reason(call, "no such mode");
    return std::int32_t{BERTH_CODE_ERROR};
  };
  EXPECT_EQ(refusal_of({script.table()}).text, "plugin Scripted: no such mode");
  script.create = [](berth_plugin_call*, const std::string&) -> std::int32_t { throw 1; };
  EXPECT_EQ(refusal_of({script.table()}).text, "plugin Scripted: create() threw an exception of unknown type");
  EXPECT_EQ(script.destroyed, 0);
}

TEST(PluginFile, IsNamedWithWhatIsWrongWithIt) {
  const auto refusal = [](const std::string& file) { return refusal_of({}, config_with_scripted(), {file.c_str()}); };
  EXPECT_NE(refusal("/nowhere/plugin.so").text.find("cannot be loaded as a plugin: "), std::string::npos);
  const std::string empty = file_of("plugin_without_init.so");
  EXPECT_EQ(refusal(empty).text,
            "has no symbol berth_plugin_init: it is no plugin of version 1 of the plugin interface")
      << empty;
  EXPECT_EQ(refusal(file_of("plugin_of_version_99.so")).text,
            "the plugin is of version 99 of the plugin interface, expected version 1");
}

}  // namespace
}  // namespace berth::test
