// The two metrics pages: names, values, labels, and the strict rules of Prometheus's text format.
#include "stats/metrics_text.h"

#include <gtest/gtest.h>

#include "stats/metrics_writer.h"
#include "support/prometheus_page.h"

namespace serval {
namespace {

using testing_support::MetricLabels;
using testing_support::PrometheusPage;

std::string text_of(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

std::string triton(std::span<const ModelMetrics> models, const LatencyMetrics& latencies = {}) {
  ByteBuffer out;
  EXPECT_TRUE(write_triton_metrics(models, latencies, out));
  return text_of(out);
}

std::string tensorflow(std::span<const ModelMetrics> models) {
  ByteBuffer out;
  EXPECT_TRUE(write_tensorflow_metrics(models, out));
  return text_of(out);
}

// Two V2 successes, one V1 success, and one to four of each other outcome over V1.
StatsReading busy() {
  ModelStats stats;
  stats.record(RequestRecord{1, Outcome::Success, 1'000, 2'000, 3'000, 4'000, 10'000'000, 4});
  stats.record(RequestRecord{2, Outcome::Success, 1'500, 2'600, 3'000, 4'000, 90'000, 4});
  stats.record(RequestRecord{0, Outcome::Success, 0, 1'000, 50'000, 1'000, 52'000, 1});
  for (int outcome = 1; outcome < 5; ++outcome) {
    for (int i = 0; i < outcome; ++i) {
      stats.record(RequestRecord{0, static_cast<Outcome>(outcome), 1, 1, 1, 1, 5'000, 1});
    }
  }
  stats.record(BatchRecord{8, 0, 1, 1, 1});
  stats.record(BatchRecord{1, 3, 1, 1, 1});
  StatsReading reading = stats.read();
  reading.pending = 2;
  return reading;
}

const MetricLabels kMlp1 = {{"model", "mlp"}, {"version", "1"}};

MetricLabels with(MetricLabels labels, const std::string& name, const std::string& value) {
  labels[name] = value;
  return labels;
}

TEST(MetricsText, SummariesHaveTheConfiguredQuantilesOfSuccessfulRequests) {
  ModelStats stats(true);
  for (uint64_t i = 1; i <= 100; ++i) {
    stats.record(RequestRecord{1, Outcome::Success, 0, 2'000, i * 1'000'000, 4'000, i * 2'000'000});
  }
  stats.record(RequestRecord{1, Outcome::Other, 1, 1, 1, 1, 900'000'000'000});
  const ModelMetrics models[] = {{"mlp", 1, 0, stats.read()},
                                 {"idle", 1, 0, ModelStats(true).read()}};
  const std::string written = triton(models, {false, "0.5,0.99,1"});
  const PrometheusPage page(written);
  ASSERT_EQ(page.error(), "");
  const auto near = [&](const char* name, const char* quantile, double expected) {
    const double got = page.value(name, with(kMlp1, "quantile", quantile));
    EXPECT_NEAR(got, expected, expected * 0.016) << name << " " << quantile;
  };
  near("nv_inference_request_summary_us", "0.5", 100'000);
  near("nv_inference_request_summary_us", "0.99", 198'000);
  near("nv_inference_request_summary_us", "1", 200'000);
  near("nv_inference_compute_infer_summary_us", "0.5", 50'000);
  near("nv_inference_compute_input_summary_us", "0.5", 2);
  near("nv_inference_compute_output_summary_us", "0.5", 4);
  EXPECT_EQ(page.value("nv_inference_queue_summary_us", with(kMlp1, "quantile", "0.99")), 0);
  EXPECT_EQ(page.value("nv_inference_request_summary_us_count", kMlp1), 100);
  EXPECT_EQ(page.value("nv_inference_request_summary_us_sum", kMlp1), 10'100'000);
  EXPECT_EQ(written.find("summary_us{model=\"idle\""), std::string::npos);
  EXPECT_EQ(written.find("nv_inference_request_duration_us"), std::string::npos)
      << "without counters of latencies";
  EXPECT_EQ(triton(models).find("summary_us"), std::string::npos);
}

TEST(MetricsText, SummariesOfTheCacheAreOfHitsAndOfMisses) {
  ModelStats stats(true);
  RequestRecord done{1, Outcome::Success, 0, 2'000, 3'000'000, 4'000, 3'100'000};
  stats.record(done);  // without the cache
  done.cached = CacheResult::Miss;
  done.cache_ns = 50'000;
  stats.record(done);
  done.cached = CacheResult::Hit;
  for (uint64_t i = 1; i <= 100; ++i) {
    done.cache_ns = i * 1'000;
    stats.record(done);
  }
  const ModelMetrics models[] = {{"mlp", 1, 0, stats.read()}};
  const PrometheusPage page(triton(models, {true, "0.5"}));
  ASSERT_EQ(page.error(), "");
  const MetricLabels median = with(kMlp1, "quantile", "0.5");
  EXPECT_NEAR(page.value("nv_cache_hit_summary_us", median), 50, 0.8);
  EXPECT_EQ(page.value("nv_cache_hit_summary_us_count", kMlp1), 100);
  EXPECT_EQ(page.value("nv_cache_hit_summary_us_sum", kMlp1), 5'050);
  EXPECT_NEAR(page.value("nv_cache_miss_summary_us", median), 50, 0.8);
  EXPECT_EQ(page.value("nv_cache_miss_summary_us_count", kMlp1), 1);
  EXPECT_EQ(page.value("nv_inference_compute_infer_summary_us_count", kMlp1), 2);
}

TEST(MetricsText, TritonPageHasItsFamiliesOnceAndIsStrictlyRight) {
  const ModelMetrics models[] = {
      {"mlp", 1, 1'250'000, busy()}, {"mlp", 2, 0, ModelStats().read()}, {"other", 1, 7, busy()}};
  const PrometheusPage page(triton(models));
  ASSERT_EQ(page.error(), "");
  const std::map<std::string, std::pair<std::string, size_t>> expected = {
      {"nv_inference_request_success", {"counter", 3}},
      {"nv_inference_request_failure", {"counter", 12}},
      {"nv_inference_count", {"counter", 3}},
      {"nv_inference_exec_count", {"counter", 3}},
      {"nv_inference_pending_request_count", {"gauge", 3}},
      {"nv_inference_request_duration_us", {"counter", 3}},
      {"nv_inference_queue_duration_us", {"counter", 3}},
      {"nv_inference_compute_input_duration_us", {"counter", 3}},
      {"nv_inference_compute_infer_duration_us", {"counter", 3}},
      {"nv_inference_compute_output_duration_us", {"counter", 3}},
      {"nv_model_load_duration_secs", {"gauge", 3}},
      {"serval_batch_padding_rows", {"counter", 3}},
      {"serval_request_duration_seconds", {"histogram", 2 * 25}},
      {"serval_queue_duration_seconds", {"histogram", 2 * 25}},
      {"serval_compute_input_duration_seconds", {"histogram", 2 * 25}},
      {"serval_compute_infer_duration_seconds", {"histogram", 2 * 25}},
      {"serval_compute_output_duration_seconds", {"histogram", 2 * 25}},
      {"serval_batch_rows", {"histogram", 2 * 17}},
      {"process_cpu_seconds_total", {"counter", 1}},
      {"process_resident_memory_bytes", {"gauge", 1}},
  };
  for (const auto& [name, shape] : expected) {
    ASSERT_EQ(page.families().count(name), 1u) << name;
    const auto& family = page.families().at(name);
    EXPECT_EQ(family.type, shape.first) << name;
    EXPECT_EQ(family.samples.size(), shape.second) << name;
    EXPECT_TRUE(family.help) << name;
  }
}

TEST(MetricsText, TritonValuesAreThoseOfTheReading) {
  const ModelMetrics models[] = {{"mlp", 1, 1'250'000, busy()}};
  const PrometheusPage page(triton(models));
  ASSERT_EQ(page.error(), "");
  EXPECT_EQ(page.value("nv_inference_request_success", kMlp1), 3);
  EXPECT_EQ(page.value("nv_inference_count", kMlp1), 9);
  EXPECT_EQ(page.value("nv_inference_exec_count", kMlp1), 2);
  EXPECT_EQ(page.value("nv_inference_pending_request_count", kMlp1), 2);
  EXPECT_EQ(page.value("nv_inference_request_duration_us", kMlp1), 10'142);
  EXPECT_EQ(page.value("nv_inference_queue_duration_us", kMlp1), 2);  // 2.5 us, as a whole number
  EXPECT_EQ(page.value("nv_inference_compute_input_duration_us", kMlp1), 5);
  EXPECT_EQ(page.value("nv_inference_compute_infer_duration_us", kMlp1), 56);
  EXPECT_EQ(page.value("nv_inference_compute_output_duration_us", kMlp1), 9);
  EXPECT_EQ(page.value("nv_model_load_duration_secs", kMlp1), 1.25);
  EXPECT_EQ(page.value("serval_batch_padding_rows", kMlp1), 3);
  const std::pair<const char*, double> reasons[] = {
      {"REJECTED", 1}, {"CANCELED", 2}, {"BACKEND", 3}, {"OTHER", 4}};
  for (const auto& [reason, count] : reasons) {
    EXPECT_EQ(page.value("nv_inference_request_failure", with(kMlp1, "reason", reason)), count);
  }
}

TEST(MetricsText, LatencyHistogramsAreInSecondsAndCumulative) {
  const ModelMetrics models[] = {{"mlp", 1, 0, busy()}};
  const std::string text = triton(models);
  const PrometheusPage page(text);
  const auto bucket = [&](const std::string& name, const std::string& le) {
    return page.value("serval_" + name + "_duration_seconds_bucket", with(kMlp1, "le", le));
  };
  EXPECT_EQ(bucket("request", "5e-05"), 0);
  EXPECT_EQ(bucket("request", "0.0001"), 2);  // 52 us and 90 us
  EXPECT_EQ(bucket("request", "0.005"), 2);
  EXPECT_EQ(bucket("request", "0.01"), 3);  // 10 ms is in its bound's bucket
  EXPECT_EQ(bucket("request", "10"), 3);
  EXPECT_EQ(bucket("request", "+Inf"), 3);
  EXPECT_EQ(bucket("queue", "1e-06"), 2);
  EXPECT_EQ(bucket("queue", "2e-06"), 3);
  EXPECT_EQ(bucket("compute_input", "2e-06"), 2);
  EXPECT_EQ(bucket("compute_infer", "5e-06"), 2);
  EXPECT_EQ(bucket("compute_output", "1e-06"), 1);
  EXPECT_EQ(page.value("serval_request_duration_seconds_sum", kMlp1), 0.010142);
  EXPECT_EQ(page.value("serval_request_duration_seconds_count", kMlp1), 3);
  const std::string sum =
      R"(serval_request_duration_seconds_sum{model="mlp",version="1"} 0.010142)";
  EXPECT_NE(text.find(sum + "\n"), std::string::npos);
}

TEST(MetricsText, BatchRowsCountBatchesBySize) {
  const ModelMetrics models[] = {{"mlp", 1, 0, busy()}};
  const PrometheusPage page(triton(models));
  const auto bucket = [&](const std::string& le) {
    return page.value("serval_batch_rows_bucket", with(kMlp1, "le", le));
  };
  EXPECT_EQ(bucket("1"), 1);
  EXPECT_EQ(bucket("4"), 1);
  EXPECT_EQ(bucket("8"), 2);
  EXPECT_EQ(bucket("8192"), 2);
  EXPECT_EQ(page.value("serval_batch_rows_sum", kMlp1), 9);
  EXPECT_EQ(page.value("serval_batch_rows_count", kMlp1), 2);
}

TEST(MetricsText, WithoutModelsFamiliesHaveNoSamples) {
  const PrometheusPage page(triton({}));
  ASSERT_EQ(page.error(), "");
  for (const char* name :
       {"nv_inference_request_success", "nv_inference_request_failure",
        "nv_model_load_duration_secs", "serval_request_duration_seconds", "serval_batch_rows"}) {
    ASSERT_EQ(page.families().count(name), 1u) << name;
    EXPECT_TRUE(page.families().at(name).samples.empty()) << name;
  }
}

TEST(MetricsText, AnIdleModelHasItsCountersAndNoHistograms) {
  const ModelMetrics models[] = {{"mlp", 1, 0, StatsReading()}};
  const std::string text = triton(models);
  const PrometheusPage page(text);
  ASSERT_EQ(page.error(), "");
  EXPECT_EQ(page.value("nv_inference_request_success", kMlp1), 0);
  EXPECT_EQ(text.find("_bucket{"), std::string::npos);
  // 2,000 idle models: 3 MB with the text that the registry adds.
  const ModelMetrics two[] = {models[0], {"other", 1, 0, StatsReading()}};
  EXPECT_LT(triton(two).size() - text.size(), 1250u);
}

TEST(MetricsText, NamesAreEscapedAndComeBackWhole) {
  const std::string names[] = {
      "a\"b", "back\\slash", "two\nlines", "größe 模型 \xF0\x9F\x98\x80", "{x=\"1\"} 5",
      "",     "end\\"};
  for (const std::string& name : names) {
    const ModelMetrics models[] = {{name, 1, 0, busy()}};
    const PrometheusPage page(triton(models));
    EXPECT_EQ(page.error(), "") << name;
    EXPECT_EQ(page.value("nv_inference_count", {{"model", name}, {"version", "1"}}), 9) << name;
    const PrometheusPage other(tensorflow(models));
    EXPECT_EQ(other.error(), "") << name;
    EXPECT_EQ(
        other.value(":tensorflow:serving:request_count", {{"model_name", name}, {"status", "OK"}}),
        1)
        << name;
  }
}

TEST(MetricsText, BytesThatAreNotUtf8DoNotSpoilThePage) {
  const ModelMetrics models[] = {{"bad\xFF\xC3", 1, 0, busy()}};
  const PrometheusPage page(triton(models));
  EXPECT_EQ(page.error(), "");
  EXPECT_EQ(page.value("nv_inference_count", {{"model", "bad\uFFFD\uFFFD"}, {"version", "1"}}), 9);
}

TEST(MetricsText, LabelsAreWrittenAsTheFormatAsks) {
  EXPECT_EQ(metric_label("model", "mlp"), R"(model="mlp")");
  EXPECT_EQ(metric_label("model", "a\\\"\n"), R"(model="a\\\"\n")");
  EXPECT_EQ(metric_label("model", "\x80"), "model=\"\uFFFD\"");
}

TEST(MetricsText, NumbersAreShortest) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {1e-6, "1e-06"},
                                                  {5e-5, "5e-05"},
                                                  {1e-4, "0.0001"},
                                                  {0.1, "0.1"},
                                                  {0.3, "0.3"},
                                                  {10, "10"},
                                                  {1.25, "1.25"},
                                                  {123456789012.5, "123456789012.5"},
                                                  {1e14, "100000000000000"},
                                                  {1e15, "1e+15"},
                                                  {1.0 / 3, "0.3333333333333333"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(metric_number(value), text);
}

TEST(MetricsText, TensorFlowCountsItsOwnRequestsByStatus) {
  const ModelMetrics models[] = {
      {"mlp", 1, 0, busy()}, {"mlp", 2, 0, busy()}, {"idle", 1, 0, ModelStats().read()}};
  const std::string text = tensorflow(models);
  const PrometheusPage page(text);
  ASSERT_EQ(page.error(), "");
  const std::pair<const char*, double> statuses[] = {
      {"OK", 2}, {"UNAVAILABLE", 2}, {"CANCELLED", 4}, {"INTERNAL", 6}, {"INVALID_ARGUMENT", 8}};
  for (const auto& [status, count] : statuses) {
    EXPECT_EQ(page.value(":tensorflow:serving:request_count",
                         {{"model_name", "mlp"}, {"status", status}}),
              count)
        << status;
  }
  EXPECT_EQ(page.families().at(":tensorflow:serving:request_count").samples.size(), 5u);
  EXPECT_EQ(text.find("idle"), std::string::npos);
  EXPECT_EQ(text.find("# HELP"), std::string::npos);
  EXPECT_TRUE(
      text.starts_with("# TYPE :tensorflow:serving:request_count counter\n"
                       ":tensorflow:serving:request_count{model_name=\"mlp\",status=\"OK\"} 2\n"));
}

TEST(MetricsText, TensorFlowLatenciesAreMicrosecondsOfSuccesses) {
  const ModelMetrics models[] = {{"mlp", 1, 0, busy()}, {"mlp", 2, 0, busy()}};
  const std::string text = tensorflow(models);
  const PrometheusPage page(text);
  ASSERT_EQ(page.error(), "");
  const std::string request = ":tensorflow:serving:request_latency";
  const std::string runtime = ":tensorflow:serving:runtime_latency";
  const MetricLabels whole = {{"model_name", "mlp"}, {"API", "predict"}, {"entrypoint", "REST"}};
  const MetricLabels run = {{"model_name", "mlp"}, {"API", "Predict"}, {"runtime", "TF1"}};
  EXPECT_EQ(page.value(request + "_bucket", with(whole, "le", "32.4")), 0);
  EXPECT_EQ(page.value(request + "_bucket", with(whole, "le", "58.32")), 2);
  EXPECT_EQ(page.value(request + "_bucket", with(whole, "le", "188.957")), 2);
  EXPECT_EQ(page.value(request + "_count", whole), 2);
  EXPECT_EQ(page.value(request + "_sum", whole), 104);
  EXPECT_EQ(page.value(runtime + "_sum", run), 100);
  EXPECT_EQ(page.value(runtime + "_count", run), 2);
  EXPECT_EQ(page.families().at(request).samples.size(), 34u + 2);
  EXPECT_NE(text.find(":tensorflow:serving:request_latency_bucket{model_name=\"mlp\","
                      "API=\"predict\",entrypoint=\"REST\",le=\"10\"} 0\n"),
            std::string::npos);
}

TEST(MetricsText, TensorFlowWithoutItsRequestsHasOnlyTypes) {
  ModelStats stats;
  stats.record(RequestRecord{1, Outcome::Success, 1, 1, 1, 1, 1, 1});
  stats.record(RequestRecord{3, Outcome::Rejected, 1, 1, 1, 1, 1, 1});
  const ModelMetrics models[] = {{"mlp", 1, 0, stats.read()}};
  EXPECT_EQ(tensorflow(models),
            "# TYPE :tensorflow:serving:request_count counter\n"
            "# TYPE :tensorflow:serving:request_latency histogram\n"
            "# TYPE :tensorflow:serving:runtime_latency histogram\n");
}

TEST(MetricsText, TensorFlowCountsFailuresOfAModelWithoutSuccess) {
  ModelStats stats;
  stats.record(RequestRecord{0, Outcome::Other, 1, 1, 1, 1, 1, 1});
  const ModelMetrics models[] = {{"mlp", 1, 0, stats.read()}};
  const PrometheusPage page(tensorflow(models));
  EXPECT_EQ(page.error(), "");
  EXPECT_TRUE(page.families().at(":tensorflow:serving:request_latency").samples.empty());
  EXPECT_EQ(page.families().at(":tensorflow:serving:request_count").samples.size(), 1u);
}

TEST(MetricsText, BothPagesAreAppended) {
  ByteBuffer out;
  ASSERT_TRUE(out.append("before\n"));
  EXPECT_TRUE(write_tensorflow_metrics({}, out));
  EXPECT_TRUE(text_of(out).starts_with("before\n# TYPE "));
}

// The reader of this test itself: it must refuse wrong pages.
TEST(PrometheusPage, TurnsDownWhatIsWrong) {
  const char* wrong[] = {
      "a 1\n",                                      // no TYPE
      "# TYPE a counter\na 1",                      // no last newline
      "# TYPE a counter\n# TYPE a counter\n",       // twice
      "# TYPE a counter\na 1\na 1\n",               // one series twice
      "# TYPE a counter\n# TYPE b counter\na 1\n",  // outside its family
      "# TYPE a counter\na -1\n",                   // negative
      "# TYPE a counter\na{x=\"1} 1\n",             // open quote
      "# TYPE a counter\na{x=\"\\t\"} 1\n",         // unknown escape
      "# TYPE a counter\na{x=\"1\",x=\"2\"} 1\n",   // a label twice
      "# TYPE a counter\na 1 \n",                   // trailing blank
      "# TYPE a counter\na{} one\n",                // no number
      "# TYPE a counter\na{x=\"\xFF\"} 1\n",        // not UTF-8
      "# TYPE a counter\n# HELP a late\n",          // HELP after TYPE
      "# TYPE a untyped\n",                         // a type that we do not write
      "# TYPE a summary\na 1\n",                    // no quantile
      "# TYPE 1a counter\n",                        // not a name
      "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",  // no +Inf
      "# TYPE a histogram\na_bucket{le=\"2\"} 1\na_bucket{le=\"1\"} 1\n",
      "# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
      "# TYPE a histogram\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 1\n",
      "# TYPE a histogram\na_bucket{le=\"+Inf\"} 2\na_count 2\n",
      "# TYPE a histogram\na_bucket 2\n",
  };
  for (const char* text : wrong) EXPECT_NE(PrometheusPage(text).error(), "") << text;
  EXPECT_EQ(PrometheusPage("# HELP a b\n# TYPE a gauge\na{} -1\n").error(), "");
  EXPECT_EQ(PrometheusPage("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\n"
                           "a_sum 3.5\na_count 2\n")
                .error(),
            "");
  EXPECT_EQ(PrometheusPage("").error(), "");
}

}  // namespace
}  // namespace serval
