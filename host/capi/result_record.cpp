// SPDX-License-Identifier: Apache-2.0
#include "host/capi/result_record.h"

#include <cstdint>

#include "host/capi/cluster.h"
#include "host/capi/result_columns.h"
#include "host/objects/json_writer.h"

namespace berth::capi {
namespace {

constexpr std::int32_t kSchemaVersion = 1;
static_assert(BERTH_NO_NODE == BERTH_NO_POD);  // both are ResultColumn::Kind::kPosition

class RecordWriter {
 public:
  explicit RecordWriter(const Result& result, std::string& out) : result_(result), json_(out) {}

  void write() {
    const Cluster& cluster = result_.cluster();
    json_.open('{');
    json_.field("schemaVersion", kSchemaVersion);
    json_.field("kind", std::string_view("result"));
    json_.field("release", std::string_view(cluster.release()));
    json_.field("backend", std::string_view(cluster.backend_name()));
    json_.field("seed", cluster.engine().engine.seed);
    json_.field("version", result_.version());
    json_.text("message", result_.message);
    json_.object("columns",
                 [&] { result_.for_each_column([&](std::uint32_t id, const auto& values) { write(id, values); }); });
    json_.close('}');
  }

 private:
  template <class Number>
  void write(std::uint32_t id, const std::vector<Number>& values) {
    const ResultColumn& column = *find_result_column(id);
    json_.key(column.name);
    json_.open('[');
    for (const Number value : values) write(column.kind, static_cast<std::int64_t>(value));
    json_.close(']');
  }

  void write(ResultColumn::Kind kind, std::int64_t value) {
    using Kind = ResultColumn::Kind;
    if (kind == Kind::kText) return json_.value(result_.text(static_cast<std::uint32_t>(value)));
    if (kind == Kind::kFlag) return json_.value(value != 0);
    if (kind == Kind::kScore && value == BERTH_NO_SCORE) return json_.null();
    if (kind == Kind::kPosition && value == BERTH_NO_NODE) return json_.null();
    if (kind != Kind::kNode) return json_.value(value);
    const std::string* const name = result_.cluster().nodes().name_of(static_cast<std::uint32_t>(value));
    if (name == nullptr) return json_.null();
    json_.value(*name);
  }

  const Result& result_;
  JsonWriter json_;
};

}  // namespace

std::string record_of(const Result& result) {
  std::string record;
  if (result.has_columns()) RecordWriter(result, record).write();
  return record;
}

}  // namespace berth::capi
