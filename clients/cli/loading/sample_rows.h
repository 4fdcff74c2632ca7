// Synthetic rows of two tables of TPC-H, orders and lineitem, for experiments. They have TPC-H's
// columns, types, keys and value ranges, but not its data. Each order is a function of the seed and
// its number, so both tables agree: a lineitem's order exists, and its price is the sum of the
// items. Pure; any thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_SAMPLE_ROWS_H_
#define ERIS_CLIENTS_CLI_LOADING_SAMPLE_ROWS_H_

#include <cstdint>
#include <string>

namespace eris::cli {

struct SampleScale {
  uint64_t seed = 1;
  double factor = 0.01;  // 1: as many rows as TPC-H at scale factor 1; 0.001 to 100

  uint64_t orders() const { return static_cast<uint64_t>(1'500'000 * factor); }
};

// Appends the order of that number, counted from 0, as a line of orders.tbl. Keys ascend; the first
// eight of 32 numbers are used, as in TPC-H: 1 to 8, 33 to 40, ...
void AppendOrder(const SampleScale& scale, uint64_t number, std::string& text);
// Appends its one to seven items as lines of lineitem.tbl. Returns their number.
uint32_t AppendLineitems(const SampleScale& scale, uint64_t number, std::string& text);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_SAMPLE_ROWS_H_
