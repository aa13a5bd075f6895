// SPDX-License-Identifier: Apache-2.0
#include "host/config/extenders.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "host/config/base64.h"
#include "host/objects/resources.h"

namespace berth {
namespace {

using SeenResources = std::set<std::string, std::less<>>;

ExtenderTls read_tls(const JsonValue& value) {
  ExtenderTls tls;
  const auto texts = std::to_array<std::pair<std::string_view, std::string*>>({{"serverName", &tls.server_name},
                                                                               {"certFile", &tls.cert_file},
                                                                               {"keyFile", &tls.key_file},
                                                                               {"caFile", &tls.ca_file}});
  const auto data = std::to_array<std::pair<std::string_view, std::string*>>(
      {{"certData", &tls.cert_data}, {"keyData", &tls.key_data}, {"caData", &tls.ca_data}});
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    const auto is_key = [key](const auto& entry) { return entry.first == key; };
    if (key == "insecure") {
      field.read(tls.insecure);
    } else if (const auto* text = std::find_if(texts.begin(), texts.end(), is_key); text != texts.end()) {
      field.read(*text->second);
    } else if (const auto* bytes = std::find_if(data.begin(), data.end(), is_key); bytes != data.end()) {
      read_base64(field, *bytes->second);
    } else {
      return false;
    }
    return true;
  });
  return tls;
}

ExtenderManagedResource read_managed_resource(const JsonValue& element, SeenResources& seen) {
  ExtenderManagedResource resource;
  element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "name") {
      value.read(resource.name);
    } else if (key == "ignoredByScheduler") {
      value.read(resource.ignored_by_scheduler);
    } else {
      return false;
    }
    return true;
  });
  const JsonValue name = element.field("name");
  if (name.present() && !name.is_string()) return resource;  // said already
  if (!is_extended_resource(resource.name)) {
    name.mismatch("the name of an extended resource, as \"example.com/device\"");
  } else if (!seen.insert(resource.name).second) {
    name.mismatch("a resource that no other entry of any extender manages");
  }
  return resource;
}

bool read_extender_text(std::string_view key, const JsonValue& value, Extender& out) {
  const auto texts = std::to_array<std::pair<std::string_view, std::string*>>({{"urlPrefix", &out.url_prefix},
                                                                               {"filterVerb", &out.filter_verb},
                                                                               {"prioritizeVerb", &out.prioritize_verb},
                                                                               {"preemptVerb", &out.preempt_verb},
                                                                               {"bindVerb", &out.bind_verb}});
  for (const auto& [name, text] : texts) {
    if (name != key) continue;
    value.read(*text);
    return true;
  }
  return false;
}

bool read_extender_field(std::string_view key, const JsonValue& value, SeenResources& seen, Extender& out) {
  if (key == "weight") {
    value.read(out.weight);
  } else if (key == "enableHTTPS") {
    value.read(out.enable_https);
  } else if (key == "tlsConfig") {
    if (value.present()) out.tls = read_tls(value);
  } else if (key == "httpTimeout") {
    read_duration_us(value, out.http_timeout_us);
  } else if (key == "nodeCacheCapable") {
    value.read(out.node_cache_capable);
  } else if (key == "ignorable") {
    value.read(out.ignorable);
  } else if (key == "managedResources") {
    value.for_each_element(
        [&](const JsonValue& element) { out.managed_resources.push_back(read_managed_resource(element, seen)); });
  } else {
    return read_extender_text(key, value, out);
  }
  return true;
}

Extender read_extender(const JsonValue& element, SeenResources& seen) {
  Extender extender;
  extender.path = element.path();
  element.for_each_field_strict(
      [&](std::string_view key, const JsonValue& value) { return read_extender_field(key, value, seen, extender); });
  if (extender.url_prefix.empty()) element.field("urlPrefix").problem("expected a URL: the field is required");
  extender.url_prefix.erase(extender.url_prefix.find_last_not_of('/') + 1);
  if (!extender.prioritize_verb.empty() && extender.weight <= 0) {
    element.field("weight").mismatch("an integer above 0, because prioritizeVerb is set");
  }
  return extender;
}

/// Otherwise the order is kept.
void move_ignorable_last(std::vector<Extender>& extenders) {
  std::vector<Extender> ordered;
  for (const bool ignorable : {false, true}) {
    for (Extender& extender : extenders) {
      if (extender.ignorable == ignorable) ordered.push_back(std::move(extender));
    }
  }
  extenders = std::move(ordered);
}

}  // namespace

std::vector<Extender> decode_extenders(const JsonValue& list, const ConfigContext& context) {
  std::vector<Extender> extenders;
  SeenResources seen;
  list.for_each_element([&](const JsonValue& element) { extenders.push_back(read_extender(element, seen)); });
  const auto binders =
      std::count_if(extenders.begin(), extenders.end(), [](const Extender& e) { return !e.bind_verb.empty(); });
  if (binders > 1) {
    context.sink.add(list.path(),
                     "got " + std::to_string(binders) + " extenders with a bindVerb, expected at most one");
  }
  move_ignorable_last(extenders);
  return extenders;
}

std::vector<std::string> resources_ignored_by_scheduler(const std::vector<Extender>& extenders) {
  std::vector<std::string> names;
  for (const Extender& extender : extenders) {
    for (const ExtenderManagedResource& resource : extender.managed_resources) {
      if (resource.ignored_by_scheduler) names.push_back(resource.name);
    }
  }
  return names;
}

}  // namespace berth
