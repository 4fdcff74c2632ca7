// Tables: typed columns over gRPC. Rows travel in Arrow's memory layout, and are not converted.
//
//   TableClient tables(*client);
//   tables.Create("lineitem", schema);
//   tables.Write("lineitem", schema, rows);
//   auto reader = tables.Scan("lineitem", {.filter = *ParseExpression("l_quantity < 24")});
//   OwnedRows rows;
//   while (*reader->Next(rows)) ...
//
// Threads: every call from any thread, also at once; streams and readers by one thread at a time.
// Errors: as Client.
#ifndef ERIS_CLIENTS_TABLE_CLIENT_H_
#define ERIS_CLIENTS_TABLE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/batch_stream.h"
#include "clients/columns.h"
#include "clients/eris_client.h"
#include "clients/table_rows.h"
#include "clients/table_scan_reader.h"
#include "eris/schema.h"
#include "eris/query.h"

namespace eris::client {

// Where values of the first key column are expected, or the inner bounds of partitions; as values
// of that column (a decimal's unscaled one as i64).
struct TableBounds {
  std::optional<Value> start{};
  std::optional<Value> end{};
  std::vector<Value> splits{};
};

struct TableInfo {
  ObjectInfo object;
  Schema schema;
};

struct WrittenRows {
  uint64_t stored = 0;
  uint64_t refused = 0;   // beside ResourceExhausted in a stream: not stored
  uint64_t replaced = 0;  // of a clustered table: rows that were there before
};

struct FoundRows {
  OwnedRows rows;  // as many as keys; null in all columns where there was none
  RowBits found;
};

class TableClient {
 public:
  // `client` must outlive this, and what it opens.
  explicit TableClient(Client& client) : client_(client) {}

  // Errors: InvalidArgument also for bounds of another type than numbers and dates.
  absl::StatusOr<ObjectInfo> Create(const std::string& name, const Schema& schema,
                                    const TableBounds& bounds = {});
  // Errors: NotFound, FailedPrecondition (not a table).
  absl::StatusOr<TableInfo> Get(const std::string& name);

  // Inserts or replaces rows of a clustered table, appends to a heap table. `rows` has the columns
  // of `schema`, and is the same afterwards. Not atomic across rows.
  absl::StatusOr<WrittenRows> Write(const std::string& table, const Schema& schema,
                                    OwnedRows& rows);
  // `keys` has the key columns alone, in the key's order. Result: the key was there.
  absl::StatusOr<RowBits> Erase(const std::string& table, const Schema& schema,
                                OwnedRows& keys);
  // `columns`: by name, in their order; empty: all. `found` may be empty.
  absl::StatusOr<FoundRows> LookUp(const std::string& table, const Schema& schema,
                                   OwnedRows& keys, const std::vector<std::string>& columns = {});

  // Opens a scan; errors come from Next. `snapshot`: of TakeSnapshot; 0: one of the scan's own.
  std::unique_ptr<TableScanReader> Scan(const std::string& table, const Query& query,
                                        uint64_t snapshot = 0);
  // Writes the rows of a scan into another object, inside the server. Returns how many.
  absl::StatusOr<uint64_t> ScanInto(const std::string& table, const Query& query,
                                    const std::string& target, uint64_t snapshot = 0);

  // One moment of all objects, kept until nobody has asked anything of it for `time_to_live`.
  absl::StatusOr<uint64_t> TakeSnapshot(absl::Duration time_to_live = absl::Minutes(1));
  // Errors: NotFound (let go already).
  absl::Status ReleaseSnapshot(uint64_t snapshot);

 private:
  Client& client_;
};

// Many batches of rows in flight over one stream; see batch_stream.h.
class RowStream {
 public:
  // `written` is set where status is OK or ResourceExhausted.
  using OnAnswer = std::function<void(uint64_t index, absl::Status status, WrittenRows written)>;
  // `client` must outlive the stream.
  RowStream(Client& client, const StreamOptions& options, OnAnswer on_answer);
  ~RowStream();

  // Sends one batch; blocks while in_flight_max are unanswered. `rows` is the same afterwards, and
  // free to be used again. Errors: those of the stream itself.
  absl::Status Send(const std::string& table, const Schema& schema, OwnedRows& rows);
  absl::Status AwaitRoom();
  // Waits for every answer and ends the stream. OK also when single batches failed.
  absl::Status Finish();

 private:
  struct Calls;
  const std::unique_ptr<Calls> calls_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_TABLE_CLIENT_H_
