// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an HTTPS server serves: paths and the functions that answer them.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace berth {

/// Who asks, as an API server knows it.
struct ServedUser {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

struct ServedRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< without the query, escapes undone
  std::multimap<std::string, std::string> query;
  std::string body;
  ServedUser user;
};

struct ServedAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

/// Called on a thread of the server, on several at once; no lock of the server is held. A call holds its thread, so it
/// must not wait for what may not come. What it throws is answered with 500 and does not reach the client.
using RouteHandler = std::function<ServedAnswer(const ServedRequest&)>;

struct Route {
  std::string path;  ///< of letters, digits, "/", "-", "_" and "."; compared as a whole
  RouteHandler handler;
  std::string body_method = {};  ///< "PUT" or "POST": the method beside GET and HEAD that it takes, with a body
};

/// Takes messages for the log. They hold no foreign text that is not quoted. Called on any thread.
using ServingLog = std::function<void(const std::string& message)>;

}  // namespace berth
