// Memory of a device that another process allocated: opened by its handle, copied, closed; and
// refused handles.
#include "gpu/shared_memory.h"

#include <atomic>

#include "gpu/cuda_client.h"

namespace serval::gpu {
namespace {

std::string refusal(const SharedMemorySpec& spec, ErrorCode code = ErrorCode::InvalidArgument) {
  const auto opened = SharedMemory::open(spec);
  EXPECT_FALSE(opened.ok());
  if (opened.ok()) return "";
  EXPECT_EQ(opened.error().code, code);
  return opened.error().message;
}

TEST(SharedMemoryOfAGpu, IsReadAndWritten) {
  const CudaClient client(4096, 1);
  const auto memory = client.open();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->device(), 1);
  EXPECT_EQ(memory->bytes(), 4096u);
  put<float>(*memory, 256, {1, 2, 3});
  const auto other = client.open();  // as a second region of the same memory
  EXPECT_NE(other->id(), memory->id());
  EXPECT_EQ(get<float>(*other, 260, 2), (std::vector<float>{2, 3}));
  EXPECT_TRUE(memory->read(nullptr, 4096, 0).ok());
}

TEST(SharedMemoryOfAGpu, WhatIsNoneIsRefused) {
  const CudaClient client(4096);
  SharedMemorySpec spec = client.spec();
  spec.bytes = 4097;
  EXPECT_EQ(refusal(spec),
            "byte_size: expected at most the 4096 bytes that were allocated, got 4097");
  spec.bytes = 0;
  EXPECT_EQ(refusal(spec), "byte_size: expected 1 or more, got 0");
  spec = client.spec();
  spec.device = 2;
  EXPECT_EQ(refusal(spec), "device_id: expected less than 2, got 2");
  spec = client.spec();
  spec.handle = {};
  EXPECT_TRUE(refusal(spec).starts_with("GPU 0: the handle: ")) << refusal(spec);
  EXPECT_NE(client.open(), nullptr);  // nothing was left behind
}

std::atomic<uint64_t> closed{0};

TEST(SharedMemoryOfAGpu, WhoListensHearsOfItsEnd) {
  on_shared_memory_closed([](uint64_t id) { closed.store(id); });
  const CudaClient client(4096);
  auto memory = client.open();
  const uint64_t id = memory->id();
  EXPECT_NE(closed.load(), id);
  auto held = memory;
  memory.reset();
  EXPECT_NE(closed.load(), id);
  held.reset();
  EXPECT_EQ(closed.load(), id);
  const auto named = SharedMemory::open(client.spec(), 77);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named.value()->id(), 77u);
  on_shared_memory_closed(nullptr);
}

}  // namespace
}  // namespace serval::gpu
