// Registering and unregistering shared memory.
#include "engine/shm/regions.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>
#include <vector>

#include "engine/shm/shm_object.h"

namespace serval::test {
namespace {

constexpr size_t kMax = 8;

RegionSpec spec(std::string name, std::string key, uint64_t offset, uint64_t bytes) {
  return {std::move(name), std::move(key), offset, bytes};
}

std::string refusal(SharedRegions& regions, RegionSpec wanted) {
  const Status added = regions.add(std::move(wanted), kMax);
  if (added.ok()) return "";
  EXPECT_EQ(added.error().code, ErrorCode::InvalidArgument);
  return added.error().message;
}

std::string status(const SharedRegions& regions, std::string_view name = "") {
  ByteBuffer out;
  const Status written = regions.write_status(name, out);
  if (!written.ok()) return written.error().message;
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

TEST(SharedRegions, RegisteredMappedAndForgotten) {
  ShmObject object(10'000);
  object.put("hello", 4097);
  SharedRegions regions;
  EXPECT_EQ(status(regions), "[]");
  EXPECT_EQ(refusal(regions, spec("b", object.key(), 4097, 5)), "");
  EXPECT_EQ(refusal(regions, spec("a\"", object.key().substr(1), 0, 10'000)), "");
  const std::string b =
      R"({"name":"b","key":")" + object.key() + R"(","offset":4097,"byte_size":5})";
  EXPECT_EQ(status(regions), R"([{"name":"a\"","key":")" + object.key().substr(1) +
                                 R"(","offset":0,"byte_size":10000},)" + b + "]");
  EXPECT_EQ(status(regions, "b"), "[" + b + "]");
  EXPECT_EQ(status(regions, "c"), "Unable to find system shared memory region: 'c'");

  const std::shared_ptr<SharedRegion> held = regions.find("b");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(std::memcmp(held->data(), "hello", 5), 0);
  held->data()[0] = 'J';
  EXPECT_EQ(object.get(5, 4097), "Jello");
  EXPECT_EQ(regions.find(""), nullptr);
  EXPECT_EQ(regions.find("c"), nullptr);

  regions.remove("c");
  regions.remove("b");
  EXPECT_EQ(regions.find("b"), nullptr);
  EXPECT_EQ(held->data()[1], 'e') << "in use: still mapped";
  EXPECT_TRUE(held->check().ok());
  regions.remove("");
  EXPECT_EQ(status(regions), "[]");
  EXPECT_EQ(refusal(regions, spec("b", object.key(), 0, 1)), "") << "the name is free again";
}

TEST(SharedRegions, ANameIsGivenOnce) {
  ShmObject object(64);
  SharedRegions regions;
  EXPECT_EQ(refusal(regions, spec("r", object.key(), 0, 64)), "");
  EXPECT_EQ(refusal(regions, spec("r", object.key(), 0, 64)),
            "shared memory region 'r' already in manager");
}

TEST(SharedRegions, NoMoreThanTheLimit) {
  ShmObject object(64);
  SharedRegions regions;
  for (size_t i = 0; i < kMax; ++i) {
    EXPECT_EQ(refusal(regions, spec(std::to_string(i), object.key(), 0, 64)), "");
  }
  EXPECT_EQ(refusal(regions, spec("more", object.key(), 0, 64)),
            "failed to register shared memory region 'more': expected at most 8 regions, got "
            "one more");
}

TEST(SharedRegions, OnlyWhatIsInTheObject) {
  ShmObject object(64);
  SharedRegions regions;
  const auto tried = [&](uint64_t offset, uint64_t bytes) {
    return refusal(regions, spec("r", object.key(), offset, bytes));
  };
  const std::string front = "failed to register shared memory region 'r': invalid args: ";
  const std::string tail = " go beyond the 64 bytes of '" + object.key() + "'";
  EXPECT_EQ(tried(0, 65), front + "offset 0 and byte_size 65" + tail);
  EXPECT_EQ(tried(1, 64), front + "offset 1 and byte_size 64" + tail);
  EXPECT_EQ(tried(64, 1), front + "offset 64 and byte_size 1" + tail);
  EXPECT_EQ(tried(32, UINT64_MAX - 31),
            front + "offset 32 and byte_size 18446744073709551584" + tail);
  EXPECT_EQ(tried(UINT64_MAX, 2), front + "offset 18446744073709551615 and byte_size 2" + tail);
  EXPECT_EQ(tried(0, 0), front + "byte_size: expected 1 or more, got 0");
  EXPECT_EQ(tried(63, 1), "");
}

// No key leads out of /dev/shm or to something that is not a memory object.
TEST(SharedRegions, OnlyObjectsBelowDevShm) {
  ShmObject object(64);
  SharedRegions regions;
  const std::string own = object.key().substr(1);
  const std::vector<std::string> names = {"",
                                          "/",
                                          "//",
                                          ".",
                                          "/..",
                                          "../etc/passwd",
                                          "/../etc/passwd",
                                          "a/b",
                                          "/a/../b",
                                          own + "/",
                                          own + "/..",
                                          std::string(256, 'a'),
                                          std::string("a\0b", 3),
                                          "/dev/shm/" + own};
  for (const std::string& key : names) {
    EXPECT_NE(refusal(regions, spec("r", key, 0, 1)).find("expected the name of a shared"),
              std::string::npos)
        << key;
  }
  EXPECT_EQ(refusal(regions, spec("r", "/serval_test_none", 0, 1)),
            "Unable to open shared memory region: '/serval_test_none' (region 'r'): No such file "
            "or directory");
  EXPECT_NE(refusal(regions, spec("r", "triton_python_backend_shm_region_1", 0, 1))
                .find("reserved prefix"),
            std::string::npos);

  const std::string link = object.path() + "_link", pipe = object.path() + "_pipe",
                    folder = object.path() + "_folder";
  ASSERT_EQ(symlink(object.path().c_str(), link.c_str()), 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  EXPECT_NE(refusal(regions, spec("r", own + "_link", 0, 1)).find("symbolic link"),
            std::string::npos);
  EXPECT_NE(refusal(regions, spec("r", own + "_pipe", 0, 1)).find("is no shared memory object"),
            std::string::npos);
  EXPECT_NE(refusal(regions, spec("r", own + "_folder", 0, 1)).find("Is a directory"),
            std::string::npos);
  unlink(link.c_str());
  unlink(pipe.c_str());
  rmdir(folder.c_str());
}

// Mainly for the thread sanitizer: lookups while other threads unregister.
TEST(SharedRegions, LookedUpWhileTheyChange) {
  ShmObject object(4096);
  SharedRegions regions;
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!over.load()) {
        const std::shared_ptr<SharedRegion> held = regions.find("r");
        if (held == nullptr) continue;
        EXPECT_TRUE(held->check().ok());
        EXPECT_EQ(held->data()[4095], 0);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(refusal(regions, spec("r", object.key(), 0, 4096)), "");
    regions.remove(i % 2 == 0 ? "r" : "");
  }
  over.store(true);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace serval::test
