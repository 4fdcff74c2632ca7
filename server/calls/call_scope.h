// The context of an operation besides its request. Each operation (lookup_op.h, write_op.h,
// aggregate_op.h, scan_into_op.h) is a class of static functions, for UnaryCall and, if it is a
// batch, StreamCall:
//
//   Prepare(scope, request)  checks the whole request except its columns. The Plan has what Start
//                            needs, the `bytes` that request and answer hold together, with the
//                            copies that the engine makes, and the `shape` of the answer.
//   Start(session, plan, request, done)  hands the request to the engine; large requests are taken
//                            out of their message. Nothing refers to the message afterwards.
//   Fill(shape, result, response)  moves what the engine has answered into the response; the call
//                            ends with the status that it returns.
//   RequestBytes(request)    what the message holds, also in parts for which it will be refused. Of
//                            operations that have streams.
//
// Errors of Prepare and Start: as Session's, and InvalidArgument for names, modes and columns. Any
// thread, no state.
#ifndef ERIS_SERVER_CALLS_CALL_SCOPE_H_
#define ERIS_SERVER_CALLS_CALL_SCOPE_H_

#include "eris/engine.h"
#include "server/guard/snapshot_leases.h"

namespace eris::server {

struct CallScope {
  Session& session;
  SnapshotLeases& leases;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CALL_SCOPE_H_
