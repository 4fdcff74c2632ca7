// Reads one scan of a table, chunk after chunk. When its stream breaks after progress (a message
// that was late, a lost connection, a long pause of the reader), it goes on behind the last chunk
// with the resume token, on the same snapshot. One thread at a time.
#ifndef ERIS_CLIENTS_TABLE_SCAN_READER_H_
#define ERIS_CLIENTS_TABLE_SCAN_READER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/message_stream.h"
#include "clients/table_rows.h"
#include "eris/table.h"
#include "eris/v1/table.grpc.pb.h"

namespace eris::client {

class TableScanReader {
 public:
  // `timeout` bounds the wait for each message, not the whole scan. `stub` must outlive the reader.
  // Destroying it cancels what is under way.
  TableScanReader(v1::Tables::Stub& stub, v1::ScanTableRequest request, absl::Duration timeout);

  // Reads the next chunk into `rows`, whose memory is used again; false after the last. Blocks
  // until it is there. Errors: as Client, OutOfRange (arithmetic outside its type), Aborted (the
  // snapshot was given up); after one the scan has ended.
  absl::StatusOr<bool> Next(OwnedRows& rows);

  // Of the rows; known after the first Next.
  const TableSchema& schema() const { return schema_; }
  uint32_t resumed() const { return resumed_; }  // streams that broke

 private:
  void Open();
  absl::Status Close();
  absl::Status Take(OwnedRows& rows);

  // Immutable after construction.
  v1::Tables::Stub& stub_;
  const absl::Duration timeout_;

  // Owned by the calling thread.
  v1::ScanTableRequest request_;
  v1::ScanTableResponse response_;
  TableSchema schema_;
  std::vector<ColumnType> types_;
  std::optional<MessageStream<v1::ScanTableResponse>> stream_;
  uint32_t resumed_ = 0;
  bool progressed_ = false;  // since the stream was opened
  bool ended_ = false;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_TABLE_SCAN_READER_H_
