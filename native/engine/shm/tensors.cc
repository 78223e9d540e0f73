// See tensors.h. Hot path of requests that name a region; any thread.
#include "engine/shm/tensors.h"

#include <cstring>

#include "base/copies.h"
#include "codec/bytes_tensor.h"
#include "codec/checked.h"
#include "codec/json/echo.h"

namespace serval {

namespace {

std::string quoted(std::string_view text) { return "'" + echo_text(text) + "'"; }

// Pins the region and checks the place within it. Source: Triton's shared memory manager.
Status pin(const SharedRegions* regions, SharedTensor& tensor) {
  tensor.pin = regions == nullptr ? nullptr : regions->find(tensor.region);
  if (tensor.pin == nullptr) {
    return invalid_argument("Unable to find shared memory region: " + quoted(tensor.region));
  }
  const uint64_t bytes = tensor.pin->spec().bytes;
  const std::string_view name = tensor.region;
  if (tensor.offset >= bytes) {
    return invalid_argument("Invalid offset for shared memory region: " + quoted(name) +
                            ": expected less than " + std::to_string(bytes) + ", got " +
                            std::to_string(tensor.offset));
  }
  if (tensor.bytes > UINT64_MAX - tensor.offset) {
    return invalid_argument("Integer overflow detected: byte_size (" +
                            std::to_string(tensor.bytes) + ") + offset (" +
                            std::to_string(tensor.offset) + ") exceeds maximum value (" +
                            std::to_string(UINT64_MAX) + ") for region " + quoted(name));
  }
  if (tensor.offset + tensor.bytes > bytes) {
    return invalid_argument("Invalid offset + byte size for shared memory region: " + quoted(name) +
                            ": expected at most " + std::to_string(bytes) + ", got " +
                            std::to_string(tensor.offset) + " + " + std::to_string(tensor.bytes));
  }
  return tensor.pin->check();
}

// Whether any bits are as good as others to whoever computes with them.
bool may_change(DType dtype) {
  switch (dtype) {
    case DType::Fp16:
    case DType::Bf16:
    case DType::Fp32:
    case DType::Fp64:
    case DType::Int8:
    case DType::Uint8:
    case DType::Int16:
    case DType::Uint16: return true;
    default: return false;
  }
}

// The elements of one input. The view has its shape already.
Status read_input(const SharedTensor& given, const TensorSpec& spec, Arena& arena,
                  TensorView& view) {
  std::span<const uint8_t> raw(given.pin->data() + given.offset, static_cast<size_t>(given.bytes));
  const Shape shape = view.shape;
  if (!may_change(spec.dtype) && !raw.empty()) {
    auto* copy = static_cast<uint8_t*>(arena.allocate(raw.size()));
    if (copy == nullptr) {
      return make_error(ErrorCode::MemoryFull, "input " + quoted(spec.name) + ": no memory for " +
                                                   std::to_string(raw.size()) + " bytes");
    }
    std::memcpy(copy, raw.data(), raw.size());
    count_copied(raw.size());
    raw = {copy, raw.size()};
  }
  if (spec.dtype != DType::Bytes) {
    return raw_fixed_tensor(raw, spec.dtype, shape, spec.name, arena, view);
  }
  return decode_raw_bytes(raw, shape.elements().value_or(0), spec.name, arena, view);
}

}  // namespace

// Hot path: decode. Of requests that name a region.
Status attach_shared(const SharedRegions* regions, const Signature& signature, Arena& arena,
                     DecodedRequest& request) {
  for (SharedTensor& one : request.shared) {
    if (Status pinned = pin(regions, one); !pinned.ok()) return pinned;
    if (one.input == SharedTensor::kOutput) continue;
    Status read = read_input(one, signature.inputs[one.input], arena, request.inputs[one.input]);
    if (!read.ok()) {
      // Lengths that make no sense are often those of a file that was cut under us.
      Status whole = one.pin->check();
      return whole.ok() ? std::move(read) : std::move(whole);
    }
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
                              quoted(signature.outputs[request.outputs[i].index].name) + " (" +
                              std::to_string(place.bytes) + " bytes) should be at least " +
                              std::to_string(bytes) + " bytes to hold the results");
    }
    uint8_t* const target = place.pin->data() + place.offset;
    if (dtype_is_text(outputs[i].dtype)) {
      write_raw_tensor(target, outputs[i]);
    } else if (bytes != 0) {
      std::memmove(target, outputs[i].data, bytes);  // a backend may answer with its input
    }
  }
  return check_shared(request);
}

}  // namespace serval
