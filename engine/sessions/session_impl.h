// A session: one calling thread's Port into the engine. Implements eris::Session.
#ifndef ERIS_ENGINE_SESSIONS_SESSION_IMPL_H_
#define ERIS_ENGINE_SESSIONS_SESSION_IMPL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/batch_columns.h"
#include "engine/core/core.h"
#include "engine/core/send_order.h"
#include "eris/engine.h"
#include "routing/port.h"

namespace eris::engine {

// Byte strings as words (storage/byte_value.h).
struct WordColumns {
  std::vector<uint64_t> values;
  std::vector<uint64_t> expected;
};

class SessionImpl final : public Session {
 public:
  explicit SessionImpl(Core& core);

  absl::Status Lookup(absl::string_view object, const KeyColumns& keys, absl::Span<uint64_t> values,
                      absl::Span<uint8_t> found, absl::Time deadline) override;
  absl::Status Upsert(absl::string_view object, const KeyColumns& keys,
                      absl::Span<const uint64_t> values, absl::Span<uint8_t> existed,
                      absl::Time deadline) override;
  absl::Status Erase(absl::string_view object, const KeyColumns& keys, absl::Span<uint8_t> existed,
                     absl::Time deadline) override;
  absl::Status Write(absl::string_view object, const WriteBatch& batch, const WriteColumns& out,
                     absl::Time deadline) override;
  absl::StatusOr<std::shared_ptr<Pending>> LookupAsync(absl::string_view object,
                                                       const KeyColumns& keys,
                                                       Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> UpsertAsync(absl::string_view object,
                                                       const KeyColumns& keys,
                                                       absl::Span<const uint64_t> values,
                                                       Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> EraseAsync(absl::string_view object,
                                                      const KeyColumns& keys,
                                                      Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> WriteAsync(absl::string_view object,
                                                      const WriteBatch& batch,
                                                      Callback done) override;
  absl::StatusOr<KeyTypes> KeyTypesOf(absl::string_view object) override;
  // Byte strings: session_bytes.cc.
  absl::StatusOr<ColumnType> ValueTypeOf(absl::string_view object) override;
  absl::Status LookupBytes(absl::string_view object, absl::Span<const uint64_t> keys,
                           BytesColumn& values, absl::Span<uint8_t> found,
                           absl::Span<uint8_t> executed, absl::Time deadline) override;
  absl::Status UpsertBytes(absl::string_view object, absl::Span<const uint64_t> keys,
                           absl::Span<const absl::string_view> values, absl::Span<uint8_t> existed,
                           absl::Time deadline) override;
  absl::Status WriteBytes(absl::string_view object, const BytesWriteBatch& batch,
                          const BytesWriteColumns& out, absl::Time deadline) override;
  absl::StatusOr<std::shared_ptr<Pending>> LookupBytesAsync(absl::string_view object,
                                                            absl::Span<const uint64_t> keys,
                                                            uint64_t bytes_max,
                                                            Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> UpsertBytesAsync(
      absl::string_view object, absl::Span<const uint64_t> keys,
      absl::Span<const absl::string_view> values, Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> WriteBytesAsync(absl::string_view object,
                                                           const BytesWriteBatch& batch,
                                                           Callback done) override;
  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(absl::string_view object,
                                                 const ScanOptions& options) override;
  absl::StatusOr<RangeAggregate> Aggregate(absl::string_view object,
                                           const AggregateOptions& options,
                                           absl::Time deadline) override;
  absl::StatusOr<std::shared_ptr<Pending>> AggregateAsync(absl::string_view object,
                                                          const AggregateOptions& options,
                                                          AggregateCallback done) override;
  absl::StatusOr<std::unique_ptr<Join>> OpenJoin(absl::string_view outer, absl::string_view inner,
                                                 const JoinOptions& options) override;
  // Tables: session_tables.cc.
  absl::StatusOr<std::shared_ptr<const Schema>> SchemaOf(absl::string_view table) override;
  absl::Status AppendRows(absl::string_view table, const RowBatch& batch,
                          absl::Time deadline) override;
  absl::Status UpsertRows(absl::string_view table, const RowBatch& batch,
                          absl::Span<uint8_t> existed, absl::Time deadline) override;
  absl::Status EraseRows(absl::string_view table, const RowBatch& keys, absl::Span<uint8_t> existed,
                         absl::Time deadline) override;
  absl::Status LookupRows(absl::string_view table, const RowBatch& keys,
                          absl::Span<const std::string> columns, std::vector<ColumnBuffers>& out,
                          absl::Span<uint8_t> found, absl::Time deadline) override;
  absl::StatusOr<std::shared_ptr<Pending>> AppendRowsAsync(absl::string_view table,
                                                           const RowBatch& batch,
                                                           std::shared_ptr<const void> holder,
                                                           Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> UpsertRowsAsync(absl::string_view table,
                                                           const RowBatch& batch,
                                                           std::shared_ptr<const void> holder,
                                                           Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> EraseRowsAsync(absl::string_view table,
                                                          const RowBatch& keys,
                                                          std::shared_ptr<const void> holder,
                                                          Callback done) override;
  absl::StatusOr<std::shared_ptr<Pending>> LookupRowsAsync(absl::string_view table,
                                                           const RowBatch& keys,
                                                           absl::Span<const std::string> columns,
                                                           std::shared_ptr<const void> holder,
                                                           RowsCallback done) override;
  absl::StatusOr<std::unique_ptr<TableScan>> OpenTableScan(absl::string_view table,
                                                           const Query& query) override;
  absl::StatusOr<uint64_t> ScanInto(absl::string_view table, const Query& query,
                                    absl::string_view target, absl::Time deadline) override;
  absl::StatusOr<std::shared_ptr<Pending>> ScanIntoAsync(absl::string_view table,
                                                         const Query& query,
                                                         absl::string_view target,
                                                         ScanIntoCallback done) override;

 private:
  // The same for calls of indexes and hashes. Errors: also FailedPrecondition (a table).
  absl::StatusOr<ObjectRef> ResolveIndex(absl::string_view name);
  // From the session's cache or the catalogue. Errors: NotFound, also instead of a new object of
  // the same name where KeyTypesOf has told of the dropped one.
  absl::StatusOr<ObjectRef> Resolve(absl::string_view name);
  // Takes bytes in flight, which whoever holds them adds again. Errors: ResourceExhausted.
  absl::Status TakeCredit(int64_t bytes, absl::string_view what);
  // A request with credit and in-flight count taken. Errors: InvalidArgument (number of keys or of
  // their parts, unequal parts), NotFound, FailedPrecondition (`form` is not the object's),
  // ResourceExhausted (credit), Unavailable. `more_bytes`: of credit, beyond what so many keys
  // need.
  absl::StatusOr<RequestPtr> Begin(routing::CommandType type, absl::string_view object,
                                   const KeyColumns& key_columns,
                                   ColumnType form = ColumnType::kUint64, int64_t more_bytes = 0);
  // Sends in order and waits. On success the request is answered.
  absl::Status RunToEnd(Request& request, const BatchColumns& columns, absl::Time deadline);
  absl::StatusOr<std::shared_ptr<Pending>> StartAsync(routing::CommandType type,
                                                      absl::string_view object,
                                                      const WriteBatch& batch, Callback done);
  // A request of byte strings, which holds the records of `columns`' words. Errors: as Begin, and
  // InvalidArgument (a value, or all together, too long).
  absl::StatusOr<RequestPtr> BeginBytes(routing::CommandType type, absl::string_view object,
                                        const BytesWriteBatch& batch, uint64_t bytes_max,
                                        WordColumns& words);
  absl::Status RunBytes(routing::CommandType type, absl::string_view object,
                        const BytesWriteBatch& batch, const BytesWriteColumns& out,
                        absl::Time deadline);
  absl::StatusOr<std::shared_ptr<Pending>> StartBytes(routing::CommandType type,
                                                      absl::string_view object,
                                                      const BytesWriteBatch& batch,
                                                      uint64_t bytes_max, Callback done);
  absl::StatusOr<std::shared_ptr<Pending>> Start(RequestPtr request, const BatchColumns& columns,
                                                 Callback done);
  absl::Status RunWrite(routing::CommandType type, absl::string_view object,
                        const WriteBatch& batch, const WriteColumns& out, absl::Time deadline);

  // A request of rows, checked, with credit and in-flight count taken. `columns`: of look-ups.
  // Errors: as AppendRows and the others.
  absl::StatusOr<RequestPtr> BeginTable(routing::CommandType type, absl::string_view table,
                                        const RowBatch& batch,
                                        absl::Span<const std::string> columns,
                                        std::shared_ptr<const void> holder);
  // Sends and waits until all has been answered. Errors:
  // DeadlineExceeded, ResourceExhausted.
  absl::Status RunTable(Request& request, absl::Time deadline);
  absl::Status RunRowWrite(routing::CommandType type, absl::string_view table,
                           const RowBatch& batch, absl::Span<uint8_t> existed, absl::Time deadline);
  absl::StatusOr<std::shared_ptr<Pending>> StartTable(
      routing::CommandType type, absl::string_view table, const RowBatch& batch,
      absl::Span<const std::string> columns, std::shared_ptr<const void> holder, RowsCallback done);
  absl::StatusOr<std::shared_ptr<Pending>> StartRowWrite(routing::CommandType type,
                                                         absl::string_view table,
                                                         const RowBatch& batch,
                                                         std::shared_ptr<const void> holder,
                                                         Callback done);
  // `target` empty: none. The caller's reference is in the result.
  absl::StatusOr<TableScanState*> StartTableScan(absl::string_view table, const Query& query,
                                                 absl::string_view target);

  struct Remembered {
    ObjectRef object;
    bool described = false;              // KeyTypesOf has told of it
    std::shared_ptr<SendOrder> order{};  // nullptr: nothing has been sent yet
  };

  Core& core_;
  const std::shared_ptr<SessionPort> port_;
  // What is remembered of the name; nullptr: nothing. Until one is forgotten.
  Remembered* Recall(absl::string_view name);
  void Forget(absl::string_view name);
  // Forgets the names whose objects have nothing under way.
  void ForgetIdle();
  // In which the session's requests of the object go. Throws std::bad_alloc.
  std::shared_ptr<SendOrder> OrderOf(const ObjectRef& object);

  // At most kSessionNamesMax, and those of whose objects something is under way. Elements stay
  // where they are. Not one of Abseil's hash tables, which do not survive std::bad_alloc.
  std::map<std::string, Remembered, std::less<>> objects_;
  // The one asked for last: most sessions have one object, and a batch asks several times.
  std::pair<const std::string, Remembered>* last_ = nullptr;
  // Bytes that may still be under way. Shared with requests, which outlive the session.
  const std::shared_ptr<std::atomic<int64_t>> credit_;
  uint64_t
      next_holder_;  // of a heap table: who gets the next rows; sessions begin at different ones
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_SESSION_IMPL_H_
