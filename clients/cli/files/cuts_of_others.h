// The partition bounds of a server's objects. An import reuses them, so that tables with the same
// leading key have the same rows on the same AEU.
#ifndef ERIS_CLIENTS_CLI_FILES_CUTS_OF_OTHERS_H_
#define ERIS_CLIENTS_CLI_FILES_CUTS_OF_OTHERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/eris_client.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::cli {

// The inner bounds, as SampleKeys encodes keys, of the indexes whose keys have the type and
// whose i-th range belongs to AEU i. Empty if the call fails: the import then cuts by its own
// sample. Blocks; one call.
std::vector<std::vector<uint64_t>> CutsOfIndexes(client::Client& client, ColumnType type,
                                                 size_t aeu_count);
// The same of clustered tables whose first key column has the type of `column`. One call more for
// each of up to 64 tables.
std::vector<std::vector<uint64_t>> CutsOfTables(client::Client& client, const ColumnSchema& column,
                                                size_t aeu_count);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_CUTS_OF_OTHERS_H_
