// Hot path. Converts typed contents to tensors: the dtype is chosen outside the loops, which run
// over packed runs that read_contents() has validated. Any thread.
#include "codec/v2/wire_typed.h"

#include <cstring>
#include <limits>

#include "base/copies.h"
#include "codec/checked.h"

namespace serval {

namespace {

namespace contents = InferTensorContents;

constexpr std::array<std::string_view, kContentsFields + 1> kFieldNames = [] {
  std::array<std::string_view, kContentsFields + 1> names{};
  names[contents::kBoolContents] = "bool_contents";
  names[contents::kIntContents] = "int_contents";
  names[contents::kInt64Contents] = "int64_contents";
  names[contents::kUintContents] = "uint_contents";
  names[contents::kUint64Contents] = "uint64_contents";
  names[contents::kFp32Contents] = "fp32_contents";
  names[contents::kFp64Contents] = "fp64_contents";
  names[contents::kBytesContents] = "bytes_contents";
  return names;
}();

// The contents field of a dtype; 0 if it has none. Source: the published V2 protocol's
// InferTensorContents.
constexpr uint32_t contents_field(DType dtype) {
  return visit(dtype, []<typename T>(TypeTag<T>) -> uint32_t {
    if constexpr (std::same_as<T, bool>) return contents::kBoolContents;
    else if constexpr (std::same_as<T, int64_t>) return contents::kInt64Contents;
    else if constexpr (std::same_as<T, uint64_t>) return contents::kUint64Contents;
    else if constexpr (IsInteger<T>)
      return std::signed_integral<T> ? contents::kIntContents : contents::kUintContents;
    else if constexpr (std::same_as<T, float>) return contents::kFp32Contents;
    else if constexpr (std::same_as<T, double>) return contents::kFp64Contents;
    else return std::same_as<T, std::string_view> ? contents::kBytesContents : 0;
  });
}

std::string input_text(const WireInput& input) { return "input " + wire_quoted(input.name); }

Error memory_out(const WireInput& input) {
  return make_error(ErrorCode::MemoryFull, "out of memory while reading " + input_text(input));
}

Status check_fields(const WireInput& input, uint32_t wanted, uint64_t elements) {
  const std::string dtype_text(input.datatype);
  if (wanted == 0) {
    return invalid_argument(input_text(input) + ": datatype " + dtype_text +
                            " has no typed contents: send it in raw_input_contents");
  }
  const std::string field_text(kFieldNames[wanted]);
  for (uint32_t field = 1; field <= kContentsFields; ++field) {
    if (field == wanted || input.counts[field] == 0) continue;
    return invalid_argument(input_text(input) + ": datatype " + dtype_text + " is given in " +
                            field_text + ", got " + std::to_string(input.counts[field]) +
                            " values in " + std::string(kFieldNames[field]));
  }
  return invalid_argument(input_text(input) + ": expected " + std::to_string(elements) +
                          " values in " + field_text + " (shape " + input.shape.to_string() +
                          "), got " + std::to_string(input.counts[wanted]));
}

bool only_field(const WireInput& input, uint32_t wanted) {
  uint64_t others = 0;
  for (uint32_t field = 1; field <= kContentsFields; ++field) {
    others |= field == wanted ? 0 : input.counts[field];
  }
  return wanted != 0 && others == 0;
}

// Calls take(field) for each field `number` in the contents of `input`, in wire order, until one
// returns false. The message has been validated before.
template <typename Take>
void for_each_piece(const WireInput& input, uint32_t number, Take take) {
  WireFault none;
  WireReader tensor(input.message, input.message.data(), none);
  WireField field;
  while (tensor.next(field)) {
    if (field.tag != wire_tag(InferInputTensor::kContents, WireType::Bytes)) continue;
    WireReader contents(field.bytes, input.message.data(), none);
    WireField piece;
    while (contents.next(piece)) {
      if (piece.number() == number && !take(piece)) return;
    }
  }
}

// The state of a conversion: values written, and the value that did not fit.
template <typename T, typename Wide>
struct Fill {
  T* out;
  Wide low, high;
  uint64_t index = 0;
  Wide bad = 0;

  // False: the value is outside low..high.
  bool add(uint64_t value) {
    const Wide wide = static_cast<Wide>(value);
    if (wide < low || wide > high) {
      bad = wide;
      return false;
    }
    out[index++] = static_cast<T>(wide);
    return true;
  }

  bool add_run(std::span<const uint8_t> run) {
    const uint8_t* at = run.data();
    const uint8_t* const end = at + run.size();
    while (at != end) {
      uint64_t word = ~uint64_t{0};
      if (end - at >= 8) std::memcpy(&word, at, 8);
      if ((word & 0x8080808080808080u) == 0 && high >= 127) {  // eight varints of one byte
        for (size_t i = 0; i < 8; ++i) out[index + i] = static_cast<T>(at[i]);
        index += 8;
        at += 8;
        continue;
      }
      // Reads at least one value, then tries the next block of eight again.
      if (!add(checked_varint(at, end))) return false;
    }
    return true;
  }
};

template <typename T, typename Wide>
Status fill_integers(const WireInput& input, DType dtype, uint64_t elements, Wide high,
                     Arena& arena, TensorView& out) {
  T* data = arena.allocate_array<T>(elements);
  if (data == nullptr) return memory_out(input);
  Fill<T, Wide> fill{data, static_cast<Wide>(std::numeric_limits<T>::min()), high};
  bool good = true;
  if (input.pieces == 1 && !input.packed_run.empty()) {
    good = fill.add_run(input.packed_run);
  } else {
    for_each_piece(input, contents_field(dtype), [&](const WireField& piece) {
      if (piece.type() == WireType::Varint) good = fill.add(piece.value);
      if (piece.type() == WireType::Bytes) good = fill.add_run(piece.bytes);
      return good;
    });
  }
  if (!good) {
    return invalid_argument(input_text(input) + ": value " + std::to_string(fill.bad) +
                            " at index " + std::to_string(fill.index) + " is out of range for " +
                            std::string(dtype_name(dtype)) + " (" + std::to_string(fill.low) +
                            " to " + std::to_string(fill.high) + ")");
  }
  out.data = reinterpret_cast<const uint8_t*>(data);
  out.bytes = elements * sizeof(T);
  count_copied(out.bytes);
  return {};
}

// For FP32 and FP64 a packed run equals the tensor's bytes.
Status fill_floats(const WireInput& input, DType dtype, uint64_t elements, Arena& arena,
                   TensorView& out) {
  if (input.pieces == 1 && !input.packed_run.empty()) {
    Shape flat;
    (void)flat.push_back(static_cast<int64_t>(elements));
    Status viewed = raw_fixed_tensor(input.packed_run, dtype, flat, input.name, arena, out);
    out.shape = input.shape;
    return viewed;
  }
  const size_t size = dtype_bytes(dtype);
  const WireType single = size == 4 ? WireType::Fixed32 : WireType::Fixed64;
  uint8_t* data = arena.allocate_array<uint8_t>(elements * size);
  if (data == nullptr) return memory_out(input);
  uint8_t* end = data;
  for_each_piece(input, contents_field(dtype), [&](const WireField& piece) {
    if (piece.type() == single) {
      std::memcpy(end, &piece.value, size);
      end += size;
    } else if (piece.type() == WireType::Bytes && !piece.bytes.empty()) {
      std::memcpy(end, piece.bytes.data(), piece.bytes.size());
      end += piece.bytes.size();
    }
    return true;
  });
  out.data = data;
  out.bytes = elements * size;
  count_copied(out.bytes);
  return {};
}

Status fill_strings(const WireInput& input, uint64_t elements, Arena& arena, TensorView& out) {
  std::string_view* strings = arena.allocate_array<std::string_view>(elements);
  if (strings == nullptr) return memory_out(input);
  uint64_t index = 0;
  uint64_t viewed = 0;
  for_each_piece(input, contents::kBytesContents, [&](const WireField& piece) {
    if (piece.type() == WireType::Bytes) {
      strings[index++] = {reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size()};
      viewed += piece.bytes.size();
    }
    return true;
  });
  out.strings = {strings, static_cast<size_t>(elements)};
  count_viewed(viewed);
  return {};
}

}  // namespace

Status decode_wire_typed(const WireInput& input, DType dtype, uint64_t elements, Arena& arena,
                         TensorView& out) {
  const uint32_t field = contents_field(dtype);
  if (!only_field(input, field) || input.counts[field] != elements) {
    return check_fields(input, field, elements);
  }
  // From here on `elements` is at most the message's bytes, since every value took one.
  out.dtype = dtype;
  out.shape = input.shape;
  return visit(dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::same_as<T, bool>) {
      return fill_integers<uint8_t, uint64_t>(input, dtype, elements, 1, arena, out);
    } else if constexpr (IsInteger<T>) {
      using Wide = std::conditional_t<std::signed_integral<T>, int64_t, uint64_t>;
      constexpr Wide kHigh = std::numeric_limits<T>::max();
      return fill_integers<T, Wide>(input, dtype, elements, kHigh, arena, out);
    } else if constexpr (std::floating_point<T>) {
      return fill_floats(input, dtype, elements, arena, out);
    } else if constexpr (std::same_as<T, std::string_view>) {
      return fill_strings(input, elements, arena, out);
    } else {
      return make_error(ErrorCode::Internal, "typed contents of a datatype that has none");
    }
  });
}

}  // namespace serval
