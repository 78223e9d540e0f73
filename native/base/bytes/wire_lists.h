// Helpers shared by the readers of both protocols' messages: lists in the arena, counts of packed
// values. Hot path, any thread.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/buffer.h"
#include "base/bytes/wire_reader.h"
#include "base/error.h"
#include "base/limits.h"

namespace serval {

// Allocates `count` value-initialised items in `arena`; false if memory is out.
template <typename T>
bool make_list(Arena& arena, size_t count, std::span<T>& list) {
  T* items = arena.allocate_array<T>(count);
  if (items == nullptr) return false;
  std::uninitialized_value_construct_n(items, count);
  list = {items, count};
  return true;
}

// Errors: invalid_argument above kInputsMax.
inline Status check_list_size(const char* list, size_t count) {
  if (count <= kInputsMax) return {};
  return invalid_argument(std::string(list) + " has " + std::to_string(count) +
                          " entries; the limit is " + std::to_string(kInputsMax));
}

// Calls take(field) for each field `number` of a message, in wire order, until one returns false,
// which is then the result. The message has been validated before.
template <typename Take>
bool each_wire_field(std::span<const uint8_t> message, uint32_t number, Take take) {
  WireFault none;
  WireReader reader(message, message.data(), none);
  WireField field;
  while (reader.next(field)) {
    if (field.number() == number && !take(field)) return false;
  }
  return true;
}

// Adds the number of values in a packed run of this type; false at a fault, which the reader
// records.
inline bool count_packed(WireReader& reader, WireType type, std::span<const uint8_t> run,
                         uint64_t& count) {
  if (type == WireType::Varint) {
    const uint8_t* bad = count_varints(run, count);
    return bad == nullptr || reader.fail("varint cut off or over 64 bits", bad);
  }
  const size_t size = type == WireType::Fixed32 ? 4 : 8;
  if (run.size() % size != 0) {
    return reader.fail("packed values of which the last is cut off", run.data());
  }
  count += run.size() / size;
  return true;
}

}  // namespace serval
