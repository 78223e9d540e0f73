// The table of methods: its entries, and the wording of each method's errors.
#include "calls/methods.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

using Methods = std::vector<CallMethod>;

// A method of each kind with two wordings. ErrorCode i has the status 100 + i, except the last one.
Result<MethodTable> make(Methods methods = {{"/a.B/C", false, Protocol::V2Grpc, 0},
                                            {"/a.B/D", true, std::nullopt, 1}}) {
  std::vector<uint8_t> statuses;
  for (int i = 0; i < static_cast<int>(ErrorCode::MAX); ++i) {
    statuses.push_back(static_cast<uint8_t>(100 + i));
  }
  return MethodTable::make(std::move(methods), {{"full: ", SIZE_MAX, ""}, {"", 10, "..."}},
                           statuses);
}

TEST(MethodTable, FindsWholePathsOnly) {
  const Result<MethodTable> made = make();
  ASSERT_TRUE(made.ok());
  const MethodTable& table = made.value();
  const std::optional<MethodKind> found = table.find("/a.B/D");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->method, 1u);
  EXPECT_TRUE(found->client_streams && found->server_streams);
  EXPECT_EQ(found->path, "/a.B/D");
  EXPECT_EQ(found->path.data(), table.at(1).path.data()) << "it outlives what was looked for";
  EXPECT_FALSE(table.find("/a.B/C")->client_streams);
  EXPECT_EQ(table.at(0).protocol, Protocol::V2Grpc);
  for (const std::string_view path : {"", "/", "/a.B/", "/a.B/CC", "/a.b/c", "a.B/C", "/a.B/C/"}) {
    EXPECT_FALSE(table.find(path).has_value()) << path;
  }
}

TEST(MethodTable, RefusesWhatIsThereTwiceOrHasNoWording) {
  const Result<MethodTable> twice = make({{"/a", false, {}, 0}, {"/b"}, {"/a", true, {}, 1}});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(twice.error().message, "gRPC method /a is registered twice");
  const Result<MethodTable> unworded = make({{"/a", false, {}, 2}});
  ASSERT_FALSE(unworded.ok());
  EXPECT_EQ(unworded.error().message, "gRPC method /a has no wording");
  EXPECT_TRUE(make({}).ok());
}

TEST(MethodTable, HasAStatusForEachError) {
  const Result<MethodTable> made = make();
  EXPECT_EQ(made.value().status_of(ErrorCode::Ok), 100);
  EXPECT_EQ(made.value().status_of(ErrorCode::QueueFull), 110);
  EXPECT_EQ(made.value().status_of(ErrorCode::MAX), 13) << "one that is not there is our bug";
}

TEST(MethodTable, WordsErrorsAsTheMethodsProtocol) {
  const Result<MethodTable> made = make();
  const MethodTable& table = made.value();
  EXPECT_EQ(table.worded(0, ErrorCode::QueueFull, "text"), "full: text");
  EXPECT_EQ(table.worded(0, ErrorCode::Internal, "text"), "text");
  EXPECT_EQ(table.worded(1, ErrorCode::QueueFull, "text"), "text");
  EXPECT_EQ(table.worded(0, ErrorCode::Internal, std::string(10'000, 'x')).size(), 10'000u);
}

// A long text is cut between characters.
TEST(MethodTable, CutsLongTexts) {
  const Result<MethodTable> made = make();
  const auto worded = [&](std::string_view text) {
    return made.value().worded(1, ErrorCode::Internal, text);
  };
  EXPECT_EQ(worded("0123456789"), "0123456789");
  EXPECT_EQ(worded("0123456789a"), "0123456789...");
  EXPECT_EQ(worded("012345678\u00e4"), "012345678...");
  EXPECT_EQ(worded("01234567\u00e4x"), "01234567\u00e4...");
  EXPECT_EQ(worded("0123456\U0001f600"), "0123456...");
  EXPECT_EQ(worded(std::string(20, '\x80')), "...") << "no text at all";
  EXPECT_EQ(worded(""), "");
}

}  // namespace
}  // namespace serval
