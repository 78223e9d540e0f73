// Computes batch inputs. Hot path (models with ragged inputs).
#include "batch/batch_inputs.h"

#include <algorithm>
#include <cstring>

namespace serval {

namespace {

using Kind = fb::BatchInputKind;

// Appends numbers as INT32 or FP32. `fits` becomes false at a number that is not exact there.
struct Numbers {
  uint8_t* at;
  bool is_float;
  bool fits = true;
  uint64_t refused = 0;

  void add(uint64_t number) {
    if (is_float) {
      const auto value = static_cast<float>(number);
      check(static_cast<double>(value) == static_cast<double>(number), number);
      std::memcpy(at, &value, sizeof(value));
    } else {
      const auto value = static_cast<int32_t>(number);
      check(number <= INT32_MAX, number);
      std::memcpy(at, &value, sizeof(value));
    }
    at += sizeof(int32_t);
  }
  void check(bool exact, uint64_t number) {
    if (exact || !fits) return;
    fits = false;
    refused = number;
  }
};

uint64_t elements_of(const Shape& shape) { return shape.elements().value_or(0); }

// The number of values, and their shape. If there are too many, the number is only known to be over
// kBatchInputNumbersMax. (A shape without elements may have any number of rows.)
uint64_t lay_out_numbers(Kind kind, std::span<const Shape> sources, Shape& shape) {
  uint64_t rows = 0, items = 0, largest = 0, inner = 0;
  for (const Shape& source : sources) {
    largest = std::max(largest, elements_of(source));
    if (source.rank() == 0) continue;
    inner = source.rank() - 1;
    const uint64_t own =
        std::min(static_cast<uint64_t>(source[0]), uint64_t{kBatchInputNumbersMax} + 1);
    rows = std::min(rows + own, uint64_t{kBatchInputNumbersMax} + 1);
    items = rows * inner;
  }
  uint64_t count = sources.size();
  if (kind == Kind::AccumulatedElementCountWithZero) ++count;
  if (kind == Kind::MaxElementCountAsShape) count = largest;
  if (kind == Kind::ItemShapeFlatten || kind == Kind::ItemShape) count = items;
  if (rows > kBatchInputNumbersMax) count = std::max(count, rows);
  shape.clear();
  const bool is_table = kind == Kind::ItemShape;
  (void)shape.push_back(static_cast<int64_t>(is_table ? rows : count));
  if (is_table) (void)shape.push_back(static_cast<int64_t>(inner));
  return count;
}

void write_numbers(Kind kind, std::span<const Shape> sources, Numbers& numbers) {
  uint64_t sum = 0;
  if (kind == Kind::AccumulatedElementCountWithZero) numbers.add(0);
  for (const Shape& source : sources) {
    if (kind == Kind::ItemShape || kind == Kind::ItemShapeFlatten) {
      for (int64_t row = 0; source.rank() > 1 && row < source[0]; ++row) {
        for (const int64_t dim : source.dims().subspan(1)) {
          numbers.add(static_cast<uint64_t>(dim));
        }
      }
      continue;
    }
    const uint64_t count = elements_of(source);
    sum += count;
    numbers.add(kind == Kind::ElementCount ? count : sum);
  }
}

}  // namespace

Status make_batch_input(const BatchInput& what, std::span<const Shape> sources, ByteBuffer& memory,
                        TensorView& out) {
  out = TensorView();
  out.dtype = what.datatype;
  const uint64_t count = lay_out_numbers(what.kind, sources, out.shape);
  if (count > kBatchInputNumbersMax) {
    return invalid_argument("input '" + what.source + "' is too large: the model's input '" +
                            what.input + "' has at most " + std::to_string(kBatchInputNumbersMax) +
                            " numbers for a batch");
  }
  memory.clear();
  out.bytes = count * sizeof(int32_t);
  uint8_t* const place = memory.grow(out.bytes);
  if (place == nullptr) {
    return make_error(ErrorCode::MemoryFull, "batch: out of memory for input '" + what.input + "'");
  }
  out.data = place;
  if (what.kind == Kind::MaxElementCountAsShape) {
    std::memset(place, 0, out.bytes);
    return {};
  }
  Numbers numbers{place, what.datatype == DType::Fp32};
  write_numbers(what.kind, sources, numbers);
  if (numbers.fits) return {};
  return invalid_argument("input '" + what.source + "' is too large: the model's input '" +
                          what.input + "' counts its elements as " +
                          std::string(dtype_name(what.datatype)) + ", which cannot hold " +
                          std::to_string(numbers.refused));
}

}  // namespace serval
