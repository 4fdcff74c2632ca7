// Reads one ordered scan, chunk after chunk. When its stream breaks after progress (a message that
// was late, a lost connection), it goes on behind the last chunk with the resume token: the rows
// after that are of a newer snapshot, and the chunk says so. A scan that the server has cut because
// it was not read for long ends with that error. One thread at a time.
#ifndef ERIS_CLIENTS_SCAN_READER_H_
#define ERIS_CLIENTS_SCAN_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "eris/bytes_column.h"
#include "eris/types.h"

namespace eris::v1 {
class ScanRequest;
}  // namespace eris::v1

namespace eris::client {

class Client;

struct ScanRows {
  // Encoded (key_encoding.h); strictly ascending over the whole scan, of a backward one descending,
  // of two-part keys as pairs.
  std::vector<uint64_t> keys;
  std::vector<uint64_t> second_keys{};  // of two-part keys, else empty: the second part of keys[i]
  std::vector<uint64_t> values;  // values[i] belongs to keys[i]; empty in a scan of keys only
  BytesColumn bytes{};           // the same where values are byte strings; `values` is empty then
  bool has_bytes = false;
  std::string resume_token;   // goes on behind these rows; empty: the scan ends here
  bool new_snapshot = false;  // the scan was resumed here: these rows are of a newer snapshot
};

class ScanReader {
 public:
  // `timeout` bounds the wait for each message, not the whole scan. `client` must outlive the
  // reader. Destroying it cancels what is under way. Keys of other parts than `key_type` end the
  // scan. A `refusal` is what the first Next returns: nothing is sent.
  ScanReader(const Client& client, v1::ScanRequest request, absl::Duration timeout,
             const KeyTypes& key_type = {}, absl::Status refusal = absl::OkStatus());
  ScanReader(const ScanReader&) = delete;
  ScanReader& operator=(const ScanReader&) = delete;
  ~ScanReader();

  // Reads the next chunk into `rows`; false after the last. Blocks until it is there.
  // Errors: as Client; after one the scan has ended.
  absl::StatusOr<bool> Next(ScanRows& rows);

 private:
  class Scan;
  const std::unique_ptr<Scan> scan_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_SCAN_READER_H_
