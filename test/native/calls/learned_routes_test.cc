// Rules that a listener learned: which requests they match, which clients they admit, and when they
// end.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "calls/learned_routes.h"

namespace serval::test {
namespace {

class FakeRequest final : public HttpRequest {
 public:
  FakeRequest(std::string_view method, std::string_view path, std::string_view query,
              std::vector<HttpHeader> headers) {
    method_ = method;
    path_ = path;
    query_ = query;
    headers_ = std::move(headers);
  }
  ~FakeRequest() override = default;
  bool is_local() const override { return false; }
  void send(const HttpAnswer&) override {}
  void want_body() override {}
  void set_paused(bool) override {}
};

constexpr uint32_t kPart = 7;

// A rule of the first generations.
std::vector<uint8_t> rule(uint32_t kind, uint32_t number, std::vector<std::string> texts,
                          uint32_t part = kPart, uint32_t caller = 0) {
  const uint32_t words[] = {kind, number, 0, part, 0, caller};
  std::vector<uint8_t> out(sizeof words);
  std::memcpy(out.data(), words, sizeof words);
  for (const std::string& text : texts) {
    out.insert(out.end(), text.begin(), text.end());
    out.push_back(0);
  }
  return out;
}

constexpr auto kPredict = static_cast<uint32_t>(Protocol::V1Predict);

class LearnedRoutesTest : public ::testing::Test {
 protected:
  void learn(Protocol protocol, std::string key_header = "", std::string key = "") {
    ASSERT_TRUE(routes_.learn(
        now_, 77,
        rule(static_cast<uint32_t>(protocol), 1, {"POST", "/m", "h", key_header, key, ""})));
  }
  bool knows(std::vector<HttpHeader> headers, std::string_view method = "POST",
             std::string_view path = "/m", std::string_view query = "") {
    headers.push_back({"Host", "h"});
    const FakeRequest request(method, path, query, std::move(headers));
    const LearnedRoute* route = routes_.find(now_, request, caller_);
    if (route != nullptr) EXPECT_EQ(route->handle, 77u);
    return route != nullptr;
  }
  RouteGenerations now_;
  LearnedRoutes routes_;
  uint32_t caller_ = 0;  // of the latest request
};

TEST_F(LearnedRoutesTest, AreForOneMethodPathAndHost) {
  EXPECT_FALSE(knows({}));
  learn(Protocol::V1Predict);
  EXPECT_TRUE(knows({}));
  EXPECT_FALSE(knows({}, "GET"));
  EXPECT_FALSE(knows({}, "POST", "/n"));
  EXPECT_FALSE(knows({}, "POST", "/m", "x=1"));
  const FakeRequest other("POST", "/m", "", {{"Host", "other"}});
  EXPECT_EQ(routes_.find(now_, other, caller_), nullptr);
}

TEST_F(LearnedRoutesTest, KnowTheCallerOfEachKey) {
  for (const auto& [key, caller] : {std::pair<std::string, uint32_t>("one", 5), {"two", 0}}) {
    ASSERT_TRUE(routes_.learn(
        now_, 77, rule(kPredict, 1, {"POST", "/m", "h", "x-key", key, ""}, kPart, caller)));
  }
  EXPECT_TRUE(knows({{"x-key", "one"}}));
  EXPECT_EQ(caller_, 5u);
  EXPECT_TRUE(knows({{"x-key", "two"}}));
  EXPECT_EQ(caller_, 0u);
  EXPECT_FALSE(knows({{"x-key", "three"}}));
}

TEST_F(LearnedRoutesTest, HaveAnswersThatStayTheSame) {
  const std::string lines = "Vary: Origin\r\n";
  std::vector<uint8_t> bytes =
      rule(LearnedRoutes::kAnswer, 1, {"GET", "/live", "h", "", "", lines, "application/json"});
  for (const char one : std::string("{}")) bytes.push_back(static_cast<uint8_t>(one));
  ASSERT_TRUE(routes_.learn(now_, 200, bytes));
  const FakeRequest request("GET", "/live", "", {{"Host", "h"}});
  const LearnedRoute* route = routes_.find(now_, request, caller_);
  ASSERT_NE(route, nullptr);
  ASSERT_NE(route->answer, nullptr);
  EXPECT_EQ(route->answer->status, 200);
  EXPECT_EQ(route->answer->content_type, "application/json");
  EXPECT_EQ(route->answer->body, (std::vector<uint8_t>{'{', '}'}));
  ASSERT_NE(route->added, nullptr);
  EXPECT_EQ(*route->added, lines);
  // Requests from another origin are left to JavaScript.
  const FakeRequest page("GET", "/live", "", {{"Host", "h"}, {"Origin", "http://a"}});
  EXPECT_EQ(routes_.find(now_, page, caller_), nullptr);
  now_.advance(kPart);
  EXPECT_EQ(routes_.find(now_, request, caller_), nullptr);
}

TEST_F(LearnedRoutesTest, LetInKeysThatWereLetInBefore) {
  learn(Protocol::V1Predict, "authorization", "Bearer a");
  EXPECT_TRUE(knows({{"Authorization", "Bearer a"}}));
  EXPECT_FALSE(knows({}));
  EXPECT_FALSE(knows({{"Authorization", "Bearer b"}}));
  EXPECT_FALSE(knows({{"X-Key", "Bearer a"}}));
  EXPECT_FALSE(knows({{"Authorization", "Bearer a"}, {"authorization", "Bearer b"}}));
  learn(Protocol::V1Predict, "x-key", "b");
  EXPECT_TRUE(knows({{"X-Key", "b"}}));
  EXPECT_TRUE(knows({{"Authorization", "Bearer a"}})) << "both headers count";
  EXPECT_FALSE(knows({{"X-Key", "Bearer a"}})) << "a key is its header's";
}

TEST_F(LearnedRoutesTest, EndWithTheGenerationOfTheWholeAndOfTheirPart) {
  for (const uint32_t part : {0u, kPart}) {
    LearnedRoutes routes;
    RouteGenerations now;
    const auto known = rule(kPredict, 1, {"POST", "/m", "h", "", "", ""});
    ASSERT_TRUE(routes.learn(now, 77, known));
    const FakeRequest request("POST", "/m", "", {{"Host", "h"}});
    now.advance(kPart + 1);
    EXPECT_NE(routes.find(now, request, caller_), nullptr) << "another part";
    now.advance(part);
    EXPECT_EQ(routes.find(now, request, caller_), nullptr) << part;
    EXPECT_FALSE(routes.learn(now, 77, known)) << "a stale rule";
    EXPECT_EQ(routes.find(now, request, caller_), nullptr) << part;
  }
}

TEST_F(LearnedRoutesTest, EndWithTheKeysThatWereAccepted) {
  learn(Protocol::V1Predict, "authorization", "Bearer a");
  EXPECT_TRUE(knows({{"Authorization", "Bearer a"}}));
  now_.advance(0);
  EXPECT_FALSE(knows({{"Authorization", "Bearer a"}}));
}

TEST_F(LearnedRoutesTest, ThatCannotBeReadAreNone) {
  for (std::vector<uint8_t> broken :
       {std::vector<uint8_t>(5), rule(kPredict, 1, {"POST", "/m", "h", "", ""}),
        rule(99, 1, {"POST", "/m", "h", "", "", ""})}) {
    EXPECT_FALSE(routes_.learn(now_, 77, broken));
  }
}

}  // namespace
}  // namespace serval::test
