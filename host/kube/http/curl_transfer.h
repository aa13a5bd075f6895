// SPDX-License-Identifier: Apache-2.0
#pragma once

// One request to libcurl.

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <string>

#include "host/kube/http/curl_client.h"

namespace berth {

struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeHeaders>;

/// Parts of "https://host:port/base".
struct UrlParts {
  std::string scheme;
  std::string authority;
  std::string base;
};
UrlParts parts_of(const std::string& url);

struct Transfer {
  CURL* easy = nullptr;  ///< owned by the client
  HttpRequest request;
  HttpClient::Done done;                     ///< of a call
  std::shared_ptr<HttpStreamReader> reader;  ///< of a stream
  HttpClient::StreamId id = 0;               ///< of a stream
  ClientIdentity identity;
  HeaderList headers;
  HeaderList connect_to;
  HttpResponse response;
  std::chrono::steady_clock::time_point begin;
  bool is_told = false;     ///< the meter knows of it
  bool is_closed = false;   ///< nobody is called back
  bool ends_here = false;   ///< the reader wants no more
  std::string own_problem;  ///< why the transfer was ended here; empty: it was not
  char error[CURL_ERROR_SIZE] = {};
};

/// Tells `transfer.easy`, a new or reset handle, all of the request. The transfer must not move afterwards, and
/// `options` outlive it.
/// @throws std::bad_alloc
void set_up(Transfer& transfer, const CurlClientOptions& options, const UrlParts& url);

/// The problems of a connection that came to nothing: no byte of the request has left.
bool is_before_sending(CURLcode code);

}  // namespace berth
