// Random tensors that own their memory, and a batch built one element at a time, which gather must
// equal. Test time only.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "batch/gather.h"

namespace serval::test {

// Elements as byte strings of any dtype. `view` points into this object, so the object must not
// move.
struct OwnedTensor {
  TensorView view;
  std::vector<uint8_t> bytes;
  std::vector<std::string> texts;
  std::vector<std::string_view> strings;

  OwnedTensor() = default;
  OwnedTensor(const OwnedTensor&) = delete;
  OwnedTensor& operator=(const OwnedTensor&) = delete;
};

// Returns the tensor's elements in order, each as its bytes.
inline std::vector<std::string> elements_of(const TensorView& tensor) {
  std::vector<std::string> out;
  const size_t count = tensor.shape.elements().value();
  const size_t size = dtype_bytes(tensor.dtype);
  for (size_t i = 0; i < count; ++i) {
    if (tensor.dtype == DType::Bytes) {
      out.emplace_back(tensor.strings[i]);
    } else {
      out.emplace_back(reinterpret_cast<const char*>(tensor.data) + i * size, size);
    }
  }
  return out;
}

inline Shape shape_of(const std::vector<int64_t>& dims) { return Shape(std::span(dims)); }

class RandomTensors {
 public:
  explicit RandomTensors(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }

  DType dtype() {
    constexpr std::array kAll = {DType::Bool, DType::Fp16, DType::Fp32, DType::Int64, DType::Bytes};
    return kAll[below(kAll.size())];
  }

  void fill(OwnedTensor& tensor, DType dtype, const std::vector<int64_t>& dims) {
    tensor.view.dtype = dtype;
    tensor.view.shape = shape_of(dims);
    const size_t count = tensor.view.shape.elements().value();
    if (dtype != DType::Bytes) {
      tensor.bytes.resize(count * dtype_bytes(dtype));
      for (uint8_t& byte : tensor.bytes) byte = static_cast<uint8_t>(1 + below(255));
      tensor.view.data = tensor.bytes.data();
      tensor.view.bytes = tensor.bytes.size();
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      tensor.texts.emplace_back(below(40), static_cast<char>('a' + below(26)));
    }
    tensor.strings.assign(tensor.texts.begin(), tensor.texts.end());
    tensor.view.strings = tensor.strings;
  }

 private:
  std::mt19937 random_;
};

// The expected contents of the batch of one input.
struct PlainBatch {
  std::vector<int64_t> dims;
  std::vector<std::string> elements;
};

// Returns the index of an element from its position in every dimension; nothing if it is outside.
inline std::optional<size_t> index_of(const std::vector<int64_t>& place, const Shape& shape) {
  size_t index = 0;
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] >= shape[i]) return std::nullopt;
    index = index * static_cast<size_t>(shape[i]) + static_cast<size_t>(place[i]);
  }
  return index;
}

// Advances to the next position in row-major order; false after the last.
inline bool next_place(std::vector<int64_t>& place, const std::vector<int64_t>& dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++place[i] < dims[i]) return true;
    place[i] = 0;
  }
  return false;
}

// The part, and its row, that a row of the batch comes from.
struct Origin {
  const BatchPart* part = nullptr;
  int64_t row = 0;
};

inline std::vector<Origin> origins(const std::vector<BatchPart>& parts, uint32_t rows_out) {
  std::vector<Origin> out;
  Origin padding;
  for (const BatchPart& part : parts) {
    if (part.rows != 0) padding = {&part, part.first_row};
    for (uint32_t row = 0; row < part.rows; ++row) out.push_back({&part, part.first_row + row});
  }
  out.resize(rows_out, padding);
  return out;
}

inline PlainBatch plain_gather(const std::vector<BatchPart>& parts, size_t input,
                               uint32_t rows_out) {
  const TensorView& first = parts[0].inputs[input];
  PlainBatch out;
  out.dims.assign(first.shape.dims().begin(), first.shape.dims().end());
  out.dims[0] = rows_out;
  for (const BatchPart& part : parts) {
    for (size_t i = 1; i < out.dims.size(); ++i) {
      out.dims[i] = std::max(out.dims[i], part.inputs[input].shape[i]);
    }
  }
  if (shape_of(out.dims).elements() == 0u) return out;
  const std::string zero(dtype_bytes(first.dtype), '\0');  // BYTES: empty
  const std::vector<Origin> rows = origins(parts, rows_out);
  std::vector<int64_t> place(out.dims.size(), 0);
  do {
    const Origin& origin = rows[static_cast<size_t>(place[0])];
    std::optional<size_t> index;
    if (origin.part != nullptr) {
      std::vector<int64_t> from = place;
      from[0] = origin.row;
      index = index_of(from, origin.part->inputs[input].shape);
    }
    out.elements.push_back(index ? elements_of(origin.part->inputs[input])[*index] : zero);
  } while (next_place(place, out.dims));
  return out;
}

}  // namespace serval::test
