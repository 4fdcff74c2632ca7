// Sessions of the fake engine, and their scans.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {

namespace {
absl::Status Unknown(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("no object ", name));
}
absl::Status Closing() { return absl::UnavailableError("the engine is closing"); }
}  // namespace

class FakeScan final : public Scan {
 public:
  FakeScan(FakeEngine* engine, std::string object, const ScanOptions& options)
      : engine_(engine),
        object_(std::move(object)),
        options_(options),
        rest_(options.range),
        left_(options.limit) {}
  ~FakeScan() override {
    Cancel();
    base::MutexLock lock(&engine_->mu_);
    --engine_->scans_open_;
  }
  absl::StatusOr<std::optional<ScanChunk>> Next(absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
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
    if (engine_->hold_) {
      under_way_ = request;
      engine_->held_.push_back(request);
      return;
    }
    request->ended = true;
    engine_->Post([request] { request->run(); });
  }
  void Cancel() override {
    base::MutexLock lock(&engine_->mu_);
    cancelled_ = true;
    auto request = std::move(under_way_);
    if (request == nullptr || request->ended) return;
    request->ended = true;
    std::erase(engine_->held_, request);
    engine_->Post([request] { request->fail(absl::CancelledError("scan cancelled")); });
  }

 private:
  absl::StatusOr<std::optional<ScanChunk>> Slice() {
    base::MutexLock lock(&engine_->mu_);
    const auto found = engine_->objects_.find(object_);
    if (found == engine_->objects_.end()) return Unknown(object_);
    auto buffer = std::make_shared<ScanChunk::Buffer>();
    const auto& rows = found->second.rows;
    const bool two_parts = found->second.info.key_type.two_parts();
    if (!rest_) return std::optional<ScanChunk>();
    // All that is left, in the scan's order.
    std::vector<std::pair<FakeEngine::Key, uint64_t>> left;
    for (const auto& row : rows) {
      if (FakeEngine::Contains(*rest_, row.first) &&
          (!options_.values || options_.values->Contains(row.second))) {
        left.push_back(row);
      }
    }
    const bool backward = options_.direction == ScanDirection::kBackward;
    if (backward) std::reverse(left.begin(), left.end());
    size_t count = std::min(left.size(), engine_->rows_per_chunk);
    if (left_ != 0) count = std::min<size_t>(count, left_);
    if (count == 0) return std::optional<ScanChunk>();
    for (size_t i = 0; i < count; ++i) {
      buffer->keys.push_back(left[i].first.first);
      if (two_parts) buffer->second_keys.push_back(left[i].first.second);
      if (!options_.keys_only) buffer->values.push_back(left[i].second);
    }
    const bool limit_reached = left_ == count;
    if (left_ != 0) left_ -= count;
    if (count == left.size() || limit_reached) {
      rest_.reset();
    } else if (backward) {
      const auto [first, second] = left[count].first;
      const bool next_first = !two_parts || second == ~uint64_t{0};
      rest_->hi = next_first ? first + 1 : first;
      rest_->hi_second = next_first ? 0 : second + 1;
    } else {
      std::tie(rest_->lo, rest_->lo_second) = left[count].first;
    }
    buffer->rest = rest_;
    ++engine_->chunks_out_;
    buffer->on_destroy = [engine = engine_] {
      base::MutexLock destroy_lock(&engine->mu_);
      --engine->chunks_out_;
    };
    return std::optional<ScanChunk>(ScanChunk(std::move(buffer)));
  }

  FakeEngine* const engine_;
  const std::string object_;
  const ScanOptions options_;
  std::optional<KeyRange> rest_;
  uint64_t left_;
  bool cancelled_ = false;  // guarded by the engine's mutex, as the next
  std::shared_ptr<FakeEngine::Request> under_way_;
};

class FakeTableScan final : public TableScan {
 public:
  FakeTableScan(FakeEngine* engine, std::shared_ptr<FakeSnapshot> snapshot, FakeTableRows rows)
      : engine_(engine), snapshot_(std::move(snapshot)), rows_(std::move(rows)) {}
  ~FakeTableScan() override {
    Cancel();
    base::MutexLock lock(&engine_->mu_);
    --engine_->scans_open_;
  }
  const Schema& schema() const override { return rows_.schema(); }
  std::shared_ptr<Snapshot> snapshot() const override { return snapshot_; }
  NextResult Next(absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  void NextAsync(Callback done) override {
    auto callback = std::make_shared<Callback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [this, callback] { std::move (*callback)(rows_.Next(engine_->rows_per_chunk)); };
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
  FakeEngine* const engine_;
  const std::shared_ptr<FakeSnapshot> snapshot_;
  FakeTableRows rows_;
  bool cancelled_ = false;  // guarded by the engine's mutex, as the next
  std::shared_ptr<Pending> pending_;
};

class FakeSession final : public Session {
 public:
  explicit FakeSession(FakeEngine* engine) : engine_(engine) {}

  absl::Status Lookup(absl::string_view, const KeyColumns&, absl::Span<uint64_t>,
                      absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status Upsert(absl::string_view, const KeyColumns&, absl::Span<const uint64_t>,
                      absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status Erase(absl::string_view, const KeyColumns&, absl::Span<uint8_t>,
                     absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status Write(absl::string_view, const WriteBatch&, const WriteColumns&,
                     absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::StatusOr<std::shared_ptr<Pending>> LookupAsync(absl::string_view object,
                                                       const KeyColumns& keys,
                                                       Callback done) override {
    return Begin(object, keys, std::move(done),
                 [](auto& rows, const auto& key, size_t i, auto& result) {
                   const auto row = rows.find(key);
                   if (row == rows.end()) return false;
                   std::memcpy(result.values.data() + 8 * i, &row->second, 8);
                   return true;
                 });
  }
  absl::StatusOr<std::shared_ptr<Pending>> UpsertAsync(absl::string_view object,
                                                       const KeyColumns& keys,
                                                       absl::Span<const uint64_t> values,
                                                       Callback done) override {
    std::vector<uint64_t> copy(values.begin(), values.end());
    return Begin(object, keys, std::move(done),
                 [copy = std::move(copy)](auto& rows, const auto& key, size_t i, auto&) {
                   return !rows.insert_or_assign(key, copy[i]).second;
                 });
  }
  absl::StatusOr<std::shared_ptr<Pending>> EraseAsync(absl::string_view object,
                                                      const KeyColumns& keys,
                                                      Callback done) override {
    return Begin(object, keys, std::move(done),
                 [](auto& rows, const auto& key, size_t, auto&) { return rows.erase(key) == 1; });
  }
  absl::StatusOr<std::shared_ptr<Pending>> WriteAsync(absl::string_view object,
                                                      const WriteBatch& batch,
                                                      Callback done) override {
    const bool compares = batch.mode == WriteMode::kCompareAndSet;
    if (batch.expected.size() != (compares ? batch.keys.size() : 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(batch.expected.size(), " expected values for ", batch.keys.size(), " keys"));
    }
    std::vector<uint64_t> values(batch.values.begin(), batch.values.end());
    std::vector<uint64_t> expected(batch.expected.begin(), batch.expected.end());
    return Begin(object, batch.keys, std::move(done),
                 [engine = engine_, mode = batch.mode, values = std::move(values),
                  expected = std::move(expected)](auto& rows, const auto& key, size_t i,
                                                  BatchResult& result) {
                   engine->mu_.AssertHeld();  // Begin runs this under it
                   return engine->WriteOne(rows, key, i, mode, values, expected, result);
                 });
  }
  // Byte strings are tested with a real engine.
  absl::StatusOr<ColumnType> ValueTypeOf(absl::string_view) override { return ColumnType::kUint64; }
  absl::Status LookupBytes(absl::string_view, absl::Span<const uint64_t>, BytesColumn&,
                           absl::Span<uint8_t>, absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::Status UpsertBytes(absl::string_view, absl::Span<const uint64_t>,
                           absl::Span<const absl::string_view>, absl::Span<uint8_t>,
                           absl::Time) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::Status WriteBytes(absl::string_view, const BytesWriteBatch&, const BytesWriteColumns&,
                          absl::Time) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::shared_ptr<Pending>> LookupBytesAsync(absl::string_view,
                                                            absl::Span<const uint64_t>, uint64_t,
                                                            Callback) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::shared_ptr<Pending>> UpsertBytesAsync(absl::string_view,
                                                            absl::Span<const uint64_t>,
                                                            absl::Span<const absl::string_view>,
                                                            Callback) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::shared_ptr<Pending>> WriteBytesAsync(absl::string_view,
                                                           const BytesWriteBatch&,
                                                           Callback) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(absl::string_view object,
                                                 const ScanOptions& options) override {
    if (options.range.Inverted()) {
      return absl::InvalidArgumentError("inverted range");
    }
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->objects_.contains(std::string(object))) return Unknown(object);
    ++engine_->scans_open_;
    return std::make_unique<FakeScan>(engine_, std::string(object), options);
  }
  absl::StatusOr<RangeAggregate> Aggregate(absl::string_view, const AggregateOptions&,
                                           absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::StatusOr<std::shared_ptr<Pending>> AggregateAsync(absl::string_view object,
                                                          const AggregateOptions& options,
                                                          AggregateCallback done) override {
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->refuse_.ok()) return engine_->refuse_;
    if (!engine_->objects_.contains(std::string(object))) return Unknown(object);
    auto callback = std::make_shared<AggregateCallback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [engine = engine_, name = std::string(object), options, callback] {
      RangeAggregate sum;
      {
        base::MutexLock run_lock(&engine->mu_);
        for (const auto& [key, value] : engine->objects_[name].rows) {
          if (!FakeEngine::Contains(options.range, key)) continue;
          if (options.values && !options.values->Contains(value)) continue;
          if (options.count_only) {
            ++sum.count;
          } else {
            sum.Add({1, value, value, value, 0, key.first, key.first, key.second, key.second});
          }
        }
      }
      std::move (*callback)(sum);
    };
    request->fail = [callback](absl::Status status) { std::move (*callback)(std::move(status)); };
    return engine_->Take(std::move(request));
  }
  absl::StatusOr<KeyTypes> KeyTypesOf(absl::string_view object) override {
    base::MutexLock lock(&engine_->mu_);
    const auto found = engine_->objects_.find(std::string(object));
    if (found == engine_->objects_.end()) return Unknown(object);
    return found->second.info.key_type;
  }
  absl::StatusOr<std::shared_ptr<const Schema>> SchemaOf(absl::string_view table) override {
    base::MutexLock lock(&engine_->mu_);
    const auto found = engine_->tables_.find(std::string(table));
    if (found != engine_->tables_.end()) {
      return std::make_shared<const Schema>(found->second.schema);
    }
    if (!engine_->objects_.contains(std::string(table))) return Unknown(table);
    return absl::FailedPreconditionError(absl::StrCat(table, " is no table"));
  }
  absl::Status AppendRows(absl::string_view, const RowBatch&, absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status UpsertRows(absl::string_view, const RowBatch&, absl::Span<uint8_t>,
                          absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status EraseRows(absl::string_view, const RowBatch&, absl::Span<uint8_t>,
                         absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status LookupRows(absl::string_view, const RowBatch&, absl::Span<const std::string>,
                          std::vector<ColumnBuffers>&, absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::StatusOr<std::shared_ptr<Pending>> AppendRowsAsync(absl::string_view table,
                                                           const RowBatch& batch,
                                                           std::shared_ptr<const void> holder,
                                                           Callback done) override {
    return BeginRows(table, batch, std::move(holder), std::move(done), /*keys_only=*/false,
                     [](FakeTable& rows, FakeTable::Row row) {
                       rows.rows.push_back(std::move(row));
                       return false;
                     });
  }
  absl::StatusOr<std::shared_ptr<Pending>> UpsertRowsAsync(absl::string_view table,
                                                           const RowBatch& batch,
                                                           std::shared_ptr<const void> holder,
                                                           Callback done) override {
    return BeginRows(table, batch, std::move(holder), std::move(done), /*keys_only=*/false,
                     [](FakeTable& rows, FakeTable::Row row) {
                       const auto found = rows.Find(rows.KeyOf(row));
                       const bool existed = found != rows.rows.end();
                       if (existed) {
                         *found = std::move(row);
                       } else {
                         rows.rows.push_back(std::move(row));
                       }
                       return existed;
                     });
  }
  absl::StatusOr<std::shared_ptr<Pending>> EraseRowsAsync(absl::string_view table,
                                                          const RowBatch& keys,
                                                          std::shared_ptr<const void> holder,
                                                          Callback done) override {
    return BeginRows(table, keys, std::move(holder), std::move(done), /*keys_only=*/true,
                     [](FakeTable& rows, const FakeTable::Row& key) {
                       std::string bytes;
                       for (const auto& cell : key) bytes += *cell;
                       const auto found = rows.Find(bytes);
                       if (found == rows.rows.end()) return false;
                       rows.rows.erase(found);
                       return true;
                     });
  }
  absl::StatusOr<std::shared_ptr<Pending>> LookupRowsAsync(absl::string_view table,
                                                           const RowBatch& keys,
                                                           absl::Span<const std::string> columns,
                                                           std::shared_ptr<const void> holder,
                                                           RowsCallback done) override {
    const std::vector<std::string> names(columns.begin(), columns.end());
    auto found_rows = std::make_shared<std::vector<FakeTable::Row>>();
    auto types = std::make_shared<std::vector<ColumnType>>();
    return BeginRows(
        table, keys, std::move(holder),
        [found_rows, types, done = std::move(done)](BatchResult result) mutable {
          std::move(done)(std::move(result), FakeColumns(*types, *found_rows));
        },
        /*keys_only=*/true,
        [found_rows, types, names](FakeTable& rows, const FakeTable::Row& key) {
          types->clear();
          std::vector<size_t> picked;
          for (size_t i = 0; i < rows.schema.columns.size(); ++i) {
            const std::string& name = rows.schema.columns[i].name;
            if (!names.empty() && std::count(names.begin(), names.end(), name) == 0) continue;
            picked.push_back(i);
            types->push_back(rows.schema.columns[i].type);
          }
          std::string bytes;
          for (const auto& cell : key) bytes += *cell;
          const auto found = rows.Find(bytes);
          FakeTable::Row& out = found_rows->emplace_back();
          for (const size_t i : picked) {
            out.push_back(found == rows.rows.end() ? std::nullopt : (*found)[i]);
          }
          return found != rows.rows.end();
        });
  }
  absl::StatusOr<std::unique_ptr<TableScan>> OpenTableScan(absl::string_view table,
                                                           const Query& query) override {
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->refuse_.ok()) return engine_->refuse_;
    if (!engine_->tables_.contains(std::string(table))) return Unknown(table);
    engine_->Remember(query);
    auto snapshot = std::static_pointer_cast<FakeSnapshot>(query.snapshot);
    if (snapshot == nullptr) {
      snapshot = std::make_shared<FakeSnapshot>(engine_->tables_, &engine_->snapshots_held_);
    }
    ++engine_->scans_open_;
    FakeTableRows rows(snapshot->tables.at(std::string(table)), query);
    return std::make_unique<FakeTableScan>(engine_, std::move(snapshot), std::move(rows));
  }
  absl::StatusOr<uint64_t> ScanInto(absl::string_view, const Query&, absl::string_view,
                                    absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::StatusOr<std::shared_ptr<Pending>> ScanIntoAsync(absl::string_view table,
                                                         const Query& query,
                                                         absl::string_view target,
                                                         ScanIntoCallback done) override {
    base::MutexLock lock(&engine_->mu_);
    if (!engine_->tables_.contains(std::string(table))) return Unknown(table);
    if (!engine_->tables_.contains(std::string(target))) return Unknown(target);
    engine_->Remember(query);
    auto callback = std::make_shared<ScanIntoCallback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [engine = engine_, from = std::string(table), to = std::string(target),
                    callback] {
      uint64_t rows = 0;
      {
        base::MutexLock run_lock(&engine->mu_);
        for (const FakeTable::Row& row : engine->tables_[from].rows) {
          engine->tables_[to].rows.push_back(row);
          ++rows;
        }
      }
      std::move (*callback)(rows);
    };
    request->fail = [callback](absl::Status status) { std::move (*callback)(std::move(status)); };
    return engine_->Take(std::move(request));
  }

  // No service asks for joins.
  absl::StatusOr<std::unique_ptr<Join>> OpenJoin(absl::string_view, absl::string_view,
                                                 const JoinOptions&) override {
    return absl::UnimplementedError("the fake joins nothing");
  }

 private:
  // `operation` says of each row whether it was there.
  template <class Done, class Operation>
  absl::StatusOr<std::shared_ptr<Pending>> BeginRows(absl::string_view table, const RowBatch& batch,
                                                     std::shared_ptr<const void> holder, Done done,
                                                     bool keys_only, Operation operation) {
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->refuse_.ok()) return engine_->refuse_;
    const auto known = engine_->tables_.find(std::string(table));
    if (known == engine_->tables_.end()) return Unknown(table);
    std::vector<ColumnType> types;
    if (keys_only) {
      for (const uint32_t i : known->second.schema.key) {
        types.push_back(known->second.schema.columns[i].type);
      }
    } else {
      for (const ColumnSchema& column : known->second.schema.columns) types.push_back(column.type);
    }
    auto callback = std::make_shared<Done>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    std::vector<ColumnView> views(batch.columns.begin(), batch.columns.end());
    // The rows are read when the request runs, from the memory that the holder keeps.
    request->run = [engine = engine_, name = std::string(table), count = batch.rows, types, views,
                    holder, callback, operation] {
      BatchResult result;
      result.count = static_cast<uint32_t>(count);
      result.present.resize((count + 7) / 8);
      {
        base::MutexLock run_lock(&engine->mu_);
        FakeTable& rows = engine->tables_[name];
        for (uint64_t i = 0; i < count; ++i) {
          if (i >= engine->refused_from_) {
            ++result.refused;
            result.status = absl::ResourceExhaustedError("the fake has no memory for some rows");
            continue;
          }
          FakeTable::Row row;
          for (size_t c = 0; c < types.size(); ++c) row.push_back(FakeCell(types[c], views[c], i));
          if (operation(rows, std::move(row))) {
            result.present[i >> 3] = static_cast<char>(result.present[i >> 3] | (1 << (i & 7)));
          }
        }
      }
      std::move (*callback)(std::move(result));
    };
    request->fail = [callback](absl::Status status) {
      BatchResult result;
      result.status = std::move(status);
      std::move (*callback)(std::move(result));
    };
    return engine_->Take(std::move(request));
  }

  template <class Operation>
  absl::StatusOr<std::shared_ptr<Pending>> Begin(absl::string_view object, const KeyColumns& keys,
                                                 Callback done, Operation operation) {
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->refuse_.ok()) return engine_->refuse_;
    const auto known = engine_->objects_.find(std::string(object));
    if (known == engine_->objects_.end()) return Unknown(object);
    if (known->second.info.key_type.two_parts() != keys.two_parts() ||
        (keys.two_parts() && keys.first().size() != keys.second().size())) {
      return absl::InvalidArgumentError("the fake was given keys of the wrong width");
    }
    std::vector<FakeEngine::Key> copy;
    for (size_t i = 0; i < keys.size(); ++i) {
      copy.emplace_back(keys.first()[i], keys.two_parts() ? keys.second()[i] : 0);
    }
    auto callback = std::make_shared<Callback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [engine = engine_, name = std::string(object), copy = std::move(copy), callback,
                    operation] {
      BatchResult result;
      result.count = static_cast<uint32_t>(copy.size());
      result.values.resize(copy.size() * 8);
      result.present.resize((copy.size() + 7) / 8);
      {
        base::MutexLock run_lock(&engine->mu_);
        const auto found = engine->objects_.find(name);
        if (found == engine->objects_.end()) result.status = Unknown(name);
        for (size_t i = 0; i < copy.size() && found != engine->objects_.end(); ++i) {
          if (operation(found->second.rows, copy[i], i, result)) {
            result.present[i >> 3] = static_cast<char>(result.present[i >> 3] | (1 << (i & 7)));
          }
        }
      }
      std::move (*callback)(std::move(result));
    };
    request->fail = [callback](absl::Status status) {
      BatchResult result;
      result.status = std::move(status);
      std::move (*callback)(std::move(result));
    };
    return engine_->Take(std::move(request));
  }

  FakeEngine* const engine_;
};

std::unique_ptr<Session> FakeEngine::NewSession() {
  base::MutexLock lock(&mu_);
  ++sessions_made_;
  return std::make_unique<FakeSession>(this);
}

}  // namespace eris::server
