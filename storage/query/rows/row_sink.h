// Where a step of a query puts its rows: envelopes, filled one after the other, and collected in a
// list. Used by one thread. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_ROW_SINK_H_
#define ERIS_STORAGE_QUERY_ROW_SINK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "eris/batch.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/envelope_writer.h"
#include "storage/query/rows/query_memory.h"

namespace eris::storage {

class RowSink {
 public:
  // All outlive it. `step`: "join", for texts.
  RowSink(QueryMemory& memory, EnvelopeList& rows, absl::string_view step)
      : memory_(memory),
        rows_(rows),
        step_(step),
        writer_(memory, rows.columns(), kEnvelopeBytesMax) {}

  // The envelope to which rows may be appended; nullptr: no memory, Refusal().
  [[nodiscard]] Envelope* Open() { return writer_.Open(); }
  // Adds `count` rows: append(done, rows) appends to `rows` as many of those from the done-th on as
  // fit. Errors: ResourceExhausted.
  template <class Append>
  absl::Status AddAll(uint32_t count, Append append) {
    for (uint32_t done = 0; done < count;) {
      Envelope* const open = Open();
      if (open == nullptr) return Refusal();
      const uint32_t before = open->out().rows;
      append(done, open->out());
      open->Count();
      done += open->out().rows - before;
      if (done < count) ERIS_RETURN_IF_ERROR(Full());
    }
    return absl::OkStatus();
  }
  // The open envelope has no room for the next row. Errors: ResourceExhausted.
  absl::Status Full() {
    if (writer_.has_rows()) return Flush();
    writer_.Widen(kValueBytesMax);
    return absl::OkStatus();
  }
  // After the last row. Errors: ResourceExhausted (no memory, too many envelopes).
  absl::Status Flush() {
    if (!writer_.has_rows()) return absl::OkStatus();
    Envelope* const full = writer_.Take();
    switch (rows_.Add(full)) {
      case EnvelopeList::Added::kYes:
        return absl::OkStatus();
      case EnvelopeList::Added::kNoMemory:
        Envelope::Free(full, memory_);
        return Refusal();
      case EnvelopeList::Added::kFull:
        break;
    }
    Envelope::Free(full, memory_);
    return base::OrNoMemory("no memory for a query", [&]() -> absl::Status {
      return absl::ResourceExhaustedError(absl::StrCat("a ", step_, " of a query has more than ",
                                                       kEnvelopesMax, " envelopes of rows"));
    });
  }
  absl::Status Refusal() const { return memory_.Refusal(step_); }

 private:
  QueryMemory& memory_;
  EnvelopeList& rows_;
  const absl::string_view step_;
  EnvelopeWriter writer_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ROW_SINK_H_
