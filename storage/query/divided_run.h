// A step that is divided among AEUs, at one of them (stage_tasks.h). Not from the papers.
#ifndef ERIS_STORAGE_QUERY_DIVIDED_RUN_H_
#define ERIS_STORAGE_QUERY_DIVIDED_RUN_H_

#include <cstddef>
#include <memory>

#include "storage/query/join_build.h"
#include "storage/query/query_part.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/stage_tasks.h"
#include "storage/query/step_run.h"

namespace eris::storage {

// `step`: of the stage's tasks. `input`: what the AEU has of its rows; nullptr: it follows another
// step. `build`: of a join.
std::unique_ptr<StepRun> NewDividedRun(QueryPart& part, StageTasks& all, size_t step,
                                       const EnvelopeList* input, std::unique_ptr<JoinBuild> build);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_DIVIDED_RUN_H_
