// A batch of DoPut that is written in pieces, because it may have more rows than the engine takes
// at once.
#ifndef ERIS_SERVER_FLIGHT_PUT_BATCH_H_
#define ERIS_SERVER_FLIGHT_PUT_BATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "eris/batch.h"
#include "eris/schema.h"
#include "eris/session.h"
#include "server/flight/flight_batch.h"
#include "server/flight/put_totals.h"

namespace eris::server {

// Rows of a batch. Points to the batch's columns.
struct RowPiece {
  uint64_t rows = 0;
  absl::InlinedVector<ColumnView, 8> columns{};

  RowBatch batch() const { return {rows, columns}; }
};

// The rows from `first` on, a multiple of 8: as many as one write takes. REQUIRES: first <
// rows.rows.
RowPiece PieceFrom(const Schema& schema, const RowBatch& rows, uint64_t first);

// Held by the callbacks of its pieces and, to cancel them, by the stream. Any thread.
class PutBatch final : public Pending, public std::enable_shared_from_this<PutBatch> {
 public:
  // Called once, when all pieces have been answered: what became of the rows, and the first error.
  using Done = std::function<void(const PutTotals& totals, const absl::Status& status)>;

  PutBatch(std::shared_ptr<FlightBatch> batch, Done done)
      : batch_(std::move(batch)), done_(std::move(done)) {}

  // Writes the rows. If a piece cannot be started, those after it are refused, too.
  void Start(Session& session, const Object& object);
  void Cancel(absl::Status status) override;

 private:
  void Count(const PutTotals& totals, const absl::Status& status);

  const std::shared_ptr<FlightBatch> batch_;
  const Done done_;

  base::Mutex mu_;
  PutTotals totals_ ABSL_GUARDED_BY(mu_){.batches = 1};
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  uint64_t rows_left_ ABSL_GUARDED_BY(mu_) = 0;  // that have not been counted
  std::vector<std::shared_ptr<Pending>> pending_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_PUT_BATCH_H_
