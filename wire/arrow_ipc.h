// Columns in Arrow's IPC format: what Arrow Flight sends. The types are those of ExportArrow
// (query.h). Decimals are decimal64, sums of 128 bits decimal128, strings Binary, since they are
// any bytes. Any thread.
#ifndef ERIS_WIRE_ARROW_IPC_H_
#define ERIS_WIRE_ARROW_IPC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "eris/batch.h"
#include "eris/query.h"
#include "eris/schema.h"

namespace eris::wire {

// The message that tells the types of the columns. It has no body. `found`: before them is a column
// of this name, whose values are true and false.
std::string ArrowSchema(const Schema& schema);
std::string ArrowSchema(absl::string_view found, const Schema& schema);
// A message with the mark and the length that precede it where Flight does not say its length
// otherwise.
std::string FramedArrow(absl::string_view message);

// One batch of rows: a header, and a body with the buffers of the columns, each at a multiple of
// kArrowAlignment. Points to the columns, which outlive it.
class ArrowBatch {
 public:
  static constexpr uint64_t kArrowAlignment = 64;

  // Shapes: as many columns as the schema has.
  ArrowBatch(const Schema& schema, const RowBatch& rows);
  // `found`: a bit for each row (batch.h), which is the first column.
  ArrowBatch(const uint8_t* found, const Schema& schema, const RowBatch& rows);
  explicit ArrowBatch(const Chunk& chunk);

  const std::string& header() const { return header_; }
  uint64_t body_bytes() const { return body_bytes_; }
  // Writes body_bytes() bytes; those between the buffers are 0.
  void CopyBody(char* to) const;

 private:
  struct Part {
    const void* data = nullptr;
    uint64_t bytes = 0;
    uint64_t at = 0;
    bool offsets = false;  // of strings: they must begin with 0
  };

  void Build(const uint8_t* found, const Schema& schema, const RowBatch& rows);
  void AddPart(const void* data, uint64_t bytes, bool offsets = false);

  std::vector<Part> parts_;  // in the order of the body
  uint64_t body_bytes_ = 0;
  std::string header_;
};

}  // namespace eris::wire

#endif  // ERIS_WIRE_ARROW_IPC_H_
