// The partition bounds of a server's objects. An import reuses them, so that objects with the same
// leading key have the same rows on the same AEU.
#ifndef ERIS_CLIENTS_CLI_LOADING_CUTS_OF_OTHERS_H_
#define ERIS_CLIENTS_CLI_LOADING_CUTS_OF_OTHERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/eris_client.h"
#include "eris/schema.h"

namespace eris::cli {

// The inner bounds, as words (key_bounds.h), of the indexes and clustered tables whose first key
// column has the type of `column`, and whose i-th range belongs to AEU i. Empty if the call fails:
// the import then cuts by its own sample. Blocks; one call.
std::vector<std::vector<uint64_t>> CutsOfOthers(client::Client& client, const ColumnSchema& column,
                                                size_t aeu_count);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_CUTS_OF_OTHERS_H_
