// The server's own counters: the lines on the metrics page, and the names that JavaScript uses.
#include "stats/server_stats.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/buffer.h"

namespace serval {
namespace {

std::string page_of(const ServerStats& stats) {
  ByteBuffer out;
  MetricsWriter writer(out);
  stats.write(writer);
  EXPECT_TRUE(writer.ok());
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

bool has_line(const ServerStats& stats, const std::string& line) {
  return ("\n" + page_of(stats)).find("\n" + line + "\n") != std::string::npos;
}

TEST(ServerStats, EveryReasonIsThereAtZero) {
  const ServerStats stats;
  for (const char* reason : {"queue_full", "in_flight", "memory", "body_too_large", "not_found",
                             "not_ready", "malformed", "access", "other"}) {
    EXPECT_TRUE(
        has_line(stats, std::string("serval_requests_refused_total{reason=\"") + reason + "\"} 0"));
  }
  EXPECT_TRUE(has_line(stats, "serval_connections{listener=\"grpc\"} 0"));
  EXPECT_TRUE(has_line(stats, "serval_repository_problems{kind=\"unserved\"} 0"));
  EXPECT_TRUE(has_line(stats, "serval_repository_looks_total 0"));
}

TEST(ServerStats, CodesHaveReasons) {
  const std::pair<ErrorCode, const char*> cases[] = {{ErrorCode::QueueFull, "in_flight"},
                                                     {ErrorCode::MemoryFull, "memory"},
                                                     {ErrorCode::BodyTooLarge, "body_too_large"},
                                                     {ErrorCode::ModelNotFound, "not_found"},
                                                     {ErrorCode::SignatureNotFound, "not_found"},
                                                     {ErrorCode::ModelNotReady, "not_ready"},
                                                     {ErrorCode::MalformedBody, "malformed"},
                                                     {ErrorCode::InvalidArgument, "malformed"},
                                                     {ErrorCode::Internal, "other"}};
  for (const auto& [code, reason] : cases) {
    ServerStats stats;
    stats.refused(code);
    EXPECT_TRUE(
        has_line(stats, std::string("serval_requests_refused_total{reason=\"") + reason + "\"} 1"));
  }
}

TEST(ServerStats, CertificatesAreThereOnceTheyAreServed) {
  ServerStats stats;
  EXPECT_EQ(page_of(stats).find("expiry"), std::string::npos);
  stats.set(ServerValue::CertificateGrpc, 2'000'000'000);
  EXPECT_TRUE(
      has_line(stats, "serval_tls_certificate_expiry_seconds{transport=\"grpc\"} 2000000000"));
  EXPECT_EQ(page_of(stats).find("transport=\"http\""), std::string::npos);
  stats.set(ServerValue::CertificateAdmin, 2'000'000'001);
  EXPECT_TRUE(
      has_line(stats, "serval_tls_certificate_expiry_seconds{transport=\"admin\"} 2000000001"));
}

TEST(ServerStats, NamesLeadToTheirLines) {
  EXPECT_EQ(ServerStats::named("connections_http"), ServerValue::ConnectionsHttp);
  EXPECT_EQ(ServerStats::named("refused_access"), ServerValue::RefusedAccess);
  EXPECT_EQ(ServerStats::named("problems_note"), ServerValue::ProblemsNote);
  EXPECT_EQ(ServerStats::named("looks"), ServerValue::Looks);
  EXPECT_EQ(ServerStats::named("connections_"), std::nullopt);
  EXPECT_EQ(ServerStats::named(""), std::nullopt);
}

TEST(ServerStats, ThreadsLoseNothingAndNothingIsNegative) {
  ServerStats stats;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) stats.add(ServerValue::ConnectionsGrpc, 1);
      for (int n = 0; n < 999; ++n) stats.add(ServerValue::ConnectionsGrpc, -1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(has_line(stats, "serval_connections{listener=\"grpc\"} 4"));
  stats.add(ServerValue::ConnectionsGrpc, -5);
  EXPECT_TRUE(has_line(stats, "serval_connections{listener=\"grpc\"} 0"));
}

}  // namespace
}  // namespace serval
