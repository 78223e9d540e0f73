// Writes lines of Prometheus's text format.
#include "stats/metrics_writer.h"

#include <array>
#include <charconv>

#include "base/bytes/hidden.h"
#include "base/bytes/utf8.h"

namespace serval {

namespace {

using NumberText = std::array<char, 32>;

std::string_view text_of(uint64_t value, NumberText& text) {
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::string metric_label(std::string_view name, std::string_view value) {
  std::string out(name);
  out += "=\"";
  for (size_t at = 0; at < value.size();) {
    const size_t bytes = utf8_length_at(value, at);
    const char first = value[at];
    if (bytes == 0) {
      out += kReplacementCharacter;
    } else if (first == '\n') {
      out += "\\n";
    } else if (const uint32_t point = code_point_at(value, at, bytes); is_hidden(point)) {
      append_visible(point, "\\\\u", out);
    } else {
      if (first == '\\' || first == '"') out += '\\';
      out += value.substr(at, bytes);
    }
    at += bytes == 0 ? 1 : bytes;
  }
  out += '"';
  return out;
}

std::string metric_number(double value) {
  NumberText text;
  const bool plain = value == 0 || (value >= 1e-4 && value < 1e15);
  const auto result =
      plain ? std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed)
            : std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

void MetricsWriter::family(std::string_view name, std::string_view type, std::string_view help) {
  if (!help.empty()) {
    put("# HELP ");
    put(name);
    put(" ");
    put(help);
    put("\n");
  }
  put("# TYPE ");
  put(name);
  put(" ");
  put(type);
  put("\n");
}

void MetricsWriter::line(std::string_view name, std::string_view suffix, std::string_view labels,
                         std::string_view value) {
  put(name);
  put(suffix);
  put("{");
  put(labels);
  put("} ");
  put(value);
  put("\n");
}

void MetricsWriter::sample(std::string_view name, std::string_view labels, uint64_t value) {
  NumberText text;
  line(name, "", labels, text_of(value, text));
}

void MetricsWriter::sample(std::string_view name, std::string_view labels, double value) {
  line(name, "", labels, metric_number(value));
}

void MetricsWriter::sample(std::string_view name, std::string_view labels, std::string_view value) {
  line(name, "", labels, value);
}

void MetricsWriter::plain_sample(std::string_view name, std::string_view value) {
  put(name);
  put(" ");
  put(value);
  put("\n");
}

void MetricsWriter::plain_family(std::string_view name, std::string_view type,
                                 std::string_view help, uint64_t value) {
  family(name, type, help);
  plain_sample(name, std::to_string(value));
}

void MetricsWriter::histogram(std::string_view name, std::string_view labels,
                              std::span<const std::string> bounds, std::span<const uint64_t> counts,
                              std::string_view sum) {
  uint64_t total = 0;
  NumberText text;
  for (size_t i = 0; i <= bounds.size(); ++i) {
    total += i < counts.size() ? counts[i] : 0;
    put(name);
    put("_bucket{");
    put(labels);
    put(",le=\"");
    put(i < bounds.size() ? std::string_view(bounds[i]) : "+Inf");
    put("\"} ");
    put(text_of(total, text));
    put("\n");
  }
  line(name, "_sum", labels, sum);
  line(name, "_count", labels, text_of(total, text));
}

}  // namespace serval
