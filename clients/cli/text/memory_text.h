// The server's memory as text and JSON, and what a verification means for a script. Pure functions;
// any thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_MEMORY_TEXT_H_
#define ERIS_CLIENTS_CLI_TEXT_MEMORY_TEXT_H_

#include <string>

#include "clients/json.h"
#include "eris/stats.h"

namespace eris::cli {

// `classes`: blocks by size too.
std::string ToText(const MemoryStats& stats, bool classes);
Json ToJson(const MemoryStats& stats);

std::string ToText(const MemoryVerification& verification);
Json ToJson(const MemoryVerification& verification);

// kExitMisplaced: a page is misplaced. Else kExitUnverified: a NumaNode's memory is not bound. Else
// kExitOk.
int ExitCodeOf(const MemoryVerification& verification);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_MEMORY_TEXT_H_
