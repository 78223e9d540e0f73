// DecodeProto: converts fields of serialized protobuf messages to tensors, padded to the longest of
// the batch, as TensorFlow's DecodeProtoV2. Hot path, any thread. Input may be arbitrary bytes:
// every length is checked. Source: tensorflow/core/kernels/decode_proto_op.cc.
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "operators/groups.h"
#include "operators/protos/fields.h"

namespace serval::operators {
namespace {

using protos::Field;
using protos::Type;
using protos::Wire;

constexpr int kGroupsMax = 100;

// Walks over a message; after a fault it is at its end.
class Walker {
 public:
  explicit Walker(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool done() const { return at_ == end_; }
  bool broken() const { return broken_; }
  const char* place() const { return at_; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<uint8_t>(*at_++);
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  std::string_view take(uint64_t count) {
    if (count > static_cast<uint64_t>(end_ - at_)) {
      fail();
      return {};
    }
    const std::string_view taken(at_, count);
    at_ += count;
    return taken;
  }
  std::string_view bytes() { return take(varint()); }
  void fail() {
    broken_ = true;
    at_ = end_;
  }
  // Skips the value after a tag; for a group, everything up to its end. `depth`: number of open
  // groups.
  void skip(Wire wire, uint32_t number, int depth = 0) {
    switch (wire) {
      case Wire::Varint: (void)varint(); return;
      case Wire::Bits64: (void)take(8); return;
      case Wire::Bits32: (void)take(4); return;
      case Wire::Bytes: (void)bytes(); return;
      case Wire::Group: (void)group(number, depth + 1); return;
      default: fail();
    }
  }
  // The content of the group that has just begun.
  std::string_view group(uint32_t number, int depth = 1) {
    const char* const begin = at_;
    while (depth <= kGroupsMax && !done()) {
      const char* const last = at_;
      const uint64_t tag = varint();
      const auto wire = static_cast<Wire>(tag & 7);
      const auto inner = static_cast<uint32_t>(tag >> 3);
      if (wire == Wire::GroupEnd && inner == number) {
        return {begin, static_cast<size_t>(last - begin)};
      }
      if (inner == 0) break;
      skip(wire, inner, depth);
    }
    fail();
    return {};
  }

 private:
  const char* at_;
  const char* const end_;
  bool broken_ = false;
};

// A field's number as on the wire, or the view of a text.
struct Raw {
  uint64_t bits = 0;
  std::string_view text;
  bool packed = false;
};

Raw read_value(Walker& walker, const Field& field) {
  const auto fixed = [&](size_t size) {
    const std::string_view taken = walker.take(size);
    uint64_t bits = 0;
    if (!taken.empty()) std::memcpy(&bits, taken.data(), taken.size());
    return bits;
  };
  switch (protos::wire_of(field.type)) {
    case Wire::Bits64: return {fixed(8), {}, false};
    case Wire::Bits32: return {fixed(4), {}, false};
    case Wire::Bytes: return {0, walker.bytes(), false};
    case Wire::Group: return {0, walker.group(field.number), false};
    default: return {walker.varint(), {}, false};
  }
}

int64_t zigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Interprets a field's bits as a number of its widest type.
int64_t integer_of(uint64_t bits, Type type) {
  switch (type) {
    case Type::Int32:
    case Type::Enum:
    case Type::Sfixed32: return static_cast<int32_t>(static_cast<uint32_t>(bits));
    case Type::Uint32:
    case Type::Fixed32: return static_cast<int64_t>(static_cast<uint32_t>(bits));
    case Type::Sint32: return static_cast<int32_t>(zigzag(static_cast<uint32_t>(bits)));
    case Type::Sint64: return zigzag(bits);
    case Type::Bool: return bits != 0 ? 1 : 0;
    default: return static_cast<int64_t>(bits);
  }
}

// Stores one number as an element of the field's output.
void store(uint8_t* to, const Raw& raw, const Field& field) {
  const uint64_t bits = raw.bits;
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  if (field.type == Type::Double) return put(std::bit_cast<double>(bits));
  if (field.type == Type::Float) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (field.dtype == DType::Fp64) return put(static_cast<double>(value));
    return put(value);
  }
  // TensorFlow reads packed int32s into an int64 tensor as unsigned.
  const bool unsign = raw.packed && field.type == Type::Int32 && field.dtype == DType::Int64;
  const int64_t value = integer_of(bits, unsign ? Type::Uint32 : field.type);
  switch (dtype_bytes(field.dtype)) {
    case 1: return put(static_cast<uint8_t>(value));
    case 4: return put(static_cast<uint32_t>(value));
    default: return put(value);
  }
}

// Calls found(field index, value) for each value of a requested field. Returns whether the message
// is valid to its last byte.
template <typename Found>
bool walk(std::string_view message, std::span<const Field> fields, Found found) {
  Walker walker(message);
  while (!walker.done()) {
    const uint64_t tag = walker.varint();
    const auto number = static_cast<uint32_t>(tag >> 3);
    const auto wire = static_cast<Wire>(tag & 7);
    if (walker.broken() || number == 0 || tag > 0xFFFFFFFFU) return false;
    size_t index = 0;
    while (index < fields.size() && fields[index].number != number) ++index;
    if (index == fields.size()) {
      walker.skip(wire, number);
      continue;
    }
    const Wire own = protos::wire_of(fields[index].type);
    if (wire == own) {
      found(index, read_value(walker, fields[index]));
    } else if (wire == Wire::Bytes && own != Wire::Group) {
      Walker packed(walker.bytes());
      while (!packed.done()) {
        Raw value = read_value(packed, fields[index]);
        value.packed = true;
        if (!packed.broken()) found(index, value);
      }
      if (packed.broken()) return false;
    } else {
      walker.skip(wire, number);
    }
  }
  return !walker.broken();
}

class DecodeProto final : public Kernel {
 public:
  explicit DecodeProto(std::vector<Field> fields) : fields_(std::move(fields)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    Result<std::vector<Field>> fields = protos::read_fields(attributes);
    if (!fields.ok()) return std::move(fields.error());
    return std::unique_ptr<Kernel>(std::make_unique<DecodeProto>(std::move(fields.value())));
  }

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView view = io.view(0);
    const auto messages = io.elements<std::string_view>(view);
    io.require(!messages.empty(), "Bufs argument must contain at least one value");
    Shape shape = view.shape;
    io.require(shape.push_back(static_cast<int64_t>(fields_.size())), "the rank is too high");
    const std::span<int32_t> sizes = io.output<int32_t>(0, shape);
    if (io.failed()) return io.take();
    std::fill(sizes.begin(), sizes.end(), 0);
    const std::vector<size_t> widths = count(io, messages, sizes);
    for (size_t i = 0; i < fields_.size() && !io.failed(); ++i) {
      Shape padded = view.shape;
      (void)padded.push_back(static_cast<int64_t>(widths[i]));
      io.require(widths[i] <= static_cast<size_t>(kRowsMax) / messages.size(),
                 "the values of a field are too many: " + std::to_string(messages.size()) + " by " +
                     std::to_string(widths[i]));
      if (io.failed()) break;
      if (fields_[i].dtype == DType::Bytes) texts(io, i, padded, messages, widths[i]);
      else numbers(io, i, padded, messages, widths[i]);
    }
    return io.take();
  }

 private:
  // Counts the values of each message, and for each field the maximum, at least one.
  std::vector<size_t> count(KernelIo& io, std::span<const std::string_view> messages,
                            std::span<int32_t> sizes) const {
    std::vector<size_t> widths(fields_.size(), 1);
    for (size_t m = 0; m < messages.size(); ++m) {
      std::vector<size_t> found(fields_.size(), 0);
      const bool whole = walk(messages[m], fields_, [&](size_t field, const Raw&) {
        if (found[field] == 0 || fields_[field].repeated) ++found[field];
      });
      if (!io.require(whole, "Unable to parse message " + std::to_string(m) +
                                 ": it is no protobuf of the type")) {
        return widths;
      }
      for (size_t i = 0; i < fields_.size(); ++i) {
        sizes[m * fields_.size() + i] = static_cast<int32_t>(found[i]);
        widths[i] = std::max(widths[i], found[i]);
      }
    }
    return widths;
  }

  // Calls put(index, value) for each value of a field, with the index counted over all messages.
  template <typename Put>
  void values_of(size_t field, std::span<const std::string_view> messages, size_t width,
                 Put put) const {
    for (size_t m = 0; m < messages.size(); ++m) {
      size_t next = 0;
      (void)walk(messages[m], std::span(fields_).subspan(field, 1), [&](size_t, const Raw& value) {
        put(m * width + next, value);
        if (fields_[field].repeated) ++next;
      });
    }
  }

  void texts(KernelIo& io, size_t field, const Shape& shape,
             std::span<const std::string_view> messages, size_t width) const {
    std::vector<std::string_view> all(messages.size() * width, fields_[field].fallback);
    values_of(field, messages, width,
              [&](size_t place, const Raw& value) { all[place] = value.text; });
    io.strings(field + 1, shape, all);
  }

  void numbers(KernelIo& io, size_t field, const Shape& shape,
               std::span<const std::string_view> messages, size_t width) const {
    const Field& spec = fields_[field];
    const size_t size = dtype_bytes(spec.dtype);
    const std::span<uint8_t> out = io.raw_output(field + 1, spec.dtype, shape);
    if (io.failed()) return;
    for (size_t at = 0; at < out.size(); at += size) {
      std::memcpy(out.data() + at, spec.fallback.data(), size);
    }
    values_of(field, messages, width, [&](size_t place, const Raw& value) {
      store(out.data() + place * size, value, spec);
    });
  }

  const std::vector<Field> fields_;
};

}  // namespace

std::vector<OperatorType> decode_proto_operators() {
  const Operand text{DType::Bytes};
  return {{"DecodeProto",
           {text},
           {{DType::Int32}, {DType::Invalid, Operand::Form::Variadic}},
           DecodeProto::make}};
}

}  // namespace serval::operators
