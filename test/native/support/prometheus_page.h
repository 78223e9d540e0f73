// A strict reader of Prometheus's text format: refuses a page for anything that Prometheus's own
// parser or linter would object to. Test time only.
#pragma once

#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/utf8.h"

namespace serval::testing_support {

using MetricLabels = std::map<std::string, std::string>;

struct MetricSample {
  std::string name;  // with _bucket, _sum or _count
  MetricLabels labels;
  double value = 0;
};

struct MetricFamily {
  std::string type;
  bool help = false;
  std::vector<MetricSample> samples;
};

class PrometheusPage {
 public:
  explicit PrometheusPage(std::string_view text) {
    if (!text.empty() && text.back() != '\n') refuse("the last line has no newline");
    while (!text.empty() && error_.empty()) {
      const size_t end = text.find('\n');
      read_line(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    for (const auto& [name, family] : families_) {
      if (error_.empty() && family.type == "histogram") check_histogram(name, family);
    }
  }

  // "" if the page is valid.
  const std::string& error() const { return error_; }
  const std::map<std::string, MetricFamily>& families() const { return families_; }
  // NaN if there is no such sample.
  double value(const std::string& name, const MetricLabels& labels) const {
    for (const auto& [ignored, family] : families_) {
      for (const MetricSample& sample : family.samples) {
        if (sample.name == name && sample.labels == labels) return sample.value;
      }
    }
    return NAN;
  }

 private:
  void refuse(const std::string& why) {
    if (error_.empty()) error_ = why;
  }

  static bool name_byte(char byte, bool first) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return letter || byte == '_' || byte == ':' || (!first && byte >= '0' && byte <= '9');
  }

  static std::string take_name(std::string_view& rest) {
    size_t end = 0;
    while (end < rest.size() && name_byte(rest[end], end == 0)) ++end;
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(end);
    return name;
  }

  static bool take(std::string_view& rest, std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  }

  void read_line(std::string_view line) {
    for (size_t at = 0; at < line.size();) {
      const size_t bytes = utf8_length_at(line, at);
      if (bytes == 0) return refuse("not UTF-8: " + std::string(line));
      at += bytes;
    }
    std::string_view rest = line;
    if (take(rest, "# HELP ") || take(rest, "# TYPE ")) {
      return read_comment(line[2] == 'T', rest, line);
    }
    read_sample(rest, line);
  }

  void read_comment(bool type, std::string_view rest, std::string_view line) {
    const std::string name = take_name(rest);
    if (name.empty() || !take(rest, " ")) return refuse("bad comment: " + std::string(line));
    const bool fresh = families_.find(name) == families_.end();
    MetricFamily& family = families_[name];
    if (!type) {
      if (!fresh) return refuse("HELP after its family began: " + name);
      family.help = true;
    } else {
      if (!family.type.empty() || (!fresh && current_ != name)) {
        return refuse("second TYPE: " + name);
      }
      family.type = std::string(rest);
      if (rest != "counter" && rest != "gauge" && rest != "histogram" && rest != "summary") {
        return refuse("unknown type: " + std::string(line));
      }
    }
    current_ = name;
  }

  // Reads the text between the quotes and undoes escapes.
  bool take_value(std::string_view& rest, std::string& value) {
    if (!take(rest, "\"")) return false;
    while (!rest.empty() && rest[0] != '"') {
      char byte = rest[0];
      rest.remove_prefix(1);
      if (byte == '\\') {
        if (rest.empty()) return false;
        byte = rest[0] == 'n' ? '\n' : rest[0];
        if (rest[0] != 'n' && rest[0] != '\\' && rest[0] != '"') return false;
        rest.remove_prefix(1);
      }
      value += byte;
    }
    return take(rest, "\"");
  }

  bool take_labels(std::string_view& rest, MetricLabels& labels) {
    while (!take(rest, "}")) {
      if (!labels.empty() && !take(rest, ",")) return false;
      const std::string name = take_name(rest);
      std::string value;
      if (name.empty() || name.find(':') != std::string::npos || !take(rest, "=")) return false;
      if (!take_value(rest, value) || !labels.emplace(name, value).second) return false;
    }
    return true;
  }

  void read_sample(std::string_view rest, std::string_view line) {
    const std::string text(line);
    MetricSample sample;
    sample.name = take_name(rest);
    if (sample.name.empty()) return refuse("no name: " + text);
    if (take(rest, "{") && !take_labels(rest, sample.labels)) return refuse("labels: " + text);
    if (!take(rest, " ")) return refuse("no blank before the value: " + text);
    const auto [end, failed] =
        std::from_chars(rest.data(), rest.data() + rest.size(), sample.value);
    if (failed != std::errc() || end != rest.data() + rest.size()) return refuse("value: " + text);
    const auto family = families_.find(current_);
    if (family == families_.end() || family->second.type.empty()) return refuse("no TYPE: " + text);
    if (!belongs(sample, family->second.type)) return refuse("outside its family: " + text);
    if (!series_.emplace(sample.name, sample.labels).second) return refuse("twice: " + text);
    if (family->second.type == "counter" && sample.value < 0) return refuse("negative: " + text);
    family->second.samples.push_back(std::move(sample));
  }

  bool belongs(const MetricSample& sample, const std::string& type) const {
    if (type == "summary" && sample.name == current_) return sample.labels.count("quantile") == 1;
    if (type != "histogram" && type != "summary") return sample.name == current_;
    if (type == "histogram" && sample.name == current_ + "_bucket")
      return sample.labels.count("le") == 1;
    return sample.name == current_ + "_sum" || sample.name == current_ + "_count";
  }

  // For each label set: le ascends to +Inf, counts never decrease, _sum and _count follow, and
  // _count equals the last bucket.
  void check_histogram(const std::string& name, const MetricFamily& family) {
    const auto& samples = family.samples;
    for (size_t i = 0; i < samples.size();) {
      MetricLabels labels = samples[i].labels;
      labels.erase("le");
      double bound = -INFINITY, count = 0;
      for (; i < samples.size() && samples[i].name == name + "_bucket"; ++i) {
        MetricLabels own = samples[i].labels;
        const std::string le = own["le"];
        own.erase("le");
        if (own != labels) return refuse(name + ": another series between its buckets");
        const double next = le == "+Inf" ? INFINITY : std::stod(le);
        if (!(next > bound)) return refuse(name + ": le does not ascend at " + le);
        if (samples[i].value < count) return refuse(name + ": not cumulative at " + le);
        bound = next;
        count = samples[i].value;
      }
      if (bound != INFINITY) return refuse(name + ": no +Inf bucket");
      if (i + 2 > samples.size() || samples[i].name != name + "_sum" ||
          samples[i + 1].name != name + "_count") {
        return refuse(name + ": no _sum and _count behind the buckets");
      }
      if (samples[i].labels != labels || samples[i + 1].labels != labels) {
        return refuse(name + ": _sum or _count of another series");
      }
      if (samples[i + 1].value != count) return refuse(name + ": _count is not the +Inf bucket");
      i += 2;
    }
  }

  std::string error_;
  std::string current_;
  std::map<std::string, MetricFamily> families_;
  std::set<std::pair<std::string, MetricLabels>> series_;
};

}  // namespace serval::testing_support
