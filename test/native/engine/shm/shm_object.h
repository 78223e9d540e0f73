// A test's own POSIX shared memory object, as a client makes one, removed with the test.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace serval::test {

class ShmObject {
 public:
  explicit ShmObject(size_t bytes) : bytes_(bytes) {
    static std::atomic<int> count{0};
    key_ = "/serval_test_" + std::to_string(getpid()) + "_" + std::to_string(count.fetch_add(1));
    file_ = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    resize(bytes);
    data_ =
        static_cast<uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~ShmObject() {
    munmap(data_, bytes_);
    close(file_);
    shm_unlink(key_.c_str());
  }
  ShmObject(const ShmObject&) = delete;
  ShmObject& operator=(const ShmObject&) = delete;

  const std::string& key() const { return key_; }
  // Its name in /dev/shm.
  std::string path() const { return "/dev/shm" + key_; }
  int file() const { return file_; }
  // Removes its name: the memory is freed with the process, however that ends.
  void unlink() const { shm_unlink(key_.c_str()); }
  uint8_t* data() { return data_; }
  void put(std::string_view bytes, size_t at = 0) {
    std::memcpy(data_ + at, bytes.data(), bytes.size());
  }
  std::string get(size_t bytes, size_t at = 0) const {
    return {reinterpret_cast<const char*>(data_) + at, bytes};
  }
  void resize(size_t bytes) {
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) std::abort();
  }

 private:
  const size_t bytes_;
  std::string key_;
  int file_ = -1;
  uint8_t* data_ = nullptr;
};

}  // namespace serval::test
