// What a load run or a sweep measured, as an SVG image. Pure functions; any thread.
#ifndef ERIS_CLIENTS_LOAD_FIGURES_PLOT_H_
#define ERIS_CLIENTS_LOAD_FIGURES_PLOT_H_

#include <string>
#include <vector>

#include "clients/load/figures/sweep.h"
#include "clients/load/plan.h"
#include "clients/load/report.h"
#include "clients/load/run.h"

namespace eris::load {

// Throughput over time and latency over time, if the run has at least two intervals; and latency by
// percentile.
std::string PlotRun(const Plan& plan, const ReportContext& context, const RunResult& result);
// Latency over the rate, and the answered rate over the rate that was due. `runs`: as in sweep.h.
std::string PlotSweep(const ReportContext& context, const std::vector<SweepRun>& runs);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_FIGURES_PLOT_H_
