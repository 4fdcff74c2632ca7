// Reads one scan, chunk by chunk: the rows of an index in key order, those of a table in no order,
// or aggregates. If its stream breaks after progress (a late message, a lost connection), the
// reader continues after the last chunk with the resume token.
// Rows of a table then come from the same snapshot. The reader also continues if the server has cut
// a stream that was not read for long. Rows of an index come from a newer snapshot, which
// new_snapshot() reports; a scan of an index that the server has cut ends with that error. One
// thread at a time.
#ifndef ERIS_CLIENTS_SCAN_READER_H_
#define ERIS_CLIENTS_SCAN_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/rows.h"
#include "eris/query.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::client {

class Client;

class ScanReader {
 public:
  // See Client::Scan. The client's timeout limits the wait for each message, not the whole scan.
  // `client` must outlive the reader. The destructor cancels a running scan.
  ScanReader(const Client& client, const ObjectInfo& object, const Query& query,
             uint64_t snapshot = 0);
  ScanReader(const ScanReader&) = delete;
  ScanReader& operator=(const ScanReader&) = delete;
  ~ScanReader();

  // Reads the next chunk into `rows`, whose memory is used again; false after the last. Blocks
  // until it is there. Errors: as Client; InvalidArgument (a bound that the key type does not have:
  // nothing is sent), OutOfRange (arithmetic outside its type, too many groups), Aborted (the
  // snapshot was given up). After one the scan has ended.
  absl::StatusOr<bool> Next(OwnedRows& rows);

  // The schema of the rows; valid after the first Next.
  const Schema& schema() const;
  // The last chunk's rows are from a newer snapshot than those before: the scan was resumed there.
  bool new_snapshot() const;
  // For Query::resume of the same query (except its limit): continues after the last chunk. Empty:
  // the scan ends there.
  const std::string& resume_token() const;
  uint32_t resumed() const;  // number of broken streams

 private:
  class Scan;
  const std::unique_ptr<Scan> scan_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_SCAN_READER_H_
