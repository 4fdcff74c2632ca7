// The server's figures in Prometheus' text format, 0.0.4. Any thread, no state.
#ifndef ERIS_SERVER_METRICS_SCRAPE_H_
#define ERIS_SERVER_METRICS_SCRAPE_H_

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "server/metrics/figures.h"

namespace eris::server {

// The content type of that format.
inline constexpr char kScrapeType[] = "text/plain; version=0.0.4; charset=utf-8";

struct ScrapeOptions {
  bool aeus = false;  // also the metrics of each AEU
};

// The families of metric_table.h that have a series, in the table's order.
std::vector<prometheus::MetricFamily> FamiliesOf(const Figures& figures,
                                                 const ScrapeOptions& options = {});

// Throws std::bad_alloc.
std::string ScrapeText(const Figures& figures, const ScrapeOptions& options = {});

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_SCRAPE_H_
