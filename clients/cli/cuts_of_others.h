// Where the objects that a server has are cut, for one that is to lie beside them.
#ifndef ERIS_CLIENTS_CLI_CUTS_OF_OTHERS_H_
#define ERIS_CLIENTS_CLI_CUTS_OF_OTHERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/eris_client.h"
#include "eris/table.h"
#include "eris/types.h"

namespace eris::cli {

// The inner bounds, as SampleKeys encodes keys, of indexes whose keys have the type, and of which
// each AEU has one range, in the order of the AEUs. Empty where the server does not tell: nothing
// depends on it. Blocks; one call.
std::vector<std::vector<uint64_t>> CutsOfIndexes(client::Client& client, KeyType type,
                                                 size_t aeu_count);
// The same of clustered tables whose first key column has the type of `column`. One call more for
// each of up to 64 tables.
std::vector<std::vector<uint64_t>> CutsOfTables(client::Client& client, const ColumnSchema& column,
                                                size_t aeu_count);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_CUTS_OF_OTHERS_H_
