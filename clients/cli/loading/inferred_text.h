// What a file seems to be, for people and programs. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_INFERRED_TEXT_H_
#define ERIS_CLIENTS_CLI_LOADING_INFERRED_TEXT_H_

#include "clients/cli/inference/inference.h"
#include "clients/cli/loading/import_flags.h"
#include "clients/cli/text/cli.h"
#include "eris/schema.h"

namespace eris::cli {

// On standard output, so that it can be changed and pasted. `schema`: of the table that the file
// would become. Returns the exit code.
int ShowInferred(const Cli& cli, const ImportFlags& flags, const InferredFile& file,
                 const Schema& schema);
// On stderr, before an import into a new table.
void TellInferred(const InferredFile& file, const Schema& schema);
// The same for a table that exists, if the file is written in another way than the flags say.
void TellForms(const ImportFlags& flags, const InferredFile& file);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_INFERRED_TEXT_H_
