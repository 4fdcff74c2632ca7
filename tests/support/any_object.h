// One data object of any kind, behind one small interface: keys of two numbers (the second one 0
// where keys have one part) with a number each. For tests that say the same of all kinds. A heap
// table only takes rows and gives them all.
#ifndef ERIS_TESTS_SUPPORT_ANY_OBJECT_H_
#define ERIS_TESTS_SUPPORT_ANY_OBJECT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "eris/engine.h"
#include "eris/key_encoding.h"
#include "tests/support/objects.h"

namespace eris::test {

// kSigned: an index whose keys are i64, here by their encoded numbers. kBytes: an index of strings.
enum class AnyKind { kIndex, kSigned, kBytes, kTwoParts, kHash, kTable, kHeapTable };

inline std::string NameOf(AnyKind kind) {
  constexpr const char* kNames[] = {"Index", "Signed", "Bytes",    "TwoParts",
                                    "Hash",  "Table",  "HeapTable"};
  return kNames[static_cast<int>(kind)];
}
// Names a test's parameter.
inline constexpr auto kNameOfKind = [](const auto& of) { return NameOf(of.param); };
inline constexpr AnyKind kAllKinds[] = {AnyKind::kIndex,    AnyKind::kSigned, AnyKind::kBytes,
                                        AnyKind::kTwoParts, AnyKind::kHash,   AnyKind::kTable,
                                        AnyKind::kHeapTable};
// Those that say yes to `has`.
template <class Has>
std::vector<AnyKind> KindsThat(Has has) {
  std::vector<AnyKind> kinds;
  std::copy_if(std::begin(kAllKinds), std::end(kAllKinds), std::back_inserter(kinds), has);
  return kinds;
}
inline bool IsTable(AnyKind kind) { return kind == AnyKind::kTable || kind == AnyKind::kHeapTable; }
// Its rows are scanned in the order of their keys, and its ranges move by links, too.
inline bool IsIndex(AnyKind kind) { return kind != AnyKind::kHash && !IsTable(kind); }
inline bool HasKeys(AnyKind kind) { return kind != AnyKind::kHeapTable; }
inline bool HasStrings(AnyKind kind) { return kind == AnyKind::kBytes || IsTable(kind); }
inline bool Takes(AnyKind kind, WriteMode mode) {
  if (!HasKeys(kind)) return mode == WriteMode::kAppend;
  if (IsTable(kind)) return mode == WriteMode::kUpsert || mode == WriteMode::kErase;
  return mode != WriteMode::kAppend && (mode != WriteMode::kAdd || kind != AnyKind::kBytes);
}
inline std::vector<AnyKind> KindsThatTake(WriteMode mode) {
  return KindsThat([mode](AnyKind kind) { return Takes(kind, mode); });
}
inline WriteMode PutMode(AnyKind kind) {
  return HasKeys(kind) ? WriteMode::kUpsert : WriteMode::kAppend;
}

// What stands for a value as a string: of different lengths, an empty one, and some that are long.
inline std::string TextOf(uint64_t value) {
  if (value == 0) return "";
  const uint64_t spaces = value % 1024 == 77 ? 20'000 : value % 16 == 0 ? 300 : value % 16;
  return absl::StrCat(value, std::string(spaces, ' '));
}
inline uint64_t ValueOf(const std::string& text) {
  const uint64_t value = text.empty() ? 0 : std::stoull(text);
  ERIS_CHECK(text == TextOf(value));
  return value;
}

// Index and hash: key columns and a value. Tables: a key, a value, and its text.
inline Schema SchemaOf(AnyKind kind) {
  switch (kind) {
    case AnyKind::kSigned:
      return KeyValueSchema(ColumnType::kInt64);
    case AnyKind::kBytes:
      return KeyValueSchema(ColumnType::kUint64, ColumnType::kString);
    case AnyKind::kTwoParts:
      return KeyValueSchema({ColumnType::kUint64, ColumnType::kUint64});
    case AnyKind::kTable:
    case AnyKind::kHeapTable: {
      Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64},
                                {.name = "value", .type = ColumnType::kUint64},
                                {.name = "text", .type = ColumnType::kString}}};
      if (kind == AnyKind::kTable) schema.key = {0};
      return schema;
    }
    default:
      return KeyValueSchema();
  }
}
inline CreateOptions OptionsOf(AnyKind kind) {
  CreateOptions options{.schema = SchemaOf(kind)};
  if (kind == AnyKind::kHash) options.kind = ObjectKind::kHash;
  if (kind == AnyKind::kTable) options.kind = ObjectKind::kTable;
  if (kind == AnyKind::kHeapTable) options.kind = ObjectKind::kHeapTable;
  return options;
}

using AnyKey = std::pair<uint64_t, uint64_t>;
using AnyRows = std::vector<std::pair<AnyKey, uint64_t>>;

// Rows in the columns of a kind. Owns them; its batches are good until the next Add.
class AnyBatch {
 public:
  explicit AnyBatch(AnyKind kind) : kind_(kind) {}
  AnyBatch(AnyKind kind, const AnyRows& rows) : AnyBatch(kind) {
    for (const auto& [key, value] : rows) Add(key, value);
  }
  AnyBatch(AnyKind kind, const std::vector<AnyKey>& keys) : AnyBatch(kind) {
    for (const AnyKey& key : keys) Add(key, 0);
  }
  void Add(const AnyKey& key, uint64_t value) {
    firsts_.push_back(kind_ == AnyKind::kSigned ? static_cast<uint64_t>(Int64FromKey(key.first))
                                                : key.first);
    seconds_.push_back(key.second);
    values_.push_back(value);
    if (HasStrings(kind_)) texts_.Add(TextOf(value));
  }
  RowBatch keys() { return Batch(true, false); }
  RowBatch values() { return Batch(false, true); }
  RowBatch rows() { return Batch(true, true); }
  // For erases: the keys.
  WriteBatch write(WriteMode mode) {
    return {.mode = mode, .rows = mode == WriteMode::kErase ? keys() : rows()};
  }

 private:
  RowBatch Batch(bool with_keys, bool with_values) {
    columns_.clear();
    if (with_keys) {
      columns_.push_back(ColumnOf(firsts_));
      if (kind_ == AnyKind::kTwoParts) columns_.push_back(ColumnOf(seconds_));
    }
    if (with_values) {
      if (kind_ != AnyKind::kBytes) columns_.push_back(ColumnOf(values_));
      if (HasStrings(kind_)) columns_.push_back(texts_.view());
    }
    return {firsts_.size(), columns_};
  }

  const AnyKind kind_;
  std::vector<uint64_t> firsts_, seconds_, values_;
  StringsColumn texts_;
  std::vector<ColumnView> columns_;
};

// An answer, row by row; of appends only how many were refused. Values are 0 where there is none.
struct AnyAnswer {
  absl::Status status;
  std::vector<uint8_t> existed{}, applied{}, executed{};
  std::vector<uint64_t> values{};
  uint64_t refused = 0;
};

inline uint64_t AnyValueAt(AnyKind kind, const ColumnView& column, uint64_t row) {
  return kind == AnyKind::kBytes ? ValueOf(StringAt(column, row))
                                 : ReadAt<uint64_t>(column.values, row);
}
inline AnyAnswer AnswerOf(AnyKind kind, bool lookup, BatchResult result, size_t rows) {
  AnyAnswer answer{.status = std::move(result.status)};
  answer.values.resize(rows);
  answer.refused = result.refused;
  if (!answer.status.ok() && result.refused == 0) return answer;
  answer.existed = FlagsOf(result.existed, rows);
  answer.applied = FlagsOf(result.applied, rows);
  answer.executed = FlagsOf(result.executed, rows, answer.status.ok());
  for (size_t i = 0; !result.columns.empty() && i < rows; ++i) {
    if (answer.executed[i] == 0 || (lookup && answer.existed[i] == 0)) continue;
    answer.values[i] = AnyValueAt(kind, ViewOf(result.columns[0]), i);
    if (!lookup || !IsTable(kind)) continue;
    ERIS_CHECK(StringAt(ViewOf(result.columns[1]), i) == TextOf(answer.values[i]));
  }
  return answer;
}

class AnyObject {
 public:
  // Told of each call of the engine when it begins and when it has returned: tests may tell its
  // memory from that of this class.
  using Around = std::function<void(bool begins)>;
  enum class Way { kWaiting, kAsync };

  // The object may be created later.
  AnyObject(Engine& engine, AnyKind kind, std::string name)
      : engine_(engine), kind_(kind), name_(std::move(name)), session_(engine.NewSession()) {}

  void SetAround(Around around) { around_ = std::move(around); }
  const std::string& name() const { return name_; }
  bool scans() const { return kind_ != AnyKind::kHash; }
  bool has_keys() const { return HasKeys(kind_); }
  bool links() const { return IsIndex(kind_); }
  bool is_table() const { return IsTable(kind_); }
  Session& session() { return *session_; }
  // REQUIRES: Create or Ready has succeeded.
  const Object& object() const { return object_; }

  absl::Status Create(const std::vector<uint64_t>& split_points) {
    CreateOptions options = OptionsOf(kind_);
    if (has_keys()) options.split_points = split_points;
    return Create(options);
  }
  absl::Status Create(const CreateOptions& options) {
    object_ = {};
    return Call([&] { return engine_.Create(name_, options).status(); });
  }
  // Opens the object unless it is open.
  absl::Status Ready() {
    if (object_) return absl::OkStatus();
    auto object = Call([&] { return session_->Open(name_); });
    if (object.ok()) object_ = *std::move(object);
    return object.status();
  }

  // `expected`: of kCompareAndSet, values.
  AnyAnswer Write(WriteMode mode, const AnyRows& rows, const std::vector<uint64_t>& expected = {},
                  Way way = Way::kWaiting) {
    if (absl::Status ready = Ready(); !ready.ok()) return {.status = std::move(ready)};
    AnyBatch given(kind_, rows), wanted(kind_);
    for (const uint64_t value : expected) wanted.Add({}, value);
    WriteBatch batch = given.write(mode);
    if (!expected.empty()) batch.expected = wanted.values();
    return Answer(
        rows.size(), way, false, [&] { return session_->Write(object_, batch); },
        [&](auto done) { return session_->WriteAsync(object_, batch, std::move(done)); });
  }
  AnyAnswer Lookup(const std::vector<AnyKey>& keys, Way way = Way::kWaiting) {
    if (absl::Status ready = Ready(); !ready.ok()) return {.status = std::move(ready)};
    AnyBatch given(kind_, keys);
    const LookupBatch batch{.keys = given.keys()};
    return Answer(
        keys.size(), way, true, [&] { return session_->Lookup(object_, batch); },
        [&](auto done) { return session_->LookupAsync(object_, batch, std::move(done)); });
  }

  // Distinct keys; new rows of a heap table.
  absl::Status Put(const AnyRows& rows) { return Write(PutMode(kind_), rows).status; }
  // existed[i]: key i was there.
  absl::Status Put(const AnyRows& rows, std::vector<uint8_t>& existed) {
    AnyAnswer answer = Write(PutMode(kind_), rows);
    existed = std::move(answer.existed);
    existed.resize(rows.size());
    return answer.status;
  }
  absl::Status Erase(const std::vector<AnyKey>& keys) {
    std::vector<uint8_t> existed;
    return Erase(keys, existed);
  }
  absl::Status Erase(const std::vector<AnyKey>& keys, std::vector<uint8_t>& existed) {
    AnyRows rows;
    for (const AnyKey& key : keys) rows.emplace_back(key, 0);
    AnyAnswer answer = Write(WriteMode::kErase, rows);
    existed = std::move(answer.existed);
    existed.resize(keys.size());
    return answer.status;
  }
  absl::Status Get(const std::vector<AnyKey>& keys, std::vector<std::optional<uint64_t>>& values) {
    const AnyAnswer answer = Lookup(keys);
    values.assign(keys.size(), std::nullopt);
    for (size_t i = 0; i < answer.existed.size(); ++i) {
      if (answer.existed[i]) values[i] = answer.values[i];
    }
    return answer.status;
  }

  // Query::columns that ask for the keys alone; values are then 0.
  std::vector<NamedExpression> KeysAlone() const {
    std::vector<NamedExpression> columns;
    const Schema schema = SchemaOf(kind_);
    for (const uint32_t column : schema.key) {
      const std::string& name = schema.columns[column].name;
      columns.push_back({expressions::Column(name), name});
    }
    return columns;
  }
  // The rows of a scan; of tables sorted, of others as they come. `resumed`: a new scan goes on
  // behind each chunk. `chunks`, if given: how many there were.
  absl::StatusOr<AnyRows> Read(Query query, bool resumed = false, int* chunks = nullptr) {
    if (absl::Status ready = Ready(); !ready.ok()) return ready;
    AnyRows rows;
    for (bool more = true; more;) {
      more = false;
      auto scan = Call([&] { return session_->OpenScan(object_, query); });
      if (!scan.ok()) return scan.status();
      for (;;) {
        auto chunk = Call([&] { return (*scan)->Next(absl::Now() + absl::Seconds(60)); });
        if (!chunk.ok()) return chunk.status();
        if (*chunk == nullptr) break;
        if (chunks != nullptr) ++*chunks;
        AppendRows(**chunk, rows);
        if (!resumed) continue;
        query.resume = (*chunk)->resume();
        if (query.limit > 0) query.limit -= (*chunk)->rows();
        more = !query.resume.empty();
        break;
      }
    }
    if (is_table()) std::sort(rows.begin(), rows.end());
    return rows;
  }
  // Every row as of the snapshot (nullptr: now). Not of a hash.
  absl::StatusOr<AnyRows> All(std::shared_ptr<Snapshot> snapshot = nullptr,
                              ScanDirection direction = ScanDirection::kForward) {
    return Read({.direction = direction, .snapshot = std::move(snapshot)});
  }
  void AppendRows(const Chunk& chunk, AnyRows& rows) const {
    const size_t keys = kind_ == AnyKind::kTwoParts ? 2 : 1;
    for (uint64_t i = 0; i < chunk.rows(); ++i) {
      AnyKey key{ReadAt<uint64_t>(chunk.column(0).values, i), 0};
      if (kind_ == AnyKind::kSigned) key.first = KeyFromInt64(static_cast<int64_t>(key.first));
      if (keys == 2) key.second = ReadAt<uint64_t>(chunk.column(1).values, i);
      uint64_t value = 0;
      if (chunk.schema().columns.size() > keys) value = AnyValueAt(kind_, chunk.column(keys), i);
      if (is_table()) ERIS_CHECK(chunk.String(2, i) == TextOf(value));
      rows.emplace_back(key, value);
    }
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
  template <class Waiting, class Start>
  AnyAnswer Answer(size_t rows, Way way, bool lookup, Waiting waiting, Start start) {
    if (way == Way::kWaiting) return AnswerOf(kind_, lookup, Call(waiting), rows);
    absl::StatusOr<BatchResult> result = Await(start);
    if (!result.ok()) return {.status = result.status()};
    return AnswerOf(kind_, lookup, *std::move(result), rows);
  }

  Engine& engine_;
  const AnyKind kind_;
  const std::string name_;
  Around around_{};
  std::unique_ptr<Session> session_;
  Object object_{};
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_ANY_OBJECT_H_
