// One data object of any kind, behind one small interface: keys of two numbers (the second one 0
// where keys have one part) with a number each. For tests that say the same of all kinds. A heap
// table only takes rows and gives them all.
#ifndef ERIS_TESTS_SUPPORT_ANY_OBJECT_H_
#define ERIS_TESTS_SUPPORT_ANY_OBJECT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "eris/engine.h"
#include "tests/support/table_rows.h"

namespace eris::test {

enum class AnyKind { kIndex, kBytes, kTwoParts, kHash, kTable, kHeapTable };

inline std::string NameOf(AnyKind kind) {
  constexpr const char* kNames[] = {"Index", "Bytes", "TwoParts", "Hash", "Table", "HeapTable"};
  return kNames[static_cast<int>(kind)];
}

using AnyKey = std::pair<uint64_t, uint64_t>;
using AnyRows = std::vector<std::pair<AnyKey, uint64_t>>;

class AnyObject {
 public:
  // Told of each call of the engine when it begins and when it has returned: tests may tell its
  // memory from that of this class.
  using Around = std::function<void(bool begins)>;

  AnyObject(Engine& engine, AnyKind kind, std::string name)
      : engine_(engine), kind_(kind), name_(std::move(name)), session_(engine.NewSession()) {}

  void SetAround(Around around) { around_ = std::move(around); }
  const std::string& name() const { return name_; }
  bool scans() const { return kind_ != AnyKind::kHash; }
  bool has_keys() const { return kind_ != AnyKind::kHeapTable; }
  bool links() const {
    return kind_ == AnyKind::kIndex || kind_ == AnyKind::kBytes || kind_ == AnyKind::kTwoParts;
  }
  bool is_table() const { return kind_ == AnyKind::kTable || kind_ == AnyKind::kHeapTable; }

  absl::Status Create(const std::vector<uint64_t>& split_points) {
    switch (kind_) {
      case AnyKind::kTable:
        return CreateTable({.split_points = split_points});
      case AnyKind::kHeapTable:
        return CreateTable({});
      default:
        break;
    }
    CreateOptions options{.split_points = split_points};
    if (kind_ == AnyKind::kHash) options.kind = ObjectKind::kHash;
    if (kind_ == AnyKind::kTwoParts) options.key_type = {ColumnType::kUint64, ColumnType::kUint64};
    if (kind_ == AnyKind::kBytes) options.value_type = ColumnType::kString;
    return Call([&] { return engine_.Create(name_, options).status(); });
  }

  // Distinct keys; new ones of a heap table. existed[i]: key i was there.
  absl::Status Put(const AnyRows& rows, std::vector<uint8_t>& existed) {
    existed.assign(rows.size(), 0);
    if (is_table()) {
      Rows batch(Schema().columns);
      for (const auto& [key, value] : rows) batch.Add({key.first, value, TextOf(value)});
      const RowBatch given = batch.batch();
      if (!has_keys()) return Call([&] { return session_->AppendRows(name_, given); });
      return Call([&] { return session_->UpsertRows(name_, given, absl::MakeSpan(existed)); });
    }
    std::vector<uint64_t> firsts, seconds, values;
    std::vector<std::string> texts;
    for (const auto& [key, value] : rows) {
      firsts.push_back(key.first), seconds.push_back(key.second), values.push_back(value);
      texts.push_back(TextOf(value));
    }
    if (kind_ != AnyKind::kBytes) {
      return Call([&] {
        return session_->Upsert(name_, KeysOf(firsts, seconds), values, absl::MakeSpan(existed));
      });
    }
    const std::vector<absl::string_view> views(texts.begin(), texts.end());
    return Call(
        [&] { return session_->UpsertBytes(name_, firsts, views, absl::MakeSpan(existed)); });
  }
  absl::Status Erase(const std::vector<AnyKey>& keys, std::vector<uint8_t>& existed) {
    existed.assign(keys.size(), 0);
    if (is_table()) {
      Rows batch({Schema().columns[0]});
      for (const AnyKey& key : keys) batch.Add({key.first});
      const RowBatch given = batch.batch();
      return Call([&] { return session_->EraseRows(name_, given, absl::MakeSpan(existed)); });
    }
    std::vector<uint64_t> firsts, seconds;
    for (const AnyKey& key : keys) firsts.push_back(key.first), seconds.push_back(key.second);
    return Call(
        [&] { return session_->Erase(name_, KeysOf(firsts, seconds), absl::MakeSpan(existed)); });
  }
  absl::Status Get(const std::vector<AnyKey>& keys, std::vector<std::optional<uint64_t>>& values) {
    values.assign(keys.size(), std::nullopt);
    std::vector<uint8_t> found(keys.size());
    std::vector<uint64_t> firsts, seconds, out(keys.size());
    for (const AnyKey& key : keys) firsts.push_back(key.first), seconds.push_back(key.second);
    absl::Status status;
    if (is_table()) {
      Rows batch({Schema().columns[0]});
      for (const uint64_t first : firsts) batch.Add({first});
      std::vector<ColumnBuffers> columns;
      const RowBatch given = batch.batch();
      const std::vector<std::string> asked = {"value"};
      status = Call([&] {
        return session_->LookupRows(name_, given, asked, columns, absl::MakeSpan(found));
      });
      for (size_t i = 0; status.ok() && i < keys.size(); ++i) {
        if (!found[i]) continue;
        out[i] = std::get<uint64_t>(ValueAt(ViewOf(columns[0]), Schema().columns[1], i));
      }
    } else if (kind_ == AnyKind::kBytes) {
      BytesColumn column;
      status =
          Call([&] { return session_->LookupBytes(name_, firsts, column, absl::MakeSpan(found)); });
      for (size_t i = 0; status.ok() && i < keys.size(); ++i) {
        if (found[i]) out[i] = ValueOf(column[i]);
      }
    } else {
      status = Call([&] {
        return session_->Lookup(name_, KeysOf(firsts, seconds), absl::MakeSpan(out),
                                absl::MakeSpan(found));
      });
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      if (found[i]) values[i] = out[i];
    }
    return status;
  }

  // Every row as of the snapshot (nullptr: now); of tables sorted, of others as the scan gives
  // them. Not of a hash.
  absl::StatusOr<AnyRows> All(std::shared_ptr<Snapshot> snapshot = nullptr,
                              ScanDirection direction = ScanDirection::kForward) {
    AnyRows rows;
    if (is_table()) {
      Query query;
      query.snapshot = std::move(snapshot);
      auto scan = Call([&] { return session_->OpenTableScan(name_, query); });
      if (!scan.ok()) return scan.status();
      std::vector<Row> read;
      for (;;) {
        auto chunk = Call([&] { return (*scan)->Next(absl::Now() + absl::Seconds(60)); });
        if (!chunk.ok()) return chunk.status();
        if (*chunk == nullptr) break;
        ::eris::test::AppendRows(**chunk, read);
      }
      for (const Row& row : read) {
        const auto value = std::get<uint64_t>(row[1]);
        if (std::get<std::string>(row[2]) != TextOf(value)) {
          return absl::InternalError("a row's columns are of several rows");
        }
        rows.push_back({{std::get<uint64_t>(row[0]), 0}, value});
      }
      std::sort(rows.begin(), rows.end());
      return rows;
    }
    auto scan = Call(
        [&] { return session_->OpenScan(name_, {.direction = direction, .snapshot = snapshot}); });
    if (!scan.ok()) return scan.status();
    for (;;) {
      auto chunk = Call([&] { return (*scan)->Next(absl::Now() + absl::Seconds(60)); });
      if (!chunk.ok()) return chunk.status();
      if (!*chunk) return rows;
      const auto keys = (*chunk)->keys();
      for (size_t i = 0; i < keys.size(); ++i) {
        const uint64_t second = kind_ == AnyKind::kTwoParts ? (*chunk)->second_keys()[i] : 0;
        const uint64_t value =
            kind_ == AnyKind::kBytes ? ValueOf((*chunk)->bytes(i)) : (*chunk)->values()[i];
        rows.push_back({{keys[i], second}, value});
      }
    }
  }

  Session& session() { return *session_; }

  // A table's columns, and what stands in "text" beside a value: of different lengths, short ones,
  // and some that are long.
  static Schema SchemaOf(bool clustered) {
    Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64},
                                   {.name = "value", .type = ColumnType::kUint64},
                                   {.name = "text", .type = ColumnType::kString}}};
    if (clustered) schema.key = {0};
    return schema;
  }
  static std::string TextOf(uint64_t value) {
    return absl::StrCat(value, std::string(value % 16 == 0 ? 300 : value % 16, ' '));
  }

 private:
  template <class EngineCall>
  std::invoke_result_t<EngineCall> Call(EngineCall call) {
    struct Ends {
      explicit Ends(const Around& call) : around(call) {
        if (around) around(true);
      }
      ~Ends() {
        if (around) around(false);
      }
      const Around& around;
    };
    const Ends ends(around_);
    return call();
  }
  absl::Status CreateTable(const TableOptions& options) {
    const Schema schema = Schema();
    return Call([&] { return engine_.CreateTable(name_, schema, options).status(); });
  }
  Schema Schema() const { return SchemaOf(kind_ == AnyKind::kTable); }
  static uint64_t ValueOf(absl::string_view text) {
    const uint64_t value = std::stoull(std::string(text));
    ERIS_CHECK(text == TextOf(value));
    return value;
  }
  KeyColumns KeysOf(const std::vector<uint64_t>& firsts,
                    const std::vector<uint64_t>& seconds) const {
    if (kind_ == AnyKind::kTwoParts) return {firsts, seconds};
    return firsts;
  }

  Engine& engine_;
  const AnyKind kind_;
  const std::string name_;
  Around around_{};
  std::unique_ptr<Session> session_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_ANY_OBJECT_H_
