// Reads and writes tensors in shared memory. Hot path of requests that name a region; any thread.
#include "engine/shm/tensors.h"

#include <algorithm>
#include <cstring>

#include "base/copies.h"
#include "codec/bytes_tensor.h"
#include "codec/checked.h"

namespace serval {

namespace {

// Pins the region and checks the tensor's range within it. Source: Triton's shared memory manager.
Status pin(const SharedRegions* regions, SharedTensor& tensor) {
  tensor.pin = regions == nullptr ? nullptr : regions->find(tensor.region);
  if (tensor.pin == nullptr) {
    return invalid_argument("Unable to find shared memory region: " + quoted_name(tensor.region));
  }
  const uint64_t bytes = tensor.pin->spec().bytes;
  const std::string_view name = tensor.region;
  if (tensor.offset >= bytes) {
    return invalid_argument("Invalid offset for shared memory region: " + quoted_name(name) +
                            ": expected less than " + std::to_string(bytes) + ", got " +
                            std::to_string(tensor.offset));
  }
  if (tensor.bytes > UINT64_MAX - tensor.offset) {
    return invalid_argument("Integer overflow detected: byte_size (" +
                            std::to_string(tensor.bytes) + ") + offset (" +
                            std::to_string(tensor.offset) + ") exceeds maximum value (" +
                            std::to_string(UINT64_MAX) + ") for region " + quoted_name(name));
  }
  if (tensor.offset + tensor.bytes > bytes) {
    return invalid_argument(
        "Invalid offset + byte size for shared memory region: " + quoted_name(name) +
        ": expected at most " + std::to_string(bytes) + ", got " + std::to_string(tensor.offset) +
        " + " + std::to_string(tensor.bytes));
  }
  return tensor.pin->check();
}

Error no_memory(std::string_view tensor, uint64_t bytes) {
  return make_error(ErrorCode::MemoryFull,
                    std::string(tensor) + ": no memory for " + std::to_string(bytes) + " bytes");
}

// Sets the view to elements that stay on the device. The view has its shape already.
Status view_device(const SharedTensor& given, const TensorSpec& spec, TensorView& view) {
  Status fits = check_raw_size(given.bytes, spec.dtype, view.shape, spec.name);
  if (!fits.ok()) return fits;
  const gpu::SharedMemory* const memory = given.pin->device();
  view.dtype = spec.dtype;
  view.data = memory->data() + given.offset;
  view.bytes = static_cast<size_t>(given.bytes);
  view.strings = {};
  view.device = memory;
  return {};
}

// Copies elements that the host must read from a GPU.
Status land(const SharedTensor& given, uint8_t* to) {
  Status read = given.pin->device()->read(to, given.offset, static_cast<size_t>(given.bytes));
  if (!read.ok()) {
    read.error().message =
        "shared memory region " + quoted_name(given.region) + ": " + read.error().message;
  }
  count_copied(given.bytes);
  return read;
}

// Reads the elements of one input. The view has its shape already.
Status read_input(const SharedTensor& given, const TensorSpec& spec, bool takes_device,
                  Arena& arena, TensorView& view) {
  const bool on_device = given.pin->device() != nullptr;
  const bool is_number = dtype_bytes(spec.dtype) != 0 && spec.dtype != DType::Bool;
  if (on_device && takes_device && is_number) return view_device(given, spec, view);
  const auto bytes = static_cast<size_t>(given.bytes);
  std::span<const uint8_t> raw;
  if (!on_device) raw = {given.pin->data() + given.offset, bytes};
  const Shape shape = view.shape;
  if (bytes != 0 && (on_device || !dtype_takes_any_bits(spec.dtype))) {
    auto* copy = static_cast<uint8_t*>(arena.allocate(bytes));
    if (copy == nullptr) return no_memory("input " + quoted_name(spec.name), bytes);
    if (on_device) {
      if (Status landed = land(given, copy); !landed.ok()) return landed;
    } else {
      std::memcpy(copy, raw.data(), bytes);
      count_copied(bytes);
    }
    raw = {copy, bytes};
  }
  if (spec.dtype != DType::Bytes) {
    return raw_fixed_tensor(raw, spec.dtype, shape, spec.name, arena, view);
  }
  return decode_raw_bytes(raw, shape.elements().value_or(0), spec.name, arena, view);
}

// Records the place of an output in GPU memory, so that the model can write it there.
void note_place(const SharedTensor& given, size_t position, DecodedRequest& request) {
  if (given.pin->device() == nullptr) return;
  request.places.resize(request.outputs.size());
  request.places[position] = {given.pin->device(), given.offset, given.bytes};
}

// Writes an output into a region on a GPU, unless the model has written it there itself.
Status write_device(const SharedTensor& place, const TensorView& output, uint64_t bytes) {
  const gpu::SharedMemory& memory = *place.pin->device();
  if (output.device == &memory && output.data == memory.data() + place.offset) return {};
  if (!dtype_is_text(output.dtype)) return memory.write(place.offset, output.data, bytes);
  ByteBuffer texts;
  uint8_t* const to = texts.grow(bytes);
  if (to == nullptr) return no_memory("region " + quoted_name(place.region), bytes);
  write_raw_tensor(to, output);
  return memory.write(place.offset, to, bytes);
}

}  // namespace

bool names_device(const SharedRegions* regions, const DecodedRequest& request) {
  return regions != nullptr &&
         std::ranges::any_of(request.shared, [regions](const SharedTensor& one) {
           const std::shared_ptr<SharedRegion> region = regions->find(one.region);
           return region != nullptr && region->device() != nullptr;
         });
}

bool is_on_device(const DecodedRequest& request) {
  return !request.places.empty() ||
         std::ranges::any_of(request.inputs,
                             [](const TensorView& input) { return input.device != nullptr; });
}

// Hot path: decode. Of requests that name a region.
Status attach_shared(const SharedRegions* regions, const Signature& signature, bool takes_device,
                     Arena& arena, DecodedRequest& request) {
  for (SharedTensor& one : request.shared) {
    if (Status pinned = pin(regions, one); !pinned.ok()) return pinned;
    if (one.input == SharedTensor::kOutput) continue;
    Status read = read_input(one, signature.inputs[one.input], takes_device, arena,
                             request.inputs[one.input]);
    if (!read.ok()) {
      // Invalid lengths often come from a file that was shortened during the read.
      Status whole = one.pin->check();
      return whole.ok() ? std::move(read) : std::move(whole);
    }
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const uint32_t shared = request.outputs[i].shared;
    if (shared != 0) note_place(request.shared[shared - 1], i, request);
  }
  return {};
}

Status check_shared(const DecodedRequest& request) {
  for (const SharedTensor& one : request.shared) {
    if (one.pin == nullptr) continue;
    if (Status whole = one.pin->check(); !whole.ok()) return whole;
  }
  return {};
}

Status blame_shared(const DecodedRequest& request, Status failed) {
  if (request.shared.empty()) return failed;
  Status whole = check_shared(request);
  return whole.ok() ? std::move(failed) : std::move(whole);
}

// Hot path: encode. Of requests that name a region.
Status write_shared(const DecodedRequest& request, const Signature& signature,
                    std::span<const TensorView> outputs) {
  if (Status whole = check_shared(request); !whole.ok()) return whole;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (request.outputs[i].shared == 0) continue;
    const SharedTensor& place = request.shared[request.outputs[i].shared - 1];
    const uint64_t bytes = raw_tensor_size(outputs[i]);
    if (bytes > place.bytes) {
      return invalid_argument("shared memory size specified with the request for output " +
                              quoted_name(signature.outputs[request.outputs[i].index].name) + " (" +
                              std::to_string(place.bytes) + " bytes) should be at least " +
                              std::to_string(bytes) + " bytes to hold the results");
    }
    if (place.pin->device() != nullptr) {
      if (Status written = write_device(place, outputs[i], bytes); !written.ok()) return written;
      continue;
    }
    uint8_t* const target = place.pin->data() + place.offset;
    if (dtype_is_text(outputs[i].dtype)) {
      write_raw_tensor(target, outputs[i]);
    } else if (bytes != 0) {
      std::memmove(target, outputs[i].data, bytes);  // a backend may return its input as the output
    }
  }
  return check_shared(request);
}

}  // namespace serval
