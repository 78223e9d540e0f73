// A request or a response in shared memory: a head (numbers, a record for each tensor), followed by
// the tensors' elements, 64-byte aligned. For a tensor on a device, only its location. Both ends.
// Hot path, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/isolated/channel.h"
#include "backend/isolated/message.h"
#include "base/tensor.h"
#include "gpu/shared_memory.h"

namespace serval::isolated {

// The device memory that a request uses, in order, without duplicates.
using DeviceList = std::vector<const gpu::SharedMemory*>;
// Adds `memory` if it is not in the list yet; ignores null.
void list_device(const gpu::SharedMemory* memory, DeviceList& list);

// Adds the records of `tensors` to a head; `devices` lists the device memory they are in. Returns
// the size of their elements; nullopt if that overflows.
std::optional<uint64_t> write_records(std::span<const TensorView> tensors,
                                      const DeviceList& devices, Writer& head);

// Size of the whole message.
uint64_t message_bytes(const Writer& head, uint64_t element_bytes);

// Writes a message whose head ends with the records of `tensors`. Errors: memory_full.
Status write_message(const Writer& head, uint64_t element_bytes,
                     std::span<const TensorView> tensors, Area& area);

// A message that was read: its head is a copy, its elements are used in place.
class Message {
 public:
  // Reads `bytes` at the start of `area`. False: it is invalid.
  [[nodiscard]] bool read(Area& area, uint64_t bytes);
  Reader head() const { return Reader(head_); }
  // Reads the tensors whose records are next in `in`. Texts are copied, so that the writer cannot
  // change them any more; views are valid until the next read. False: they are invalid, or refer to
  // memory that is not in `devices`.
  [[nodiscard]] bool read_tensors(Reader& in, const DeviceList& devices,
                                  std::vector<TensorView>& out);
  // Frees the memory of large texts.
  void trim();

 private:
  bool read_texts(std::span<const uint8_t> bytes, TensorView& out);

  std::vector<uint8_t> head_;
  std::span<const uint8_t> elements_;
  std::deque<std::vector<std::string_view>> views_;
  std::deque<std::vector<char>> texts_;
};

}  // namespace serval::isolated
