// Receives a scan's rows chunk by chunk, and writes them as they arrive. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_ROW_SINK_H_
#define ERIS_CLIENTS_CLI_TEXT_ROW_SINK_H_

#include "absl/status/status.h"
#include "clients/rows.h"
#include "eris/schema.h"

namespace eris::cli {

class RowSink {
 public:
  virtual ~RowSink() = default;
  // `rows` has the columns of `schema`, the same each time. Errors: InvalidArgument (a value that
  // the format cannot represent).
  virtual absl::Status Add(const Schema& schema, const client::OwnedRows& rows) = 0;
  // Without any rows: only the header.
  virtual void End(const Schema& schema) = 0;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_ROW_SINK_H_
