// Sessions of the fake engine, and their scans.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "eris/errors.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {

std::shared_ptr<const FakeRows> RowsIn(const Snapshot& snapshot, ObjectId object);

namespace {

absl::Status Blocks() { return absl::UnimplementedError("the server does not block"); }

void Set(std::string& bits, size_t i) { bits[i >> 3] |= static_cast<char>(1 << (i & 7)); }

std::vector<uint32_t> AllColumns(const Schema& schema) {
  std::vector<uint32_t> columns(schema.columns.size());
  for (uint32_t i = 0; i < columns.size(); ++i) columns[i] = i;
  return columns;
}

// Rows of a batch, whose columns are those of the schema; `views` are kept with what they point to.
struct Rows {
  Rows(const RowBatch& batch, const Schema& schema, std::vector<uint32_t> which)
      : count(batch.rows), views(batch.columns.begin(), batch.columns.end()) {
    for (const uint32_t i : which) types.push_back(schema.columns[i].type);
  }
  FakeRow operator[](uint64_t row) const {
    FakeRow cells;
    for (size_t i = 0; i < types.size(); ++i) cells.push_back(CellOf(types[i], views[i], row));
    return cells;
  }
  std::vector<FakeRow> All() const {
    std::vector<FakeRow> all;
    for (uint64_t row = 0; row < count; ++row) all.push_back((*this)[row]);
    return all;
  }

  uint64_t count;
  std::vector<ColumnView> views;
  std::vector<ColumnType> types;
};

// The rows when the request runs: from the memory that the holder keeps, or copied before.
std::function<std::vector<FakeRow>()> ReadLater(Rows rows, std::shared_ptr<const void> holder) {
  if (holder != nullptr) return [rows = std::move(rows), holder] { return rows.All(); };
  return [all = rows.All()] { return all; };
}

}  // namespace

// A scan of any object, of what its snapshot has.
class FakeScan final : public Scan {
 public:
  FakeScan(FakeEngine* engine, Object object, const Query& query,
           std::shared_ptr<Snapshot> snapshot)
      : engine_(engine),
        object_(std::move(object)),
        query_(query),
        snapshot_(std::move(snapshot)),
        rows_(RowsIn(*snapshot_, object_.id())),
        left_(query.limit == 0 ? ~uint64_t{0} : query.limit) {
    const Schema& schema = object_.schema();
    schema_ = AnswerOf(schema, query);
    for (const std::string& name : query.group_by) columns_.push_back(ColumnNamed(schema, name));
    if (!query.aggregates.empty()) return;
    if (query.columns.empty()) columns_ = AllColumns(schema);
    for (const NamedExpression& column : query.columns) {
      columns_.push_back(ColumnNamed(schema, column.expression.column));
    }
    if (query.resume.empty()) return;
    const std::vector<std::string> parts = absl::StrSplit(query.resume, '/');
    behind_.emplace(std::stoull(parts[0]), std::stoull(parts[1]));
  }
  ~FakeScan() override {
    Cancel();
    base::MutexLock lock(&engine_->mu_);
    --engine_->scans_open_;
  }
  const Schema& schema() const override { return schema_; }
  std::shared_ptr<Snapshot> snapshot() const override { return snapshot_; }
  NextResult Next(absl::Time) override { return Blocks(); }
  void NextAsync(Callback done) override {
    auto callback = std::make_shared<Callback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [this, callback] { std::move (*callback)(Slice()); };
    request->fail = [callback](absl::Status status) { std::move (*callback)(std::move(status)); };
    base::MutexLock lock(&engine_->mu_);
    if (cancelled_) {
      request->ended = true;
      engine_->Post([request] { request->fail(absl::CancelledError("scan cancelled")); });
      return;
    }
    pending_ = engine_->Take(std::move(request));
  }
  void Cancel() override {
    std::shared_ptr<Pending> pending;
    {
      base::MutexLock lock(&engine_->mu_);
      cancelled_ = true;
      pending = pending_;
    }
    if (pending != nullptr) pending->Cancel(absl::CancelledError("scan cancelled"));
  }

 private:
  bool Groups() const { return !query_.group_by.empty(); }
  bool Gives(const FakeKey& key, const FakeRow& row) const {
    if (!Contains(query_.range, key)) return false;
    return !query_.values || query_.values->Contains(FakeValue<uint64_t>(*row.back()));
  }

  // Adds rows in the scan's order, as many as fit a chunk; true: more are left.
  template <class Iterator>
  bool Collect(Iterator from, Iterator to, std::vector<FakeRow>& out) {
    for (; from != to; ++from) {
      FakeRow row = Unpack(object_.schema(), from->first, from->second);
      if (!Gives(from->first, row)) continue;
      if (out.size() >= engine_->rows_per_chunk || left_ == 0) return left_ != 0;
      FakeRow& picked = out.emplace_back();
      for (const uint32_t i : columns_) picked.push_back(row[i]);
      if (Groups()) picked.push_back(FakeBytes<uint64_t>(1));  // each row is a group
      behind_ = from->first;
      --left_;
    }
    return false;
  }

  NextResult Slice() {
    base::MutexLock lock(&engine_->mu_);
    if (const auto entry = engine_->Find(object_); !entry.ok()) return entry.status();
    std::vector<FakeRow> rows;
    bool more = false;
    if (!query_.aggregates.empty() && !Groups()) {
      if (left_ != 0) rows = {{FakeBytes<uint64_t>(rows_->size())}};
      left_ = 0;
    } else if (query_.direction == ScanDirection::kForward) {
      more = Collect(behind_ ? rows_->upper_bound(*behind_) : rows_->begin(), rows_->end(), rows);
    } else {
      const auto from = behind_ ? rows_->lower_bound(*behind_) : rows_->end();
      more = Collect(std::make_reverse_iterator(from), rows_->rend(), rows);
    }
    if (rows.empty()) return std::shared_ptr<const Chunk>();
    // Tables do not know that nothing is left.
    const bool resumes = !Groups() && (more || (object_.kind() != ObjectKind::kIndex && behind_));
    ++engine_->chunks_out_;
    return std::make_shared<const FakeChunk>(
        schema_, rows, resumes ? absl::StrCat(behind_->first, "/", behind_->second) : "",
        [engine = engine_] {
          base::MutexLock destroy_lock(&engine->mu_);
          --engine->chunks_out_;
        });
  }

  FakeEngine* const engine_;
  const Object object_;
  const Query query_;
  const std::shared_ptr<Snapshot> snapshot_;
  const std::shared_ptr<const FakeRows> rows_;
  Schema schema_;
  std::vector<uint32_t> columns_;
  std::optional<FakeKey> behind_;  // the row given last
  uint64_t left_;
  bool cancelled_ = false;  // guarded by the engine's mutex, as the next
  std::shared_ptr<Pending> pending_;
};

// Runs a scan up to its first chunk, whose number of rows is the text.
class FakeAnalysis final : public Scan {
 public:
  explicit FakeAnalysis(std::unique_ptr<Scan> scan) : scan_(std::move(scan)) {}
  const Schema& schema() const override { return schema_; }
  std::shared_ptr<Snapshot> snapshot() const override { return scan_->snapshot(); }
  NextResult Next(absl::Time deadline) override { return scan_->Next(deadline); }
  void NextAsync(Callback done) override {
    scan_->NextAsync([this, done = std::move(done)](NextResult chunk) mutable {
      std::move(done)(chunk.ok() ? TextOf(chunk->get()) : chunk.status());
    });
  }
  void Cancel() override { scan_->Cancel(); }

 private:
  NextResult TextOf(const Chunk* chunk) const {
    const std::vector<FakeRow> rows = {
        {absl::StrCat("gave ", chunk == nullptr ? 0 : chunk->rows(), " rows\n")}};
    return std::make_shared<const FakeChunk>(schema_, rows, "", [] {});
  }

  const std::unique_ptr<Scan> scan_;
  const Schema schema_{.columns = {{.name = "analysis", .type = ColumnType::kString}}};
};

class FakeSession final : public Session {
 public:
  FakeSession(FakeEngine* engine, NumaNodeId numa_node) : engine_(engine), numa_node_(numa_node) {}

  NumaNodeId numa_node() const override { return numa_node_; }

  absl::StatusOr<Object> Open(absl::string_view name) override {
    base::MutexLock lock(&engine_->mu_);
    const auto found = engine_->objects_.find(std::string(name));
    if (found != engine_->objects_.end()) return found->second.handle;
    return Error(ErrorReason::kObjectUnknown, absl::StrCat("no object ", name),
                 {.field = "object", .value = std::string(name)});
  }
  BatchResult Lookup(const Object&, const LookupBatch&, absl::Time) override {
    return {.status = Blocks()};
  }
  BatchResult Write(const Object&, const WriteBatch&, absl::Time) override {
    return {.status = Blocks()};
  }

  StartedCall LookupAsync(const Object& object, const LookupBatch& batch, Callback done) override {
    const Schema& schema = object.schema();
    std::vector<uint32_t> columns;
    for (uint32_t i = 0; i < schema.columns.size(); ++i) {
      const bool asked = std::find(batch.columns.begin(), batch.columns.end(),
                                   schema.columns[i].name) != batch.columns.end();
      if (batch.columns.empty() ? !PartOf(schema, i) : asked) columns.push_back(i);
    }
    const bool nulls = object.kind() == ObjectKind::kTable;
    const Rows keys(batch.keys, schema, schema.key);
    return Begin(object, keys, ReadLater(keys, batch.holder), std::move(done),
                 [=](FakeEngine::Entry& entry, std::vector<FakeRow> rows, BatchResult& result) {
                   const Schema& its = entry.info.schema;
                   std::vector<ColumnType> types;
                   for (const uint32_t c : columns) types.push_back(its.columns[c].type);
                   std::vector<FakeRow> answers;
                   for (size_t i = 0; i < rows.size(); ++i) {
                     FakeRow& answer = answers.emplace_back();
                     const FakeKey key = *KeyOf(its, rows[i], i);
                     const auto found = entry.rows->find(key);
                     if (found == entry.rows->end()) {
                       for (const ColumnType type : types) {
                         answer.emplace_back(std::string(ColumnValueBytes(type), '\0'));
                         if (nulls) answer.back().reset();
                       }
                       continue;
                     }
                     Set(result.existed, i);
                     const FakeRow row = Unpack(its, key, found->second);
                     for (const uint32_t c : columns) answer.push_back(row[c]);
                   }
                   result.columns = ColumnsOf(types, answers);
                 });
  }

  StartedCall WriteAsync(const Object& object, const WriteBatch& batch, Callback done) override {
    const Schema& schema = object.schema();
    const WriteMode mode = batch.mode;
    const bool table =
        object.kind() == ObjectKind::kTable || object.kind() == ObjectKind::kHeapTable;
    if (mode < WriteMode::kUpsert && table) {
      return absl::FailedPreconditionError("the fake's tables have no conditional writes");
    }
    if ((mode == WriteMode::kAppend) != !schema.has_key()) {
      return absl::FailedPreconditionError("the mode is not of the object's kind");
    }
    const Rows rows(batch.rows, schema,
                    mode == WriteMode::kErase ? schema.key : AllColumns(schema));
    const std::vector<FakeRow> expected =
        Rows(batch.expected, schema, {static_cast<uint32_t>(schema.columns.size() - 1)}).All();
    return Begin(object, rows, ReadLater(rows, batch.holder), std::move(done),
                 [engine = engine_, mode, expected](
                     FakeEngine::Entry& entry, std::vector<FakeRow> cells, BatchResult& result) {
                   engine->mu_.AssertHeld();  // Begin runs this under it
                   std::vector<FakeRow> answers;
                   for (size_t i = 0; i < cells.size(); ++i) {
                     answers.push_back(
                         engine->WriteOne(entry, mode, i, std::move(cells[i]), expected, result));
                   }
                   if (result.refused == 0) result.executed.clear();
                   if (mode == WriteMode::kAppend) result.existed = result.executed = "";
                   if (mode >= WriteMode::kUpsert) return;
                   result.columns = ColumnsOf({ValueTypeOf(entry.info.schema)}, answers);
                 });
  }

  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(const Object& object,
                                                 const Query& query) override {
    base::MutexLock lock(&engine_->mu_);
    ++engine_->opens_;
    ++engine_->opening_;
    while (engine_->hold_opening_) engine_->changed_.Wait(&engine_->mu_);
    --engine_->opening_;
    if (absl::Status refused = engine_->Check(); !refused.ok()) return refused;
    if (const auto entry = engine_->Find(object); !entry.ok()) return entry.status();
    engine_->Remember(query);
    ++engine_->scans_open_;
    return std::make_unique<FakeScan>(engine_, object, query,
                                      query.snapshot == nullptr ? engine_->Snap() : query.snapshot);
  }

  // Runs the plan's first read alone, whatever comes behind it.
  absl::StatusOr<std::unique_ptr<Scan>> OpenQuery(const QueryPlan& plan,
                                                  const QueryOptions& options) override {
    absl::StatusOr<Object> object = ObjectOf(plan);
    if (!object.ok()) return object.status();
    Query query{.snapshot = options.snapshot};
    for (const uint32_t column : std::get<ReadNode>(plan.nodes[0]).columns) {
      const std::string& name = object->schema().columns[column].name;
      query.columns.push_back({expressions::Column(name), name});
    }
    return OpenScan(*object, query);
  }
  absl::StatusOr<Schema> AnswerSchema(const Object& object, const Query& query) override {
    return AnswerOf(object.schema(), query);
  }
  absl::StatusOr<std::vector<ObjectShare>> Shares(const Object&, const Query&,
                                                  absl::Time) override {
    return absl::UnimplementedError("the fake engine has no shares");
  }
  absl::StatusOr<std::string> ExplainQuery(const QueryPlan& plan) override {
    absl::StatusOr<Object> object = ObjectOf(plan);
    if (!object.ok()) return object.status();
    return absl::StrCat("reads ", object->name(), ", ", plan.nodes.size(), " nodes\n");
  }
  absl::StatusOr<std::unique_ptr<Scan>> OpenAnalysis(const QueryPlan& plan,
                                                     const QueryOptions& options) override {
    absl::StatusOr<std::unique_ptr<Scan>> query = OpenQuery(plan, options);
    if (!query.ok()) return query.status();
    return std::make_unique<FakeAnalysis>(*std::move(query));
  }

  absl::StatusOr<RangeAggregate> Aggregate(const Object&, const AggregateOptions&,
                                           absl::Time) override {
    return Blocks();
  }
  StartedCall AggregateAsync(const Object& object, const AggregateOptions& options,
                             AggregateCallback done) override {
    return TakeCall(
        object, std::move(done),
        [options](FakeEngine::Entry& entry) -> absl::StatusOr<RangeAggregate> {
          RangeAggregate sum;
          for (const auto& [key, packed] : *entry.rows) {
            if (!Contains(options.range, key)) continue;
            const auto value = FakeValue<uint64_t>(*Unpack(entry.info.schema, key, packed).back());
            if (options.values && !options.values->Contains(value)) continue;
            if (options.count_only) {
              ++sum.count;
            } else {
              sum.Add({1, value, value, value, 0, key.first, key.first, key.second, key.second});
            }
          }
          return sum;
        });
  }

  absl::StatusOr<uint64_t> ScanInto(const Object&, const Query&, const Object&,
                                    absl::Time) override {
    return Blocks();
  }
  StartedCall ScanIntoAsync(const Object& table, const Query& query, const Object& target,
                            ScanIntoCallback done) override {
    {
      base::MutexLock lock(&engine_->mu_);
      engine_->Remember(query);
    }
    return TakeCall(
        table, std::move(done),
        [engine = engine_, target](FakeEngine::Entry& from) -> absl::StatusOr<uint64_t> {
          engine->mu_.AssertHeld();  // TakeCall runs this under it
          const auto to = engine->Find(target);
          if (!to.ok()) return to.status();
          for (const auto& [key, packed] : *from.rows) FakeEngine::Writable(**to)[key] = packed;
          return from.rows->size();
        });
  }

  // No service asks for joins.
  absl::StatusOr<std::unique_ptr<Scan>> OpenJoin(const Object&, const Object&,
                                                 const JoinOptions&) override {
    return absl::UnimplementedError("the fake joins nothing");
  }

 private:
  absl::StatusOr<Object> ObjectOf(const QueryPlan& plan) {
    const auto* const read = plan.nodes.empty() ? nullptr : std::get_if<ReadNode>(&plan.nodes[0]);
    if (read == nullptr) return absl::UnimplementedError("the fake's plans begin with a read");
    return Open(read->object);
  }
  template <class Result>
  static Result Failed(absl::Status status) {
    if constexpr (std::is_same_v<Result, BatchResult>) {
      BatchResult result;
      result.status = std::move(status);
      return result;
    } else {
      return status;
    }
  }
  // `work` runs under the engine's mutex, when the request does; its result is the callback's.
  template <class Done, class Work>
  StartedCall TakeCall(const Object& object, Done done, Work work) {
    using Result = decltype(work(std::declval<FakeEngine::Entry&>()));
    base::MutexLock lock(&engine_->mu_);
    if (absl::Status refused = engine_->Check(); !refused.ok()) return refused;
    if (const auto entry = engine_->Find(object); !entry.ok()) return entry.status();
    auto callback = std::make_shared<Done>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [engine = engine_, object, callback, work] {
      std::optional<Result> result;
      {
        base::MutexLock run_lock(&engine->mu_);
        const auto entry = engine->Find(object);
        result.emplace(entry.ok() ? work(**entry) : Failed<Result>(entry.status()));
      }
      std::move (*callback)(*std::move(result));
    };
    request->fail = [callback](absl::Status status) {
      std::move (*callback)(Failed<Result>(std::move(status)));
    };
    return engine_->Take(std::move(request));
  }

  // The same for a batch, whose rows `read` has when the request runs.
  template <class Operation>
  StartedCall Begin(const Object& object, const Rows& rows,
                    std::function<std::vector<FakeRow>()> read, Callback done,
                    Operation operation) {
    const Schema& schema = object.schema();
    for (uint64_t i = 0; i < rows.count && schema.has_key(); ++i) {
      const auto key = KeyOf(schema, KeyCells(schema, rows[i]), i);
      if (!key.ok()) return key.status();
    }
    return TakeCall(object, std::move(done),
                    [read = std::move(read), operation](FakeEngine::Entry& entry) {
                      std::vector<FakeRow> cells = read();
                      BatchResult result;
                      result.count = static_cast<uint32_t>(cells.size());
                      result.existed.resize((cells.size() + 7) / 8);
                      operation(entry, std::move(cells), result);
                      return result;
                    });
  }

  FakeEngine* const engine_;
  const NumaNodeId numa_node_;
};

std::unique_ptr<Session> FakeEngine::NewSession() { return *NewSession(NumaNodeHere()); }

absl::StatusOr<std::unique_ptr<Session>> FakeEngine::NewSession(NumaNodeId numa_node) {
  base::MutexLock lock(&mu_);
  ++sessions_made_;
  return std::make_unique<FakeSession>(this, numa_node);
}

// Answers the value column, of conditional writes.
FakeRow FakeEngine::WriteOne(Entry& entry, WriteMode mode, size_t i, FakeRow cells,
                             const std::vector<FakeRow>& expected, BatchResult& result) {
  const Schema& schema = entry.info.schema;
  FakeKey key(entry.appended, 0);
  if (schema.has_key()) key = *KeyOf(schema, KeyCells(schema, cells), i);
  result.executed.resize(result.existed.size());
  const bool conditional = mode < WriteMode::kUpsert;
  if (conditional) result.applied.resize(result.existed.size());
  FakeRow answer = {std::string(ColumnValueBytes(schema.columns.back().type), '\0')};
  if (refused_keys_.contains(key.first)) {
    ++result.refused;
    result.status = absl::ResourceExhaustedError("the fake has no memory for some keys");
    return answer;
  }
  Set(result.executed, i);
  FakeRows& rows = Writable(entry);
  const auto row = rows.find(key);
  const bool there = row != rows.end();
  if (there) answer = {Unpack(schema, key, row->second).back()};
  if (there) Set(result.existed, i);
  if (mode == WriteMode::kAppend) ++entry.appended;
  if (mode == WriteMode::kErase) return rows.erase(key), answer;
  bool applies = true;
  if (mode == WriteMode::kInsertIfAbsent) applies = !there;
  if (mode == WriteMode::kReplaceIfPresent) applies = there;
  if (mode == WriteMode::kCompareAndSet) applies = there && answer == expected[i];
  if (mode == WriteMode::kAdd) {
    answer[0] = FakeBytes(FakeValue<uint64_t>(*answer[0]) + FakeValue<uint64_t>(*cells.back()));
    cells.back() = answer[0];
  }
  if (!applies) return answer;
  if (conditional) Set(result.applied, i);
  rows[key] = Pack(schema, cells);
  return answer;
}

}  // namespace eris::server
