// The engine for C programs, and for languages that call C. Include this header alone; it is C99
// and C++. Link with `pkg-config --cflags --libs eris`. C++ programs may use engine.h instead.
//
//   eris_engine* engine = NULL;
//   eris_session* session = NULL;
//   eris_object* squares = NULL;
//   eris_error* error = NULL;
//   if (eris_engine_open(NULL, &engine, &error) != ERIS_OK) { puts(eris_error_message(error)); }
//   eris_create(engine, "squares", NULL, NULL);
//   eris_session_new(engine, &session, NULL);
//   eris_object_open(session, "squares", &squares, NULL);
//   eris_upsert_u64(session, squares, keys, values, n, NULL, 0, NULL);
//   eris_lookup_u64(session, squares, keys, n, values, found, 0, NULL);
//
// Rules for all functions:
//
// Errors. A function that can fail returns a code, ERIS_OK (0) or one of ERIS_CANCELLED and so on.
// Its last argument may be NULL; otherwise it receives NULL, or an error that the caller frees. No
// C++ exception leaves the library. An argument that is NULL where it may not be, a number that is
// none of its enumeration, a text that is not understood: ERIS_INVALID_ARGUMENT. Memory that the
// system or a limit refuses: ERIS_RESOURCE_EXHAUSTED. Calls that a closing engine cuts off:
// ERIS_UNAVAILABLE. Comments name the other codes.
//
// Ownership. A handle (eris_engine, eris_session, ...) that an `out` argument receives belongs to
// the caller, who frees it with its eris_..._free. These accept NULL. `*out` is NULL after an
// error, unless the comment says otherwise. What goes in is borrowed for the length of the call.
// What a getter returns belongs to the handle, and is valid until that is freed.
//
// After a handle has been freed it must not be used again: that is an error of the program, like
// any use of freed memory, and is not detected. eris_engine_close refuses while handles that need
// the engine exist, so the order cannot be wrong in the other direction.
//
// Threads. Any thread may use an engine, an object or a snapshot at any time. A session or a scan
// takes one call at a time; a second one at the same time gets ERIS_FAILED_PRECONDITION. Other
// handles are only read, by any thread, and freed by one when no other thread uses them. Handles
// must not be used in a child after fork(2).
//
// Options and answers. A structure whose first member is `struct_size` may become longer in later
// versions. Set struct_size to its sizeof and all other members to 0: 0 is the default of each. For
// options the pointer may be NULL, too.
//
// Time limits. `timeout_us` is in microseconds from now; 0: none. Negative: ERIS_INVALID_ARGUMENT.
//
// Several engines may be open in one process, each with threads and memory of its own.
#ifndef ERIS_ERIS_H_
#define ERIS_ERIS_H_

#include "eris/c/admin.h"
#include "eris/c/base.h"
#include "eris/c/engine.h"
#include "eris/c/plan.h"
#include "eris/c/scan.h"
#include "eris/c/session.h"

#endif  // ERIS_ERIS_H_
