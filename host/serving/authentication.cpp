// SPDX-License-Identifier: Apache-2.0
#include "host/serving/authentication.h"

#include <fmt/format.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "host/objects/json_value.h"
#include "host/objects/json_writer.h"
#include "host/serving/foreign_text.h"

namespace berth {
namespace {

constexpr const char* kTokenReviewPath = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr std::int64_t kLookEveryUs = 60'000'000;
constexpr std::int64_t kLookAgainUs = 10'000'000;

std::shared_ptr<const ClientCa> ca_of_file(const std::string& flag, const std::string& path) {
  if (path.empty()) return nullptr;
  std::ifstream file(path, std::ios::binary);
  const std::string pem{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw std::runtime_error(fmt::format("{}: cannot read {}", flag, foreign_text(path)));
  try {
    return std::make_shared<const ClientCa>(pem);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}: {}", flag, foreign_text(path), error.what()));
  }
}

/// A list of texts inside a text, as the config map has it; what is no such list gives none.
std::vector<std::string> list_in(const JsonValue& data, std::string_view key) {
  std::string text;
  std::vector<std::string> list;
  if (!data.field(key).read(text)) return list;
  ProblemSink sink("");
  JsonParser parser;
  if (const auto element = parser.parse(text)) JsonValue(*element, sink).read(list);
  return list;
}

std::shared_ptr<const ClientCa> ca_in(const JsonValue& data, std::string_view key) {
  std::string pem;
  if (!data.field(key).read(pem) || pem.empty()) return nullptr;
  return std::make_shared<const ClientCa>(pem);
}

/// The first of the headers that is there and not empty.
std::string first_header(const RequestHeaders& headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto at = headers.find(name);
    if (at != headers.end() && !at->second.empty()) return at->second;
  }
  return {};
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto digit = [&](std::size_t at) {
      const auto c = at < text.size() ? static_cast<unsigned char>(text[at]) : '!';
      return std::isxdigit(c) == 0 ? -1 : std::isdigit(c) != 0 ? c - '0' : std::tolower(c) - 'a' + 10;
    };
    const int high = digit(i + 1);
    const int low = digit(i + 2);
    if (high < 0 || low < 0) return std::string(text);  // as it stands
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

ServedUser user_of_headers(const RequestHeaders& headers, const RequestHeaderOptions& options, std::string name) {
  ServedUser user{
      .name = std::move(name), .uid = first_header(headers, options.uid_headers), .groups = {}, .extra = {}};
  for (const std::string& header : options.group_headers) {
    const auto [first, last] = headers.equal_range(header);
    for (auto at = first; at != last; ++at)
      if (!at->second.empty()) user.groups.push_back(at->second);
  }
  for (const std::string& prefix : options.extra_header_prefixes) {
    for (const auto& [header, value] : headers) {
      if (header.size() < prefix.size() || ::strncasecmp(header.data(), prefix.data(), prefix.size()) != 0) continue;
      std::string key = header.substr(prefix.size());
      std::transform(key.begin(), key.end(), key.begin(),
                     [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
      user.extra[unescaped(key)].push_back(value);
    }
  }
  return user;
}

/// The token of "Bearer <token>"; empty: none.
std::string bearer_token(const RequestHeaders& headers) {
  const auto at = headers.find("Authorization");
  if (at == headers.end()) return {};
  std::string_view text = at->second;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  constexpr std::string_view kScheme = "bearer ";
  if (text.size() < kScheme.size() || ::strncasecmp(text.data(), kScheme.data(), kScheme.size()) != 0) return {};
  text.remove_prefix(kScheme.size());
  return std::string(text.substr(0, text.find(' ')));
}

std::string keyed_hash(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), digest.data(), &size) == nullptr)
    throw std::runtime_error("cannot hash a token");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

ServedUser user_in(const JsonValue& value) {
  ServedUser user;
  value.field("username").read(user.name);
  value.field("uid").read(user.uid);
  value.field("groups").read(user.groups);
  const JsonValue extra = value.field("extra");
  if (!extra.is_object()) return user;
  for (auto [key, element] : simdjson::dom::object(extra.element()))
    JsonValue(element, value.sink()).read(user.extra[std::string(key)]);
  return user;
}

}  // namespace

Authentication::Authentication(AuthenticationOptions options, const Clock& clock, ServingLog log,
                               ReviewClient::Sleep sleep)
    : options_(std::move(options)), clock_(clock), log_(std::move(log)), token_key_(32, '\0') {
  if (options_.client != nullptr) reviews_.emplace(*options_.client, std::move(sleep));
  if (RAND_bytes(reinterpret_cast<unsigned char*>(token_key_.data()), static_cast<int>(token_key_.size())) != 1)
    throw std::runtime_error("OpenSSL has no random numbers");
  trust_.headers = options_.request_header;
  read_files();
  // The config map is read by look_up(), or else by the first request that needs it.
  next_look_us_ = clock_.now_us() + (looks_up() ? 0 : kLookEveryUs);
}

bool Authentication::looks_up() const {
  const bool lacks_one = options_.client_ca_file.empty() || options_.request_header.ca_file.empty();
  return reviews_.has_value() && !options_.skips_lookup && lacks_one;
}

void Authentication::read_files() {
  std::shared_ptr<const ClientCa> client = ca_of_file("--client-ca-file", options_.client_ca_file);
  std::shared_ptr<const ClientCa> proxy = ca_of_file("--requestheader-client-ca-file", options_.request_header.ca_file);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (client) trust_.client_ca = std::move(client);
  if (proxy) trust_.proxy_ca = std::move(proxy);
}

void Authentication::look_up() {
  if (!looks_up()) return;
  if (read_config_map()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    next_look_us_ = clock_.now_us() + kLookEveryUs;
    return;
  }
  if (!options_.tolerates_lookup_failure)
    throw std::runtime_error(
        "the config map kube-system/extension-apiserver-authentication cannot be read, and "
        "--authentication-tolerate-lookup-failure=false");
  log_("continuing without the authentication configuration of the cluster: client certificates count as anonymous");
  const std::lock_guard<std::mutex> lock(mutex_);
  next_look_us_ = clock_.now_us() + kLookAgainUs;
}

bool Authentication::read_config_map() {
  try {
    const std::string body = reviews_->get(kConfigMapPath);
    ProblemSink sink("");
    JsonParser parser;
    const auto element = parser.parse(body);
    if (!element) throw std::runtime_error(parser.error());
    const JsonValue root(*element, sink);
    const JsonValue data = root.field("data");
    std::shared_ptr<const ClientCa> client = ca_in(data, "client-ca-file");
    std::shared_ptr<const ClientCa> proxy = ca_in(data, "requestheader-client-ca-file");
    RequestHeaderOptions headers;
    headers.username_headers = list_in(data, "requestheader-username-headers");
    headers.uid_headers = list_in(data, "requestheader-uid-headers");
    headers.group_headers = list_in(data, "requestheader-group-headers");
    headers.extra_header_prefixes = list_in(data, "requestheader-extra-headers-prefix");
    headers.allowed_names = list_in(data, "requestheader-allowed-names");
    const std::lock_guard<std::mutex> lock(mutex_);
    if (options_.client_ca_file.empty()) trust_.client_ca = std::move(client);
    if (!options_.request_header.ca_file.empty()) return true;
    trust_.proxy_ca = std::move(proxy);
    trust_.headers = std::move(headers);
    return true;
  } catch (const ReviewProblem& problem) {
    log_("kube-system/extension-apiserver-authentication cannot be read: " + problem.reason);
  } catch (const std::runtime_error& error) {
    log_("kube-system/extension-apiserver-authentication cannot be used: " + foreign_text(error.what()));
  }
  return false;
}

Authentication::Trust Authentication::trust() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (clock_.now_us() < next_look_us_) return trust_;
    next_look_us_ = clock_.now_us() + kLookEveryUs;  // one request looks, the others go on with what is known
  }
  bool is_read = true;
  try {
    read_files();
  } catch (const std::runtime_error& error) {
    log_(fmt::format("client authorities stay as they were: {}", error.what()));
    is_read = false;
  }
  if (looks_up() && !read_config_map()) is_read = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_read) next_look_us_ = clock_.now_us() + kLookAgainUs;
  return trust_;
}

Authentication::Found Authentication::by_headers(const RequestIdentity& identity, const Trust& trust) const {
  if (!trust.proxy_ca || identity.certificates.empty()) return {};
  if (std::string problem = trust.proxy_ca->problem_of(identity.certificates); !problem.empty())
    return {.user = {}, .problem = "the certificate is not of a trusted proxy: " + problem};
  const std::optional<ServedUser> proxy = user_of_certificate(identity.certificates.front().get());
  const std::vector<std::string>& allowed = trust.headers.allowed_names;
  const bool is_allowed =
      allowed.empty() || (proxy && std::find(allowed.begin(), allowed.end(), proxy->name) != allowed.end());
  if (!is_allowed) return {.user = {}, .problem = "the proxy's name is not among those allowed"};
  std::string name = first_header(identity.headers, trust.headers.username_headers);
  if (name.empty()) return {};
  return {.user = user_of_headers(identity.headers, trust.headers, std::move(name)), .problem = {}};
}

Authentication::Found Authentication::by_certificate(const RequestIdentity& identity, const Trust& trust) const {
  if (!trust.client_ca || identity.certificates.empty()) return {};
  if (std::string problem = trust.client_ca->problem_of(identity.certificates); !problem.empty())
    return {.user = {}, .problem = "the client's certificate is not trusted: " + problem};
  return {.user = user_of_certificate(identity.certificates.front().get()), .problem = {}};
}

Authentication::TokenAnswer Authentication::review(const std::string& token) {
  std::string body;
  JsonWriter json(body);
  json.open('{');
  json.field("kind", std::string_view("TokenReview"));
  json.field("apiVersion", std::string_view("authentication.k8s.io/v1"));
  json.object("spec", [&] { json.field("token", token); });
  json.close('}');
  const std::string answer = reviews_->post(kTokenReviewPath, body);
  ProblemSink sink("");
  JsonParser parser;
  const auto element = parser.parse(answer);
  if (!element) throw ReviewProblem{"the answer to a TokenReview cannot be read: " + foreign_text(parser.error())};
  const JsonValue root(*element, sink);
  const JsonValue status = root.field("status");
  bool is_authenticated = false;
  status.field("authenticated").read(is_authenticated);
  const JsonValue user = status.field("user");
  TokenAnswer result;
  if (is_authenticated) result.user = user_in(user);
  if (!sink.empty()) throw ReviewProblem{"the answer to a TokenReview cannot be read"};
  std::string error;
  if (!is_authenticated && status.field("error").read(error) && !error.empty())
    throw ReviewProblem{foreign_text(error)};
  return result;
}

Authentication::Found Authentication::by_token(const RequestIdentity& identity) {
  const std::string token = bearer_token(identity.headers);
  if (token.empty() || !reviews_) return {};
  const std::string key = keyed_hash(token_key_, token);
  std::optional<TokenAnswer> answer = tokens_.find(key, clock_.now_us());
  if (!answer) {
    try {
      answer = review(token);
    } catch (const ReviewProblem& problem) {
      return {.user = {}, .problem = "the token could not be reviewed: " + problem.reason};
    }
    const std::int64_t now_us = clock_.now_us();
    tokens_.put(key, *answer, now_us + options_.token_ttl_us, now_us);
  }
  if (!answer->user) return {.user = {}, .problem = "the token does not hold"};
  return {.user = std::move(answer->user), .problem = {}};
}

std::optional<ServedUser> Authentication::user_of(const RequestIdentity& identity) {
  std::string problems;
  const auto settled = [&](Found found) {
    if (!found.problem.empty()) problems += (problems.empty() ? "" : "; ") + found.problem;
    return std::move(found.user);
  };
  std::optional<ServedUser> user;
  if (!identity.certificates.empty()) {
    const Trust now = trust();
    user = settled(by_headers(identity, now));
    if (!user) user = settled(by_certificate(identity, now));
  }
  if (!user) user = settled(by_token(identity));
  if (user) {
    constexpr const char* kAuthenticated = "system:authenticated";
    std::vector<std::string>& groups = user->groups;
    const bool is_in = std::any_of(groups.begin(), groups.end(), [](const std::string& group) {
      return group == kAuthenticated || group == "system:unauthenticated";
    });
    if (!is_in && user->name != "system:anonymous") groups.emplace_back(kAuthenticated);
    return user;
  }
  if (!problems.empty()) {
    log_("a request could not be authenticated: " + problems);
    return std::nullopt;
  }
  return ServedUser{.name = "system:anonymous", .uid = {}, .groups = {"system:unauthenticated"}, .extra = {}};
}

}  // namespace berth
