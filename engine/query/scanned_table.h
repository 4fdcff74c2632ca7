// What is known of a table that a query scans (QueryFlow::Next). Not from the papers: query
// processing is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_SCANNED_TABLE_H_
#define ERIS_ENGINE_QUERY_SCANNED_TABLE_H_

#include "engine/objects/object_entry.h"
#include "engine/query/query_flow.h"
#include "storage/query/query_part.h"

namespace eris::engine {

// Any thread; does not block. Throws std::bad_alloc.
ScannedTable DescribeScanned(const ObjectEntry& object, const storage::QueryParts& parts);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_SCANNED_TABLE_H_
