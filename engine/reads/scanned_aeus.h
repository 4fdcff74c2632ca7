// Which AEUs a scan of a table asks. Any thread.
#ifndef ERIS_ENGINE_READS_SCANNED_AEUS_H_
#define ERIS_ENGINE_READS_SCANNED_AEUS_H_

#include <vector>

#include "engine/objects/object_entry.h"
#include "eris/types.h"

namespace eris::engine {

// Ascending; at least one. Called after the scan's snapshot S was taken.
//
// Rows that S sees are still where they were when S was taken, whichever AEU owns their keys now:
// rows that have moved since then are old rows of the AEU that gave them away. So the scan asks all
// members, and uses no partition table.
// A later member got its first rows from a step that began after it had become a member, so after
// S. And a step uses a single epoch: no step is partly before S. So the rows that its target gets
// are born, and those of its source die, above S.
std::vector<AeuId> ScannedAeus(const ObjectEntry& table);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_SCANNED_AEUS_H_
