// SIGINT and SIGTERM of verbs that must clean up: the first one is recorded, and the verb ends at
// its next check; a second one ends the program at once.
#ifndef ERIS_CLIENTS_CLI_TEXT_INTERRUPT_H_
#define ERIS_CLIENTS_CLI_TEXT_INTERRUPT_H_

#include "absl/status/status.h"

namespace eris::cli {

// From here on signals are recorded, except one that the program was started to ignore. The verb
// must call CheckInterrupted in every loop that may take long. One thread; repeated calls have no
// effect.
void CatchInterrupts();

// Cancelled once a signal has been recorded. Any thread.
absl::Status CheckInterrupted();

// Waits until `fd` can be read without waiting; files always can. Errors: Cancelled (a signal, even
// one that arrives meanwhile), Unavailable. Any thread. `other_fd` ends the wait too, like a
// signal; -1: none.
absl::Status AwaitReadable(int fd, int other_fd = -1);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_INTERRUPT_H_
