// Memory shared by the server and a model's process: a channel has a page of words that both write,
// an area for the server's requests, and one for the process's responses. Both ends, any thread.
// Hot path; a request crosses with one store and, if the other end sleeps, one futex call. An area
// never shrinks (sealed), so mapped memory never disappears.
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

// How much of an area is kept for good; the rest is returned to the system when no request used it
// for a while (see ServerChannel::trim()). More for a model on a GPU, because the kept part is
// pinned there, so that the GPU copies from it directly.
inline constexpr size_t kAreaKeepBytes = 1u << 20;
inline constexpr size_t kGpuAreaKeepBytes = 64u << 20;
inline constexpr size_t kAreaFirstBytes = 64 * 1024;

// Owns a file descriptor.
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

// A request number that means: no request follows. (0 is no request's number either.)
inline constexpr uint32_t kClosedNumber = UINT32_MAX;

// The shared words. Each is written by one side, except the two that say who sleeps.
struct ChannelPage {
  alignas(64) std::atomic<uint32_t> request{0};  // server: number of the latest request
  std::atomic<uint32_t> closed{0};               // server: no request follows
  std::atomic<uint32_t> cancel{0};               // server: number of a request to end
  std::atomic<uint32_t> server_cpu{0};           // server: the CPU that submitted the request
  std::atomic<uint64_t> request_bytes{0};        // server
  std::atomic<uint64_t> keep_bytes{0};           // server, set first: for both areas
  std::atomic<uint32_t> trims{0};                // server: number of times both areas were trimmed
  alignas(64) std::atomic<uint32_t> child_sleeps{0};
  alignas(64) std::atomic<uint32_t> answer{0};  // process: number of the latest answered request
  std::atomic<uint32_t> child_cpu{0};           // process: the CPU that ran it
  std::atomic<uint64_t> answer_bytes{0};        // process
  std::atomic<uint32_t> refused{0};             // process: nothing serves this channel
  std::atomic<uint32_t> ended{0};               // process: no longer served
  alignas(64) std::atomic<uint32_t> server_sleeps{0};
};

// Tells the process that no request follows. Changes the word that it sleeps on, so that no sleep
// begins after that. Any thread.
void close_channel(ChannelPage& page);

// Wakes all waiters on `word`, in any process.
void wake_all(std::atomic<uint32_t>& word);
// Sleeps until `word` is not `value`, a wake-up, or `ns` have passed.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, uint64_t ns);
// A piece of shared memory, mapped as far as it was used. One thread at a time.
class Area {
 public:
  Area() = default;
  Area(Area&& other) noexcept { *this = std::move(other); }
  Area& operator=(Area&& other) noexcept;
  ~Area();

  // Creates an area of `bytes`, which are allocated now. Errors: memory_full.
  static Result<Area> create(const char* name, size_t bytes);
  // Opens the other end's area, of at least `bytes`. Takes the descriptor.
  // Errors: internal (it could shrink, or is smaller).
  static Result<Area> adopt(Descriptor fd, size_t bytes, bool writable);

  // Overrides kAreaKeepBytes; call before its first use.
  void set_keep(size_t bytes) { keep_ = bytes; }
  // For the writer: allocates `bytes`, unless they are allocated; false if there is no memory.
  [[nodiscard]] bool reserve(size_t bytes);
  // For the reader: maps `bytes`; false if the area is smaller.
  [[nodiscard]] bool see(size_t bytes);
  // Frees everything beyond the kept part, with its content. Only for the creator.
  void trim(size_t used_bytes);
  // For the writer: the creator has trimmed the area.
  void note_trim() { allocated_ = allocated_ < keep_ ? allocated_ : keep_; }

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
  size_t allocated_ = 0;  // by the writer, and not freed since
  bool writable_ = true;
};

// Writes a blob to a memory file that a control message can carry.
Result<Descriptor> blob_of(std::span<const uint8_t> bytes);
// Errors: internal (not a file, or larger than `bytes_max`).
Result<std::vector<uint8_t>> read_blob(int fd, size_t bytes_max);

}  // namespace serval::isolated
