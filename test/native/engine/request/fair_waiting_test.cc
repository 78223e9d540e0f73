// The order of waiting requests of several API keys, and the number of keys that are remembered.
#include "engine/request/fair_waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>

namespace serval::test {
namespace {

// A key floods while each of 10,000 others has one request.
TEST(FairWaiting, ForgetsKeysThatUsedNoMoreThanTheirShare) {
  FairWaiting waiting;
  std::deque<Request> requests(20'000);
  for (size_t i = 0; i < requests.size(); ++i) {
    const bool is_flood = i % 2 == 0;
    requests[i].key = is_flood ? 0 : static_cast<uint32_t>(i);
    requests[i].key_weight = 100;
  }
  for (size_t i = 0; i < 64; i += 2) waiting.push(&requests[i], 0);
  size_t most = 0;
  for (size_t i = 64; i < requests.size(); ++i) {
    waiting.push(&requests[i], requests[i].key);
    waiting.pop();
    most = std::max(most, waiting.keys());
  }
  EXPECT_LE(most, 200u);
  while (!waiting.empty()) waiting.pop();
  EXPECT_LE(waiting.keys(), 64u);
}

// Every request is removed once, those of a key in their order, and while two keys wait neither
// gets more than two requests beyond its share.
TEST(FairWaiting, KeepsSharesAndOrderUnderRandomRemovals) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FairWaiting waiting;
    std::array<Request, 400> requests;
    std::map<uint32_t, std::deque<Request*>> expected;
    std::map<uint32_t, size_t> runs;
    size_t left = 0, next = 0;
    bool shared = false;
    const auto step = [&] {
      const uint32_t what = random() % 8;
      if (what < 4 && next < requests.size()) {
        Request& request = requests[next++];
        request.key = random() % 3;
        waiting.push(&request, request.key);
        expected[request.key].push_back(&request);
        ++left;
      } else if (what < 6 && left != 0) {
        Request* const front = waiting.front();
        Request* const got = waiting.pop();
        ASSERT_EQ(front, got);
        std::deque<Request*>& own = expected[got->key];
        ASSERT_FALSE(own.empty());
        ASSERT_EQ(got, own.front());
        own.pop_front();
        --left;
        ++runs[got->key];
      } else if (what == 6 && left != 0) {
        auto key = expected.begin();
        while (key->second.empty()) ++key;
        Request* const one = key->second[random() % key->second.size()];
        ASSERT_TRUE(waiting.remove(one));
        ASSERT_FALSE(waiting.remove(one));
        std::erase(key->second, one);
        --left;
      } else {
        const auto sift = [&](Request* request) { return (request - requests.data()) % 7 == 3; };
        waiting.remove_if(sift);
        left = 0;
        for (auto& [number, own] : expected) {
          std::erase_if(own, sift);
          left += own.size();
        }
      }
      ASSERT_EQ(waiting.size(), left);
      // Shares begin when both keys wait, and end when one does not.
      const bool both = !expected[0].empty() && !expected[1].empty();
      if (!both || !shared) runs.clear();
      shared = both;
      ASSERT_LE(runs[0], runs[1] + 2);
      ASSERT_LE(runs[1], runs[0] + 2);
    };
    while (next < requests.size() || left != 0) {
      step();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace serval::test
