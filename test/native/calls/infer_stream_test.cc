// The replies of one stream: sent in the order of its requests, whatever their order of completion;
// and when the stream ends.
#include "calls/infer_stream.h"

#include <gtest/gtest.h>

#include "calls/support/fake_call.h"

namespace serval::test {
namespace {

using Texts = std::vector<std::string>;

class InferStreamTest : public ::testing::Test {
 protected:
  bool answer(uint64_t number, std::string_view text) {
    ByteBuffer reply;
    EXPECT_TRUE(reply.append(text));
    return stream_.answer(thread_, call_, number, reply);
  }
  void begin(size_t count, size_t bytes = 1) {
    for (size_t i = 0; i < count; ++i) stream_.begin(bytes);
  }
  bool reads() {
    stream_.adjust_reading(call_);
    return !call_.paused;
  }

  FakeThread thread_;
  FakeCall call_;
  InferStream stream_;
};

TEST_F(InferStreamTest, RepliesLeaveInTheOrderOfTheRequests) {
  for (uint64_t number = 0; number < 4; ++number) EXPECT_EQ(stream_.begin(1), number);
  EXPECT_TRUE(answer(2, "c"));
  EXPECT_TRUE(answer(1, "b"));
  EXPECT_TRUE(call_.sent.empty());
  EXPECT_TRUE(answer(0, "a"));
  EXPECT_EQ(call_.sent, (Texts{"a", "b", "c"}));
  EXPECT_TRUE(answer(3, "d"));
  EXPECT_EQ(stream_.begin(1), 4u) << "numbers go on";
  EXPECT_TRUE(answer(4, "e"));
  EXPECT_EQ(call_.sent, (Texts{"a", "b", "c", "d", "e"}));
}

TEST_F(InferStreamTest, WhatIsNotWaitedForIsNoPlace) {
  begin(2);
  EXPECT_TRUE(answer(0, "a"));
  EXPECT_EQ(stream_.find(0), nullptr);
  EXPECT_NE(stream_.find(1), nullptr);
  EXPECT_EQ(stream_.find(2), nullptr);
  EXPECT_EQ(stream_.find(UINT64_MAX), nullptr);
  EXPECT_TRUE(answer(0, "again"));
  EXPECT_TRUE(answer(7, "never"));
  EXPECT_EQ(call_.sent, Texts{"a"});
}

TEST_F(InferStreamTest, ARefusedReplyEndsIt) {
  begin(3);
  call_.sends_max = 1;
  EXPECT_TRUE(answer(1, "b"));
  EXPECT_FALSE(answer(0, "a")) << "the one behind it is refused";
  EXPECT_EQ(call_.sent, Texts{"a"});
}

TEST_F(InferStreamTest, TheOldestThatWaitsForWordsIsFirst) {
  begin(3);
  EXPECT_EQ(stream_.explained(), nullptr);
  stream_.find(2)->explaining = true;
  stream_.find(1)->explaining = true;
  EXPECT_EQ(stream_.explained(), stream_.find(1));
  EXPECT_TRUE(answer(0, "a"));
  stream_.find(1)->explaining = false;
  stream_.find(1)->answered = true;
  ASSERT_TRUE(stream_.find(1)->reply.append("words"));
  EXPECT_EQ(stream_.explained(), stream_.find(2));
  EXPECT_TRUE(stream_.send_answered(call_));
  EXPECT_EQ(call_.sent, (Texts{"a", "words"}));
}

TEST_F(InferStreamTest, EndsWhenAllIsAnswered) {
  begin(1);
  EXPECT_FALSE(stream_.finish_when_empty(call_));
  EXPECT_TRUE(answer(0, "a"));
  EXPECT_FALSE(stream_.finish_when_empty(call_)) << "more may come";
  begin(1);
  stream_.half_closed();
  EXPECT_FALSE(stream_.finish_when_empty(call_));
  EXPECT_TRUE(answer(1, "b"));
  EXPECT_TRUE(stream_.finish_when_empty(call_));
  EXPECT_EQ(call_.finishes, 1);
  EXPECT_EQ(call_.status, 0);
}

TEST_F(InferStreamTest, EndsUnavailableInADrain) {
  begin(1);
  stream_.draining();
  EXPECT_FALSE(stream_.takes_requests());
  EXPECT_FALSE(stream_.finish_when_empty(call_));
  stream_.half_closed();
  EXPECT_TRUE(answer(0, "a"));
  EXPECT_TRUE(stream_.finish_when_empty(call_));
  EXPECT_EQ(call_.status, 14);
}

// The client had already finished: nothing is missing.
TEST_F(InferStreamTest, EndsWellInADrainThatCameLater) {
  begin(1);
  stream_.half_closed();
  stream_.draining();
  EXPECT_TRUE(stream_.takes_requests());
  EXPECT_TRUE(answer(0, "a"));
  EXPECT_TRUE(stream_.finish_when_empty(call_));
  EXPECT_EQ(call_.status, 0);
}

TEST_F(InferStreamTest, StopsReadingWhileMuchWaits) {
  begin(63);
  EXPECT_TRUE(reads());
  begin(1);
  EXPECT_FALSE(reads());
  EXPECT_TRUE(answer(63, "last"));
  EXPECT_FALSE(reads()) << "an answer that waits for others counts";
  EXPECT_TRUE(answer(0, "first"));
  EXPECT_TRUE(reads());
}

TEST_F(InferStreamTest, StopsReadingWhileLongRequestsWait) {
  begin(1, 64u << 20);
  EXPECT_FALSE(reads());
  EXPECT_TRUE(answer(0, "a"));
  EXPECT_TRUE(reads());
  begin(1, (64u << 20) - 1);
  EXPECT_TRUE(reads());
}

TEST_F(InferStreamTest, StopsReadingWhileRepliesAreNotTaken) {
  call_.unsent = 64;
  EXPECT_FALSE(reads());
  call_.unsent = 63;
  EXPECT_TRUE(reads());
  call_.bytes_unsent = 8u << 20;
  EXPECT_FALSE(reads());
  call_.bytes_unsent = 0;
  EXPECT_TRUE(reads());
}

}  // namespace
}  // namespace serval::test
