// Reads the rows of one query, chunk by chunk, in the plan's order if it sorts. A query whose
// stream breaks is not resumed: it would have to be computed again. One thread at a time.
#ifndef ERIS_CLIENTS_QUERY_READER_H_
#define ERIS_CLIENTS_QUERY_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/rows.h"
#include "eris/schema.h"

namespace eris::client {

class Client;

class QueryReader {
 public:
  // See Client::Execute. The client's timeout limits the wait for each message; the first one comes
  // when the answer has been computed. `client` must outlive the reader. The destructor cancels a
  // running query.
  QueryReader(const Client& client, std::string plan);
  QueryReader(const QueryReader&) = delete;
  QueryReader& operator=(const QueryReader&) = delete;
  ~QueryReader();

  // Reads the next chunk into `rows`, whose memory is used again; false after the last. Blocks
  // until it is there. Errors: as Queries/Execute in queries.proto; after one the query has ended.
  absl::StatusOr<bool> Next(OwnedRows& rows);

  // The schema of the rows; valid after the first Next.
  const Schema& schema() const;

 private:
  class Query;
  const std::unique_ptr<Query> query_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_QUERY_READER_H_
