// Rows into a table by the C++ client's WriteStream: what DoPut is compared with.
//
//   row_stream SERVER TABLE ROWS BATCH
//
// TABLE has the key and three other columns, all u64. Rows are made before the clock runs; keys are
// 0 .. ROWS in an order that is none. Prints {"rows_per_second": ...}.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/must.h"
#include "clients/batch_stream.h"
#include "clients/eris_client.h"
#include "clients/rows.h"

namespace eris::bench {
namespace {

using Clock = std::chrono::steady_clock;

void Run(const char* server, const char* table, uint64_t rows, uint64_t batch) {
  const auto client = Must(client::Client::Connect({.server = server}));
  const ObjectInfo info = Must(client->Get(table));
  std::vector<client::OwnedRows> batches;
  for (uint64_t from = 0; from < rows; from += batch) {
    std::vector<uint64_t> keys;
    for (uint64_t i = from; i < std::min(from + batch, rows); ++i) {
      keys.push_back(i * 7919 % rows);  // rows is no multiple of the prime
    }
    const ColumnBuffers column = client::NumberColumn<uint64_t>(keys);
    batches.push_back({.rows = keys.size(), .columns = {column, column, column, column}});
  }
  absl::Status failed;
  client::WriteStream stream(*client, {.in_flight_max = 8},
                             [&](uint64_t, absl::Status status, client::WriteResult result) {
                               if (status.ok() && result.refused > 0) status = result.refusal;
                               failed.Update(status);
                             });
  const Clock::time_point start = Clock::now();
  for (const client::OwnedRows& part : batches) {
    Must(stream.Send(info, WriteMode::kUpsert, part.view()));
  }
  Must(stream.Finish());
  Must(failed);
  const std::chrono::duration<double> passed = Clock::now() - start;
  std::printf("{\"rows_per_second\": %.0f}\n", static_cast<double>(rows) / passed.count());
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: row_stream SERVER TABLE ROWS BATCH\n");
    return 2;
  }
  eris::bench::Run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                   std::strtoull(argv[4], nullptr, 10));
}
