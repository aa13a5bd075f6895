// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/api_formats.h"

#include <gtest/gtest.h>

#include <string>

#include "host/objects/errors.h"

namespace berth {
namespace {

ApiFormats formats(const std::string& content_type, const std::string& accepted = {}) {
  ClientConnection connection;
  connection.content_type = content_type;
  connection.accept_content_types = accepted;
  return api_formats(connection);
}

constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

TEST(ApiFormats, AreProtobufWhereNothingIsSaid) {
  const ApiFormats formats = api_formats(ClientConnection());
  EXPECT_EQ(formats.bind, BodyFormat::kProtobuf);
  EXPECT_EQ(formats.accept, "application/vnd.kubernetes.protobuf, */*");
}

TEST(ApiFormats, FollowTheContentType) {
  EXPECT_EQ(formats("application/json").bind, BodyFormat::kJson);
  EXPECT_EQ(formats("application/json").accept, "application/json");
}

TEST(ApiFormats, AcceptWhatTheListNamesAndCanBeRead) {
  EXPECT_EQ(formats(kProtobuf, "application/json").bind, BodyFormat::kProtobuf);
  EXPECT_EQ(formats(kProtobuf, "application/json").accept, "application/json");
  EXPECT_EQ(formats("application/json", kProtobuf).accept, kProtobuf);
  EXPECT_EQ(formats(kProtobuf, " application/cbor ,application/json;q=0.8, application/yaml,*/*").accept,
            "application/json;q=0.8, */*");
}

TEST(ApiFormats, RefuseWhatCannotBeReadOrWritten) {
  const auto message = [](const std::string& type, const std::string& accepted) -> std::string {
    try {
      formats(type, accepted);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  const std::string both = "application/json or application/vnd.kubernetes.protobuf";
  EXPECT_EQ(message("application/cbor", ""),
            "clientConnection: contentType: got \"application/cbor\", expected " + both);
  EXPECT_EQ(message("application/json", "application/cbor, x"),
            "clientConnection: acceptContentTypes: got \"application/cbor, x\", expected a list with " + both);
}

}  // namespace
}  // namespace berth
