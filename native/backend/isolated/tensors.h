// A request or an answer in shared memory: a head (numbers, a record for each tensor) and the
// tensors' elements behind it, 64-byte aligned. Of a tensor that lies on a device, only where.
// Both ends. Hot path, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/isolated/message.h"
#include "backend/isolated/slot.h"
#include "base/tensor.h"
#include "gpu/shared_memory.h"

namespace serval::isolated {

// The device memory that a request names, in its order; each once.
using DeviceList = std::vector<const gpu::SharedMemory*>;
// Adds `memory` where it is not there yet; null is nothing.
void list_device(const gpu::SharedMemory* memory, DeviceList& list);

// Adds the records of `tensors` to a head; what device memory they lie in is in `devices`. Answers
// how many bytes their elements take; nullopt where that is no number.
std::optional<uint64_t> write_records(std::span<const TensorView> tensors,
                                      const DeviceList& devices, Writer& head);

// How many bytes the whole message takes.
uint64_t message_bytes(const Writer& head, uint64_t element_bytes);

// Writes a message whose head ends with the records of `tensors`. Errors: memory_full.
Status write_message(const Writer& head, uint64_t element_bytes,
                     std::span<const TensorView> tensors, Area& area);

// A message that was read: its head is a copy, its elements are where they were written.
class Message {
 public:
  // Of `bytes` at the begin of `area`. False: it is none.
  [[nodiscard]] bool read(Area& area, uint64_t bytes);
  Reader head() const { return Reader(head_); }
  // The tensors whose records come next in `in`. Texts are copied, so that whoever writes there can
  // change no byte of them, and views stay until the next read. False: they are none, or do not lie
  // within `devices`.
  [[nodiscard]] bool read_tensors(Reader& in, const DeviceList& devices,
                                  std::vector<TensorView>& out);
  // Lets go of what large texts took.
  void trim();

 private:
  bool read_texts(std::span<const uint8_t> bytes, TensorView& out);

  std::vector<uint8_t> head_;
  std::span<const uint8_t> elements_;
  std::deque<std::vector<std::string_view>> views_;
  std::deque<std::vector<char>> texts_;
};

}  // namespace serval::isolated
