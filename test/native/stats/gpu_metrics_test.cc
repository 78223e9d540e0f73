// Metrics of GPUs: a family for each value that a device reports, a line for each device that
// reports it.
#include "stats/gpu_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace serval {
namespace {

std::string page_of(const std::vector<GpuReading>& gpus) {
  ByteBuffer out;
  MetricsWriter writer(out);
  write_gpu_metrics(gpus, writer);
  EXPECT_TRUE(writer.ok());
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

TEST(GpuMetrics, NoDeviceIsNoLine) { EXPECT_EQ(page_of({}), ""); }

TEST(GpuMetrics, WhatADeviceDoesNotTellIsLeftOut) {
  GpuReading silent, talks;
  silent.uuid = "GPU-\"a\"";
  talks.uuid = "GPU-b";
  talks.utilization = 0.5;
  talks.memory_total_bytes = 85899345920u;
  talks.memory_reserved_bytes = 527433728;
  talks.energy_joules = 2.25;
  EXPECT_EQ(page_of({silent}), "");
  const std::string page = page_of({silent, talks});
  EXPECT_NE(page.find("# TYPE nv_gpu_utilization gauge\n"
                      "nv_gpu_utilization{gpu_uuid=\"GPU-b\"} 0.5\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("nv_gpu_memory_total_bytes{gpu_uuid=\"GPU-b\"} 85899345920\n"),
            std::string::npos);
  EXPECT_NE(page.find("nv_energy_consumption{gpu_uuid=\"GPU-b\"} 2.25\n"), std::string::npos);
  EXPECT_NE(page.find("# TYPE serval_gpu_memory_reserved_bytes gauge\n"
                      "serval_gpu_memory_reserved_bytes{gpu_uuid=\"GPU-b\"} 527433728\n"),
            std::string::npos);
  EXPECT_EQ(page.find("memory_used"), std::string::npos);
  EXPECT_EQ(page.find("GPU-\\\"a"), std::string::npos);
}

TEST(GpuMetrics, AUuidIsEscaped) {
  GpuReading gpu;
  gpu.uuid = "a\"b";
  gpu.power_watts = 1;
  EXPECT_NE(page_of({gpu}).find("{gpu_uuid=\"a\\\"b\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace serval
