// The pool of pinned memory: pieces, neighbours, and a full pool. The CUDA runtime is a fake one
// that counts calls.
#include "gpu/pinned_pool.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gpu/fake_cuda.h"

namespace serval::gpu {
namespace {

class Pinned : public testing::Test {
 protected:
  void SetUp() override {
    FakeCuda::get();
    const auto opened = open_cuda();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    cuda_ = opened.value();
    pool_.set_limit(4096);
  }
  const CudaCalls* cuda_ = nullptr;
  PinnedPool pool_;
};

TEST_F(Pinned, OneAllocationForAllPieces) {
  const uint64_t before = FakeCuda::get().calls("cudaHostAlloc");
  EXPECT_EQ(pool_.read().total_bytes, 0u);
  uint8_t* a = pool_.take(*cuda_, 1);
  uint8_t* b = pool_.take(*cuda_, 257);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b - a, 256);
  std::memset(b, 7, 257);
  EXPECT_EQ(pool_.read().total_bytes, 4096u);
  EXPECT_EQ(pool_.read().used_bytes, 256u + 512u);
  EXPECT_EQ(FakeCuda::get().calls("cudaHostAlloc") - before, 1u);
  pool_.give(a);
  pool_.give(b);
  EXPECT_EQ(pool_.read().used_bytes, 0u);
}

TEST_F(Pinned, APageShowsWhatReadWouldAnswer) {
  PinnedPage page;
  const auto shows = [&] {
    const PinnedReading read = pool_.read();
    EXPECT_EQ(page.total_bytes, read.total_bytes);
    EXPECT_EQ(page.used_bytes, read.used_bytes);
    EXPECT_EQ(page.fallbacks, read.fallbacks);
    return page.used_bytes.load();
  };
  uint8_t* a = pool_.take(*cuda_, 1);
  pool_.show_on(&page);
  EXPECT_EQ(shows(), 256u);
  uint8_t* b = pool_.take(*cuda_, 512);
  EXPECT_EQ(shows(), 768u);
  EXPECT_EQ(pool_.take(*cuda_, 1 << 20), nullptr);
  EXPECT_EQ(shows(), 768u);
  EXPECT_EQ(page.fallbacks, 1u);
  pool_.give(a);
  EXPECT_EQ(shows(), 512u);
  pool_.give(b);
  EXPECT_EQ(shows(), 0u);
}

// Only a sticky error is a lasting fault.
TEST_F(Pinned, AFaultLastsUntilTheProcessEnds) {
  const FakeCuda& fake = FakeCuda::get();
  EXPECT_EQ(lasting_fault(*cuda_, 0), "");
  EXPECT_EQ(lasting_fault(*cuda_, 9), "") << "no such device: no other run fails";
  for (const int passing : {1, 2, 46, 100, 101, 699, 800}) {
    fake.stick(passing);
    EXPECT_EQ(lasting_fault(*cuda_, 0), "") << passing;
  }
  for (const int lasting : {214, 220, 719, 799, 999}) {
    fake.stick(lasting);
    EXPECT_EQ(lasting_fault(*cuda_, 0), "GPU 0: fake error (" + std::to_string(lasting) + ")");
  }
  fake.stick(700);
  EXPECT_EQ(lasting_fault(*cuda_, 1), "GPU 1: an illegal memory access was encountered (700)");
  EXPECT_EQ(lasting_fault(*cuda_, 1), "GPU 1: an illegal memory access was encountered (700)");
  fake.stick(0);
  EXPECT_EQ(lasting_fault(*cuda_, 1), "");
}

TEST_F(Pinned, NeighboursAreJoinedInAnyOrder) {
  for (const std::vector<size_t>& order :
       std::vector<std::vector<size_t>>{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}}) {
    std::vector<uint8_t*> pieces;
    for (size_t i = 0; i < 4; ++i) pieces.push_back(pool_.take(*cuda_, 1024));
    EXPECT_EQ(pool_.take(*cuda_, 1), nullptr);
    for (size_t i : order) pool_.give(pieces[i]);
    uint8_t* whole = pool_.take(*cuda_, 4096);
    EXPECT_NE(whole, nullptr);
    pool_.give(whole);
  }
  EXPECT_EQ(pool_.read().fallbacks, 4u);
}

TEST_F(Pinned, NothingIsPinnedWhereTheLimitIsNothing) {
  const uint64_t before = FakeCuda::get().calls("cudaHostAlloc");
  PinnedPool none;
  none.set_limit(0);
  EXPECT_EQ(none.take(*cuda_, 16), nullptr);
  EXPECT_EQ(none.read().total_bytes, 0u);
  EXPECT_EQ(none.read().fallbacks, 1u);
  EXPECT_EQ(FakeCuda::get().calls("cudaHostAlloc"), before);
}

TEST_F(Pinned, MoreThanThereIsIsRefused) {
  EXPECT_EQ(pool_.take(*cuda_, 4097), nullptr);
  EXPECT_EQ(pool_.take(*cuda_, SIZE_MAX), nullptr);
  EXPECT_NE(pool_.take(*cuda_, 4096), nullptr);
}

TEST_F(Pinned, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 500; ++i) {
        const auto bytes = static_cast<size_t>(1 + (i * 37 + t) % 900);
        uint8_t* piece = pool_.take(*cuda_, bytes);
        if (piece == nullptr) continue;
        std::memset(piece, t, bytes);
        for (size_t at = 0; at < bytes; ++at) ASSERT_EQ(piece[at], t);
        pool_.give(piece);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool_.read().used_bytes, 0u);
  EXPECT_NE(pool_.take(*cuda_, 4096), nullptr);
}

TEST_F(Pinned, BlocksGrowAndFallBack) {
  HostBlock block(*cuda_);
  uint8_t* small = block.grow(100);
  ASSERT_NE(small, nullptr);
  EXPECT_TRUE(block.pinned());
  EXPECT_EQ(block.grow(256), small);
  std::vector<uint8_t*> taken;
  while (uint8_t* piece = PinnedPool::process().take(*cuda_, 16u << 20)) taken.push_back(piece);
  while (uint8_t* piece = PinnedPool::process().take(*cuda_, 256)) taken.push_back(piece);
  HostBlock other(*cuda_);
  uint8_t* ordinary = other.grow(1000);
  ASSERT_NE(ordinary, nullptr);
  EXPECT_FALSE(other.pinned());
  std::memset(ordinary, 1, 1000);
  for (uint8_t* piece : taken) PinnedPool::process().give(piece);
}

TEST_F(Pinned, DeviceBlocksSayWhatCudaSays) {
  DeviceBlock block(*cuda_);
  FakeCuda::get().limit(FakeCuda::get().device_bytes() + 512);
  const Status refused = block.grow(4096, "input \"x\": GPU 0");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::MemoryFull);
  EXPECT_EQ(refused.error().message,
            "input \"x\": GPU 0: 4096 bytes of the device: out of memory (2)");
  EXPECT_TRUE(block.grow(512, "x").ok());
  void* const place = block.data();
  EXPECT_TRUE(block.grow(16, "x").ok());
  EXPECT_EQ(block.data(), place);
  FakeCuda::get().limit(UINT64_MAX - 1);
}

TEST_F(Pinned, BlocksUseAtMostHalfOfThePool) {
  EXPECT_FALSE(pool_.has_room(256));
  EXPECT_EQ(pool_.take_block(256), nullptr);  // nothing is pinned yet
  uint8_t* const piece = pool_.take(*cuda_, 256);
  EXPECT_FALSE(pool_.has_block(nullptr));
  uint8_t* const block = pool_.take_block(1024);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(pool_.has_block(block));
  EXPECT_TRUE(pool_.holds(block, 1024));
  EXPECT_FALSE(pool_.holds(block, 4097));
  EXPECT_FALSE(pool_.holds(piece - 1, 1));
  EXPECT_FALSE(pool_.has_room(1280));
  EXPECT_EQ(pool_.take_block(1280), nullptr);
  EXPECT_TRUE(pool_.has_room(1024));
  EXPECT_EQ(pool_.read().fallbacks, 0u);  // such a block is copied through a piece
  EXPECT_EQ(pool_.read().used_bytes, 1280u);
  uint8_t* const rest = pool_.take(*cuda_, 4096 - 1280);
  ASSERT_NE(rest, nullptr);
  EXPECT_FALSE(pool_.has_room(256));  // no piece is left
  pool_.give_block(block);
  EXPECT_TRUE(pool_.has_room(1024));
  pool_.give(rest);
  pool_.give(piece);
  EXPECT_EQ(pool_.read().used_bytes, 0u);
}

TEST_F(Pinned, OffersNoBlocksIfNothingIsPinned) {
  PinnedPool none;
  none.set_limit(0);
  none.offer_blocks();  // no GPU has used it yet
  EXPECT_EQ(pinned_blocks().load(), nullptr);
  EXPECT_EQ(none.take(*cuda_, 256), nullptr);
  none.offer_blocks();  // and now nothing could be pinned
  EXPECT_EQ(pinned_blocks().load(), nullptr);
  EXPECT_EQ(none.take_block(256), nullptr);
  EXPECT_FALSE(none.has_room(256));
}

}  // namespace
}  // namespace serval::gpu
