// The server's figures in Prometheus' text format, 0.0.4. Any thread, no state.
#ifndef ERIS_SERVER_METRICS_SCRAPE_H_
#define ERIS_SERVER_METRICS_SCRAPE_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <string>
#include <utility>
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

// Collects from `read` each time.
class FigureCollectable final : public prometheus::Collectable {
 public:
  FigureCollectable(std::function<Figures()> read, ScrapeOptions options)
      : read_(std::move(read)), options_(options) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    return FamiliesOf(read_(), options_);
  }

 private:
  const std::function<Figures()> read_;
  const ScrapeOptions options_;
};

// Throws std::bad_alloc.
std::string ScrapeText(const prometheus::Collectable& source);

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_SCRAPE_H_
