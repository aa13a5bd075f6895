// SPDX-License-Identifier: Apache-2.0
#include "host/serving/authorization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "host/objects/json_value.h"
#include "host/objects/json_writer.h"
#include "host/serving/foreign_text.h"

namespace berth {
namespace {

constexpr const char* kAccessReviewPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

std::string_view without_slash(std::string_view path) { return path.starts_with('/') ? path.substr(1) : path; }

std::string review_spec(const ServedUser& user, std::string_view verb, const std::string& path) {
  std::string text;
  JsonWriter json(text);
  json.open('{');
  json.object("nonResourceAttributes", [&] {
    json.field("path", path);
    json.field("verb", verb);
  });
  json.text("user", user.name);
  json.strings("groups", user.groups);
  if (!user.extra.empty()) {
    json.object("extra", [&] {
      for (const auto& [key, values] : user.extra) {
        json.key(key);
        json.open('[');
        for (const std::string& value : values) json.value(value);
        json.close(']');
      }
    });
  }
  json.text("uid", user.uid);
  json.close('}');
  return text;
}

/// As responsewriters.ErrorNegotiated() writes it for a person.
ServedAnswer status_answer(int code, std::string_view reason, std::string_view message, bool has_details) {
  std::string text;
  JsonWriter(text).value(message);
  return {.status = code,
          .content_type = "application/json",
          .body = fmt::format(
              "{{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {{}},\n"
              "  \"status\": \"Failure\",\n  \"message\": {},\n  \"reason\": \"{}\",\n{}  \"code\": {}\n}}\n",
              text, reason, has_details ? "  \"details\": {},\n" : "", code)};
}

std::string json_quoted(const std::string& text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

std::string verb_of(std::string method) {
  std::transform(method.begin(), method.end(), method.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return method;
}

}  // namespace

Authorization::Authorization(AuthorizationOptions options, const Clock& clock, ReviewClient::Sleep sleep)
    : options_(std::move(options)), clock_(clock) {
  for (const std::string& path : options_.always_allowed_paths) {
    if (path.find('*') < path.size() - 1)
      throw std::runtime_error("--authorization-always-allow-paths: a * stands at the end only, in " +
                               foreign_text(path));
  }
  if (options_.client != nullptr) reviews_.emplace(*options_.client, std::move(sleep));
}

bool Authorization::is_always_allowed(std::string_view path) const {
  path = without_slash(path);
  return std::any_of(options_.always_allowed_paths.begin(), options_.always_allowed_paths.end(),
                     [&](std::string_view allowed) {
                       allowed = without_slash(allowed);
                       if (!allowed.ends_with('*')) return path == allowed;
                       return path.starts_with(allowed.substr(0, allowed.size() - 1));
                     });
}

AccessDecision Authorization::review(const std::string& spec) {
  const std::string body =
      R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":)" + spec + "}";
  const std::string answer = reviews_->post(kAccessReviewPath, body);
  ProblemSink sink("");
  JsonParser parser;
  const auto element = parser.parse(answer);
  if (!element) throw ReviewProblem{"the answer cannot be read: " + foreign_text(parser.error())};
  const JsonValue root(*element, sink);
  const JsonValue status = root.field("status");
  bool is_allowed = false;
  bool is_denied = false;
  AccessDecision decision;
  status.field("allowed").read(is_allowed);
  status.field("denied").read(is_denied);
  status.field("reason").read(decision.reason);
  if (!sink.empty()) throw ReviewProblem{"the answer cannot be read"};
  if (is_allowed && is_denied)
    throw ReviewProblem{"webhook subject access review returned both allow and deny response"};
  decision.is_allowed = is_allowed;
  return decision;
}

AccessDecision Authorization::decide(const ServedUser& user, std::string_view verb, const std::string& path) {
  const bool is_master = std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end();
  if (is_master || is_always_allowed(path)) return {.is_allowed = true, .reason = {}};
  if (!reviews_) return {};
  const std::string spec = review_spec(user, verb, path);
  if (const std::optional<AccessDecision> known = decisions_.find(spec, clock_.now_us())) return *known;
  AccessDecision decision = review(spec);
  const std::int64_t now_us = clock_.now_us();
  const std::int64_t ttl_us = decision.is_allowed ? options_.allowed_ttl_us : options_.denied_ttl_us;
  if (spec.size() < kCachedSpecBytesMax) decisions_.put(spec, decision, now_us + ttl_us, now_us);
  return decision;
}

DelegatedAccess::DelegatedAccess(Authentication& authentication, Authorization& authorization, ServingLog log)
    : authentication_(authentication), authorization_(authorization), log_(std::move(log)) {}

std::optional<ServedAnswer> DelegatedAccess::check(const RequestIdentity& identity, ServedRequest& request) {
  std::optional<ServedUser> user = authentication_.user_of(identity);
  if (!user) return status_answer(401, "Unauthorized", "Unauthorized", false);
  request.user = std::move(*user);
  const std::string verb = verb_of(request.method);
  try {
    const AccessDecision decision = authorization_.decide(request.user, verb, request.path);
    if (decision.is_allowed) return std::nullopt;
    return status_answer(403, "Forbidden",
                         fmt::format("forbidden: User {} cannot {} path {}{}{}", json_quoted(request.user.name), verb,
                                     json_quoted(request.path), decision.reason.empty() ? "" : ": ", decision.reason),
                         true);
  } catch (const ReviewProblem& problem) {
    log_(fmt::format("access to {} could not be reviewed: {}", foreign_text(request.path), problem.reason));
    return ServedAnswer{.status = 500, .body = "Internal Server Error: the access could not be reviewed\n"};
  }
}

}  // namespace berth
