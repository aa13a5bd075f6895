// SPDX-License-Identifier: Apache-2.0
#include "host/config/config_out.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/base64.h"
#include "host/config/config_reader.h"
#include "host/config/plugin_args_out.h"
#include "host/objects/go_duration.h"
#include "host/objects/json_writer.h"

namespace berth {
namespace {

/// Of a field of upstream's internal configuration, which has no names for JSON.
std::string go_name(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kInitialisms[] = {
      {"apiVersion", "apiVersion"}, {"qps", "QPS"},       {"urlPrefix", "URLPrefix"}, {"httpTimeout", "HTTPTimeout"},
      {"tlsConfig", "TLSConfig"},   {"caFile", "CAFile"}, {"caData", "CAData"}};
  for (const auto& [written, in_go] : kInitialisms)
    if (name == written) return std::string(in_go);
  std::string in_go(name);
  if (in_go[0] >= 'a' && in_go[0] <= 'z') in_go[0] = static_cast<char>(in_go[0] - 'a' + 'A');
  return in_go;
}

/// JSON with fields named as Go's types name them, but within values of API types. Internal types have no kind, and the
/// document alone has an apiVersion.
class ConfigzWriter : public DocumentWriter {
 public:
  explicit ConfigzWriter(std::string& out) : json_(out) {}
  void begin_object() override { begin('{'); }
  void end_object() override { end('}'); }
  void begin_array() override { begin('['); }
  void end_array() override { end(']'); }
  void key(std::string_view name) override {
    if (api_value_below_ > 0) return json_.key(name);
    is_left_out_ = name == "kind" || (name == "apiVersion" && depth_ > 1);
    if (is_left_out_) return;
    if (name == "addedAffinity" || name == "defaultConstraints") api_value_below_ = depth_;
    json_.key(go_name(name));
  }
  void string(std::string_view value) override {
    if (!std::exchange(is_left_out_, false)) json_.value(value);
  }
  void integer(std::int64_t value) override { json_.value(value); }
  void unsigned_integer(std::uint64_t value) override { json_.value(value); }
  void real(double value) override { json_.value(value); }
  void boolean(bool value) override { json_.value(value); }
  void end_document() override {}

 private:
  void begin(char bracket) {
    json_.open(bracket);
    ++depth_;
  }
  void end(char bracket) {
    json_.close(bracket);
    if (--depth_ == api_value_below_) api_value_below_ = 0;
  }

  JsonWriter json_;
  int depth_ = 0;
  bool is_left_out_ = false;  ///< the value that comes
  int api_value_below_ = 0;   ///< the depth of its key; 0: none is being written
};

/// Fields that hold nothing are left out, as "omitempty" does.
class OptionalFields {
 public:
  explicit OptionalFields(DocumentWriter& out) : out_(out) {}
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) out_.string_field(name, value);
  }
  void flag(std::string_view name, bool value) {
    if (value) flag_always(name, value);
  }
  void flag_always(std::string_view name, bool value) {
    out_.key(name);
    out_.boolean(value);
  }

 private:
  DocumentWriter& out_;
};

/// The shortest text of the float, as a double that is written as that text.
double shortest(float value) {
  char text[32];
  *std::to_chars(text, text + sizeof(text) - 1, value).ptr = '\0';
  return std::strtod(text, nullptr);
}

void write_client_connection(const ClientConnection& connection, DocumentWriter& out) {
  out.key("clientConnection");
  out.begin_object();
  out.string_field("acceptContentTypes", connection.accept_content_types);
  out.integer_field("burst", connection.burst.value_or(ClientConnection::kBurstDefault));
  out.string_field("contentType", connection.content_type);
  out.string_field("kubeconfig", connection.kubeconfig);
  out.real_field("qps", shortest(connection.qps.value_or(ClientConnection::kQpsDefault)));
  out.end_object();
}

void write_tls(const ExtenderTls& tls, ConfigSecrets secrets, DocumentWriter& out) {
  OptionalFields fields(out);
  out.key("tlsConfig");
  out.begin_object();
  fields.text("caData", encode_base64(tls.ca_data));
  fields.text("caFile", tls.ca_file);
  fields.text("certData", encode_base64(tls.cert_data));
  fields.text("certFile", tls.cert_file);
  fields.flag("insecure", tls.insecure);
  const bool is_withheld = secrets == ConfigSecrets::kWithheld && !tls.key_data.empty();
  fields.text("keyData", is_withheld ? std::string("--- REDACTED ---") : encode_base64(tls.key_data));
  fields.text("keyFile", tls.key_file);
  fields.text("serverName", tls.server_name);
  out.end_object();
}

void write_extender(const Extender& extender, ConfigSecrets secrets, DocumentWriter& out) {
  constexpr std::int64_t kTimeoutDefaultUs = 5'000'000;
  OptionalFields fields(out);
  out.begin_object();
  fields.text("bindVerb", extender.bind_verb);
  fields.flag("enableHTTPS", extender.enable_https);
  fields.text("filterVerb", extender.filter_verb);
  out.string_field("httpTimeout",
                   go_duration_text(extender.http_timeout_us == 0 ? kTimeoutDefaultUs : extender.http_timeout_us));
  fields.flag("ignorable", extender.ignorable);
  if (!extender.managed_resources.empty()) {
    out.key("managedResources");
    out.begin_array();
    for (const ExtenderManagedResource& resource : extender.managed_resources) {
      out.begin_object();
      fields.flag("ignoredByScheduler", resource.ignored_by_scheduler);
      out.string_field("name", resource.name);
      out.end_object();
    }
    out.end_array();
  }
  fields.flag("nodeCacheCapable", extender.node_cache_capable);
  fields.text("preemptVerb", extender.preempt_verb);
  fields.text("prioritizeVerb", extender.prioritize_verb);
  if (extender.tls) write_tls(*extender.tls, secrets, out);
  out.string_field("urlPrefix", extender.url_prefix);
  if (extender.weight != 0) out.integer_field("weight", extender.weight);
  out.end_object();
}

void write_leader_election(const LeaderElection& election, DocumentWriter& out) {
  out.key("leaderElection");
  out.begin_object();
  out.key("leaderElect");
  out.boolean(election.leader_elect);
  out.string_field("leaseDuration", go_duration_text(election.lease_duration_us));
  out.string_field("renewDeadline", go_duration_text(election.renew_deadline_us));
  out.string_field("resourceLock", election.resource_lock);
  out.string_field("resourceName", election.resource_name);
  out.string_field("resourceNamespace", election.resource_namespace);
  out.string_field("retryPeriod", go_duration_text(election.retry_period_us));
  out.end_object();
}

void write_list(std::string_view name, const std::vector<ListedPlugin>& plugins, DocumentWriter& out) {
  if (plugins.empty()) return;
  out.key(name);
  out.begin_array();
  for (const ListedPlugin& plugin : plugins) {
    out.begin_object();
    out.string_field("name", plugin.name);
    out.integer_field("weight", plugin.weight);
    out.end_object();
  }
  out.end_array();
}

void write_lists(const Profile& profile, DocumentWriter& out) {
  std::vector<std::pair<std::string_view, const PluginLists*>> all = {{"multiPoint", &profile.multi_point}};
  for (std::size_t i = 0; i < kExtensionPointCount; ++i)
    all.emplace_back(to_string(static_cast<ExtensionPoint>(i)), &profile.lists[i]);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  out.key("plugins");
  out.begin_object();
  for (const auto& [name, lists] : all) {
    out.key(name);
    out.begin_object();
    write_list("disabled", lists->disabled, out);
    write_list("enabled", lists->enabled, out);
    out.end_object();
  }
  out.end_object();
}

void write_profile(const Profile& profile, DocumentWriter& out) {
  out.begin_object();
  if (profile.percentage_of_nodes_to_score)
    out.integer_field("percentageOfNodesToScore", *profile.percentage_of_nodes_to_score);
  out.key("pluginConfig");
  write_plugin_config(profile, out);
  write_lists(profile, out);
  out.string_field("schedulerName", profile.scheduler_name);
  out.end_object();
}

}  // namespace

void write_config(const SchedulerConfig& config, ConfigSecrets secrets, DocumentWriter& out) {
  out.begin_object();
  out.string_field("apiVersion", kSchedulerApiVersion);
  write_client_connection(config.client_connection, out);
  OptionalFields fields(out);
  fields.flag("delayCacheUntilActive", config.delay_cache_until_active);
  fields.flag_always("enableContentionProfiling", config.enable_contention_profiling);
  fields.flag_always("enableProfiling", config.enable_profiling);
  if (!config.extenders.empty()) {
    out.key("extenders");
    out.begin_array();
    for (const Extender& extender : config.extenders) write_extender(extender, secrets, out);
    out.end_array();
  }
  out.string_field("kind", "KubeSchedulerConfiguration");
  write_leader_election(config.leader_election, out);
  out.integer_field("parallelism", config.parallelism);
  out.integer_field("percentageOfNodesToScore", config.percentage_of_nodes_to_score);
  out.integer_field("podInitialBackoffSeconds", config.pod_initial_backoff_seconds);
  out.integer_field("podMaxBackoffSeconds", config.pod_max_backoff_seconds);
  out.key("profiles");
  out.begin_array();
  for (const Profile& profile : config.profiles) write_profile(profile, out);
  out.end_array();
  out.end_object();
  out.end_document();
}

std::string configz_json(const SchedulerConfig& config) {
  std::string text;
  ConfigzWriter out(text);
  write_config(config, ConfigSecrets::kWithheld, out);
  return text;
}

}  // namespace berth
