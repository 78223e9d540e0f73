// Lines of Prometheus's text format 0.0.4. Control plane, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "stats/model_stats.h"

namespace serval {

// `name="value"`, with the value escaped: \ " and newline; invisible characters become "\uXXXX" in
// plain letters (the format has no escapes for them); bytes that are not UTF-8 become U+FFFD,
// because a single one makes Prometheus reject the whole page.
std::string metric_label(std::string_view name, std::string_view value);

// Shortest text that reads back as `value`; no exponent from 0.0001 to 1e15.
std::string metric_number(double value);

// Appends to a buffer; after memory runs out, appends nothing more and ok() is false. Borrows it.
class MetricsWriter {
 public:
  explicit MetricsWriter(ByteBuffer& out) : out_(out) {}

  // Type: "counter", "gauge", "histogram" or "summary". An empty help text omits its line.
  void family(std::string_view name, std::string_view type, std::string_view help);
  // `labels` without braces, `name="value"` with commas between.
  void sample(std::string_view name, std::string_view labels, uint64_t value);
  void sample(std::string_view name, std::string_view labels, double value);
  void sample(std::string_view name, std::string_view labels, std::string_view value);
  // Writes a line without braces.
  void plain_sample(std::string_view name, std::string_view value);
  // Writes a family whose only sample has no labels.
  void plain_family(std::string_view name, std::string_view type, std::string_view help,
                    uint64_t value);
  // `bounds`: texts of the upper bounds; +Inf is added. `counts` has one more entry, or is empty
  // (zeros).
  void histogram(std::string_view name, std::string_view labels,
                 std::span<const std::string> bounds, std::span<const uint64_t> counts,
                 std::string_view sum);
  bool ok() const { return ok_; }

 private:
  void put(std::string_view text) { ok_ = ok_ && out_.append(text); }
  void line(std::string_view name, std::string_view suffix, std::string_view labels,
            std::string_view value);
  ByteBuffer& out_;
  bool ok_ = true;
};

}  // namespace serval
