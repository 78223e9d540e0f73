// Memory that the server and a model's process share: a slot has a page of words that both write,
// an area that the server writes requests into, and one that the process writes answers into. Both
// ends, any thread. Hot path; a request crosses by one store and, where the other end sleeps, one
// futex call.
// An area never shrinks (sealed), so that nothing that is mapped can go away.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace serval::isolated {

// What an area keeps after use; what is more is given back to the system. Of a model on a GPU:
// more, as what is kept is pinned there, so that the GPU copies from it by itself.
inline constexpr size_t kAreaKeepBytes = 1u << 20;
inline constexpr size_t kGpuAreaKeepBytes = 64u << 20;
inline constexpr size_t kAreaFirstBytes = 64 * 1024;

// A file descriptor that is owned.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

// In place of a request's number: nothing follows. (0 is no request's number either.)
inline constexpr uint32_t kClosedNumber = UINT32_MAX;

// The words. Each has one side that writes it, but for the two that say who sleeps.
struct SlotPage {
  alignas(64) std::atomic<uint32_t> request{0};  // server: number of the latest request
  std::atomic<uint32_t> closed{0};               // server: nothing follows
  std::atomic<uint32_t> cancel{0};               // server: number of a request that is to end
  std::atomic<uint32_t> server_cpu{0};           // server: where it handed that over
  std::atomic<uint64_t> request_bytes{0};        // server
  std::atomic<uint64_t> keep_bytes{0};           // server, before all else: of both areas
  alignas(64) std::atomic<uint32_t> child_sleeps{0};
  alignas(64) std::atomic<uint32_t> answer{0};  // process: number of the latest that is answered
  std::atomic<uint32_t> child_cpu{0};           // process: where it ran that
  std::atomic<uint64_t> answer_bytes{0};        // process
  std::atomic<uint32_t> refused{0};             // process: nobody serves this slot
  std::atomic<uint32_t> ended{0};               // process: nobody serves it any more
  alignas(64) std::atomic<uint32_t> server_sleeps{0};
};

// Tells the process that nothing follows. By closing, the word that it sleeps on is another: no
// sleep begins after that. Any thread.
void close_slot(SlotPage& page);

// Wakes who waits on `word`, in any process.
void wake_all(std::atomic<uint32_t>& word);
// Until `word` is not `value`, someone wakes, or `ns` are over.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, uint64_t ns);
// One piece of shared memory, mapped as far as it was seen. One thread at a time.
class Area {
 public:
  Area() = default;
  Area(Area&& other) noexcept { *this = std::move(other); }
  Area& operator=(Area&& other) noexcept;
  ~Area();

  // Of `bytes`, which are there from now on. Errors: memory_full.
  static Result<Area> create(const char* name, size_t bytes);
  // The other end's, of at least `bytes`. Takes the descriptor.
  // Errors: internal (none that cannot shrink, or smaller).
  static Result<Area> adopt(Descriptor fd, size_t bytes, bool writable);

  // Other than kAreaKeepBytes; before its first use.
  void set_keep(size_t bytes) { keep_ = bytes; }
  // The writer's: room for `bytes`, of memory that is there (or false: there is none).
  [[nodiscard]] bool reserve(size_t bytes);
  // The reader's: maps `bytes`; false where the area has not so many.
  [[nodiscard]] bool see(size_t bytes);
  // Gives back what lies beyond what it keeps; its content is gone. Only by who created it.
  void trim(size_t used_bytes);

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t mapped() const { return mapped_; }
  int fd() const { return fd_.get(); }

 private:
  bool map(size_t bytes);

  Descriptor fd_;
  uint8_t* data_ = nullptr;
  size_t mapped_ = 0;
  size_t keep_ = kAreaKeepBytes;
  bool writable_ = true;
};

// A blob in a file of memory, as a control message carries it.
Result<Descriptor> blob_of(std::span<const uint8_t> bytes);
// Errors: internal (no file, or of more than `bytes_max`).
Result<std::vector<uint8_t>> read_blob(int fd, size_t bytes_max);

}  // namespace serval::isolated
