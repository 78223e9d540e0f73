// ByteBuffer and Arena: alignment, growth, reuse, and corner cases (empty buffers, empty appends).
#include <gtest/gtest.h>

#include <string>

#include "base/buffer.h"

// The sanitizers end the process at an impossible allocation; this makes it return a null pointer.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace serval {
namespace {

std::string text_of(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

bool aligned(const void* place, size_t step = kTensorAlignment) {
  return reinterpret_cast<uintptr_t>(place) % step == 0;
}

TEST(ByteBuffer, StartsEmptyWithoutMemory) {
  ByteBuffer buffer;
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_TRUE(buffer.bytes().empty());
  buffer.clear(3);  // an offset without memory
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_TRUE(buffer.bytes().empty());
}

// nullptr means out of memory: appending nothing to an empty buffer must not look like that.
TEST(ByteBuffer, AppendingNothingToNothingWorks) {
  ByteBuffer one, two, three, four;
  EXPECT_TRUE(one.append(""));
  EXPECT_EQ(one.size(), 0u);
  EXPECT_NE(two.grow(0), nullptr);
  EXPECT_NE(three.room(0), nullptr);
  EXPECT_TRUE(four.reserve(0));
  EXPECT_NE(four.data(), nullptr);
  EXPECT_GT(four.base_bytes(), 0u);
}

TEST(ByteBuffer, GrowsAndKeepsContent) {
  ByteBuffer buffer;
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string piece = std::to_string(i) + ",";
    ASSERT_TRUE(buffer.append(piece));
    expected += piece;
  }
  EXPECT_EQ(text_of(buffer), expected);
  EXPECT_TRUE(aligned(buffer.base()));
  EXPECT_GE(buffer.capacity(), buffer.size());
}

TEST(ByteBuffer, PaddingIsReadableAtEverySize) {
  for (size_t size : {0, 1, 63, 64, 4095, 4096, 4097, 100000}) {
    ByteBuffer buffer;
    ASSERT_NE(buffer.grow(size), nullptr);
    std::memset(buffer.data(), 'x', size);
    // The memory is written as well, so that the address sanitizer detects a short allocation.
    std::memset(buffer.data() + size, 0, kBodyPadding);
  }
}

TEST(ByteBuffer, ClearPlacesTheAlignedByte) {
  ByteBuffer buffer;
  for (size_t at : {0, 1, 17, 63, 64, 65, 1000, 4096}) {
    buffer.clear(at);
    EXPECT_EQ(buffer.size(), 0u);
    ASSERT_NE(buffer.grow(at + 100), nullptr);
    EXPECT_TRUE(aligned(buffer.data() + at)) << at;
    std::memset(buffer.data(), 'a', buffer.size());
    ASSERT_TRUE(buffer.reserve(20000));
    EXPECT_TRUE(aligned(buffer.data() + at)) << "after growth " << at;
    EXPECT_EQ(text_of(buffer), std::string(at + 100, 'a'));
    EXPECT_GE(buffer.capacity(), 20000u);
  }
}

TEST(ByteBuffer, ReserveKeepsPointersAndRoomTakesNothing) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.reserve(10000));
  const uint8_t* before = buffer.data();
  ASSERT_NE(buffer.grow(10000), nullptr);
  EXPECT_EQ(buffer.data(), before);
  buffer.truncate(5);
  EXPECT_EQ(buffer.size(), 5u);
  uint8_t* room = buffer.room(100);
  ASSERT_NE(room, nullptr);
  EXPECT_EQ(buffer.size(), 5u);
  buffer.set_end(room + 7);
  EXPECT_EQ(buffer.size(), 12u);
}

TEST(ByteBuffer, ImpossibleSizesAreRefused) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("kept"));
  for (size_t size :
       {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX - 128, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
    EXPECT_FALSE(buffer.reserve(size)) << size;
    EXPECT_EQ(buffer.grow(size), nullptr) << size;
    EXPECT_EQ(buffer.room(size), nullptr) << size;
  }
  EXPECT_EQ(text_of(buffer), "kept");
}

TEST(ByteBuffer, MovesAndShrinks) {
  ByteBuffer first;
  ASSERT_TRUE(first.append("content"));
  ByteBuffer second(std::move(first));
  EXPECT_EQ(text_of(second), "content");
  ByteBuffer third;
  third = std::move(second);
  EXPECT_EQ(text_of(third), "content");
  third.shrink(1 << 20);  // it holds less, so nothing happens
  EXPECT_EQ(text_of(third), "content");
  third.shrink(10);
  EXPECT_EQ(third.base_bytes(), 0u);
  EXPECT_EQ(third.data(), nullptr);
  ASSERT_TRUE(third.append("again"));
  EXPECT_EQ(text_of(third), "again");
}

TEST(Arena, AllocationsAreAlignedAndApart) {
  Arena arena;
  std::vector<std::pair<uint8_t*, size_t>> taken;
  for (int round = 0; round < 3; ++round) {
    for (size_t size : {0, 1, 64, 65, 1000, 65536, 65537, 200000, 3}) {
      auto* place = static_cast<uint8_t*>(arena.allocate(size));
      ASSERT_NE(place, nullptr);
      EXPECT_TRUE(aligned(place));
      std::memset(place, static_cast<int>(taken.size()), size);
      taken.emplace_back(place, size);
    }
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    for (size_t k = 0; k < taken[i].second; ++k) {
      ASSERT_EQ(taken[i].first[k], static_cast<uint8_t>(i)) << "allocation " << i << " byte " << k;
    }
  }
}

TEST(Arena, ImpossibleSizesAreRefused) {
  Arena arena;
  EXPECT_EQ(arena.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(arena.allocate(SIZE_MAX / 2 + 1), nullptr);
  EXPECT_EQ(arena.allocate_array<double>(SIZE_MAX / 4), nullptr);
  EXPECT_EQ(arena.allocate_array<double>(SIZE_MAX / 8 + 2), nullptr);
  EXPECT_NE(arena.allocate(1), nullptr);
}

TEST(Arena, ShrinkGivesTheTailBack) {
  Arena arena;
  auto* first = static_cast<uint8_t*>(arena.allocate(1000));
  arena.shrink_last(first, 100);
  auto* second = static_cast<uint8_t*>(arena.allocate(10));
  EXPECT_EQ(second, first + 128);
  arena.shrink_last(second, 0);
  EXPECT_NE(arena.allocate(10), static_cast<void*>(second));  // the two addresses differ
}

TEST(Arena, RegrowInPlaceAndMoved) {
  Arena arena;
  auto* place = static_cast<uint8_t*>(arena.allocate(100));
  std::memset(place, 7, 100);
  EXPECT_EQ(arena.regrow_last(place, 100, 5000), place);
  auto* other = static_cast<uint8_t*>(arena.allocate(1));
  EXPECT_GE(other, place + 5000);
  auto* last = static_cast<uint8_t*>(arena.allocate(100));
  std::memset(last, 9, 100);
  auto* moved = static_cast<uint8_t*>(arena.regrow_last(last, 100, 1 << 20));
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, last);
  EXPECT_TRUE(aligned(moved));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(moved[i], 9);
  std::memset(moved, 1, 1 << 20);
  EXPECT_EQ(place[99], 7);
  EXPECT_EQ(last[99], 9);  // the old memory stays readable
}

TEST(Arena, ResetReusesOneBlock) {
  Arena arena;
  for (int i = 0; i < 10; ++i) ASSERT_NE(arena.allocate(60000), nullptr);
  arena.reset();
  auto* first = static_cast<uint8_t*>(arena.allocate(600000));
  ASSERT_NE(first, nullptr);
  std::memset(first, 1, 600000);
  arena.reset();
  EXPECT_EQ(arena.allocate(600000), static_cast<void*>(first));
  Arena empty;
  empty.reset();
  EXPECT_NE(empty.allocate(0), nullptr);
}

TEST(Arena, ResetDoesNotKeepHugeBlocks) {
  Arena arena;
  ASSERT_NE(arena.allocate(size_t{64} << 20), nullptr);
  arena.reset();
  auto* small = static_cast<uint8_t*>(arena.allocate(1000));
  ASSERT_NE(small, nullptr);
  std::memset(small, 1, 1000);
}

}  // namespace
}  // namespace serval
