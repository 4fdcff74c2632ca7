// SIGINT and SIGTERM of verbs that have something to tidy up: the first one is noted, and the verb
// ends when it looks; a second one ends the program at once.
#ifndef ERIS_CLIENTS_CLI_TEXT_INTERRUPT_H_
#define ERIS_CLIENTS_CLI_TEXT_INTERRUPT_H_

#include "absl/status/status.h"

namespace eris::cli {

// From here on signals are noted, but for one that the program was started to ignore. The verb must
// look at CheckInterrupted in every loop that may take long. One thread; again: no effect.
void CatchInterrupts();

// Cancelled once a signal has been noted. Any thread.
absl::Status CheckInterrupted();

// Waits until `fd` can be read without waiting. Files always can. Errors: Cancelled (a signal, also
// one that comes meanwhile), Unavailable. Any thread. `other_fd` ends the wait, too, as a signal
// does; -1: none.
absl::Status AwaitReadable(int fd, int other_fd = -1);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_INTERRUPT_H_
