// Reads one scan of a table, chunk after chunk. When its stream breaks after progress (a message
// that was late, a lost connection, a long pause of the reader), it goes on behind the last chunk
// with the resume token, on the same snapshot. One thread at a time.
#ifndef ERIS_CLIENTS_TABLE_SCAN_READER_H_
#define ERIS_CLIENTS_TABLE_SCAN_READER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/table_rows.h"
#include "eris/schema.h"

namespace eris::v1 {
class ScanTableRequest;
}  // namespace eris::v1

namespace eris::client {

class Client;

class TableScanReader {
 public:
  // `timeout` bounds the wait for each message, not the whole scan. `client` must outlive the
  // reader. Destroying it cancels what is under way.
  TableScanReader(const Client& client, v1::ScanTableRequest request, absl::Duration timeout);
  TableScanReader(const TableScanReader&) = delete;
  TableScanReader& operator=(const TableScanReader&) = delete;
  ~TableScanReader();

  // Reads the next chunk into `rows`, whose memory is used again; false after the last. Blocks
  // until it is there. Errors: as Client, OutOfRange (arithmetic outside its type), Aborted (the
  // snapshot was given up); after one the scan has ended.
  absl::StatusOr<bool> Next(OwnedRows& rows);

  // Of the rows; known after the first Next.
  const Schema& schema() const;
  uint32_t resumed() const;  // streams that broke

 private:
  class Scan;
  const std::unique_ptr<Scan> scan_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_TABLE_SCAN_READER_H_
