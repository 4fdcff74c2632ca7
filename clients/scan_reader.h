// Reads one ordered scan, chunk after chunk. When its stream breaks after progress (a message that
// was late, a lost connection), it goes on behind the last chunk with the resume token: the rows
// after that are of a newer snapshot, and the chunk says so. A scan that the server has cut because
// it was not read for long ends with that error. One thread at a time.
#ifndef ERIS_CLIENTS_SCAN_READER_H_
#define ERIS_CLIENTS_SCAN_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/message_stream.h"
#include "eris/bytes_column.h"
#include "eris/types.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris::client {

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
  // `timeout` bounds the wait for each message, not the whole scan. `stub` must outlive the reader.
  // Destroying it cancels what is under way. Keys of other parts than `key_type` end the scan. A
  // `refusal` is what the first Next returns: nothing is sent.
  ScanReader(v1::Data::Stub& stub, v1::ScanRequest request, absl::Duration timeout,
             const KeyTypes& key_type = {}, absl::Status refusal = absl::OkStatus());

  // Reads the next chunk into `rows`; false after the last. Blocks until it is there.
  // Errors: as Client; after one the scan has ended.
  absl::StatusOr<bool> Next(ScanRows& rows);

 private:
  void Open();

  // Immutable after construction.
  v1::Data::Stub& stub_;
  const absl::Duration timeout_;
  const bool keys_only_;
  const bool two_parts_;

  // Owned by the calling thread.
  absl::Status refusal_;
  v1::ScanRequest request_;
  v1::ScanResponse response_;
  std::optional<MessageStream<v1::ScanResponse>> stream_;
  bool progressed_ = false;  // since the stream was opened
  bool ended_ = false;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_SCAN_READER_H_
