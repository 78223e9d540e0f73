// HEADERS on streams that a peer has ended, and on stream numbers that it skipped.
#include "transport/http2/stream_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>

namespace serval {
namespace {

using Verdict = StreamHistory::Verdict;

TEST(StreamHistory, LetsAStreamGoItsWay) {
  StreamHistory history;
  EXPECT_EQ(history.headers(1, false), Verdict::Fine);
  EXPECT_EQ(history.headers(3, true), Verdict::Fine);
  EXPECT_EQ(history.headers(1, true), Verdict::Fine);  // trailers
}

TEST(StreamHistory, KnowsWhatAPeerHasEnded) {
  StreamHistory history;
  EXPECT_EQ(history.headers(1, true), Verdict::Fine);
  EXPECT_EQ(history.headers(3, false), Verdict::Fine);
  history.ended(3);
  EXPECT_EQ(history.headers(5, false), Verdict::Fine);
  EXPECT_EQ(history.headers(1, false), Verdict::Ended);
  EXPECT_EQ(history.headers(3, true), Verdict::Ended);
  EXPECT_EQ(history.headers(5, true), Verdict::Fine);
  EXPECT_EQ(history.headers(5, true), Verdict::Ended);
}

TEST(StreamHistory, KnowsWhichNumbersWerePassedOver) {
  StreamHistory history;
  EXPECT_EQ(history.headers(5, false), Verdict::Fine);
  EXPECT_EQ(history.headers(3, false), Verdict::Skipped);
  history.ended(3);
  EXPECT_EQ(history.headers(3, false), Verdict::Skipped);
  EXPECT_EQ(history.headers(1, true), Verdict::Skipped);
}

TEST(StreamHistory, LeavesToOthersWhatIsNoClientsStream) {
  StreamHistory history;
  EXPECT_EQ(history.headers(9, false), Verdict::Fine);
  for (const int32_t stream : {0, 2, 8, 10}) {
    EXPECT_EQ(history.headers(stream, true), Verdict::Fine) << stream;
    EXPECT_EQ(history.headers(stream, true), Verdict::Fine) << stream;
  }
  history.ended(11);  // idle
  EXPECT_EQ(history.headers(11, false), Verdict::Fine);
}

TEST(StreamHistory, ForgetsWhatIsOld) {
  StreamHistory history;
  history.headers(1, true);
  history.headers(1 + 2 * (StreamHistory::kRemembered - 1), false);
  EXPECT_EQ(history.headers(1, false), Verdict::Ended);
  history.headers(1 + 2 * StreamHistory::kRemembered, false);
  EXPECT_EQ(history.headers(1, false), Verdict::Fine);
  EXPECT_EQ(history.headers(3, false), Verdict::Skipped);
  history.headers(INT32_MAX, false);
  EXPECT_EQ(history.headers(3, false), Verdict::Fine);
  EXPECT_EQ(history.headers(INT32_MAX - 2, false), Verdict::Skipped);
}

TEST(StreamHistory, TakesTheLargestNumberFirst) {
  StreamHistory history;
  EXPECT_EQ(history.headers(INT32_MAX, true), Verdict::Fine);
  EXPECT_EQ(history.headers(INT32_MAX, false), Verdict::Ended);
  EXPECT_EQ(history.headers(INT32_MAX - 2, false), Verdict::Skipped);
  EXPECT_EQ(history.headers(1, false), Verdict::Fine);  // too old to know
}

// Compares with a map of all streams, for those that are not too old.
TEST(StreamHistory, IsWhatAMapSays) {
  std::mt19937 random(5);
  StreamHistory history;
  std::map<int32_t, bool> ended;  // streams that were opened
  int32_t last = -1;
  for (int step = 0; step < 20'000; ++step) {
    const int32_t stream = std::max<int32_t>(last - 140 + static_cast<int32_t>(random() % 150), 1);
    const auto known = ended.find(stream);
    const bool is_new = stream % 2 == 1 && stream > last;
    const bool judged =
        stream % 2 == 1 && !is_new && (last - stream) / 2 < StreamHistory::kRemembered;
    if (random() % 2 == 0) {
      history.ended(stream);
      if (judged && known != ended.end()) known->second = true;
      continue;
    }
    const bool ends = random() % 3 == 0;
    Verdict wanted = Verdict::Fine;
    if (judged && known == ended.end()) wanted = Verdict::Skipped;
    else if (judged && known->second) wanted = Verdict::Ended;
    ASSERT_EQ(history.headers(stream, ends), wanted) << step;
    if (is_new || (judged && wanted == Verdict::Fine)) ended[stream] |= ends;
    if (is_new) last = stream;
  }
  EXPECT_GT(last, 1'000);
}

}  // namespace
}  // namespace serval
