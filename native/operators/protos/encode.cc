// EncodeProto: makes serialized protobuf messages from tensors of their fields, as TensorFlow's
// operator of this name. Hot path, any thread. Source: tensorflow/core/kernels/encode_proto_op.cc.
#include <algorithm>
#include <cstring>

#include "operators/groups.h"
#include "operators/protos/fields.h"

namespace serval::operators {
namespace {

using protos::Field;
using protos::Type;
using protos::Wire;

void put_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}
void put_tag(std::string& to, uint32_t number, Wire wire) {
  put_varint(to, (uint64_t{number} << 3) | static_cast<uint64_t>(wire));
}
template <typename T>
void put_fixed(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

template <typename T>
T element(const TensorView& view, size_t index) {
  T value;
  std::memcpy(&value, reinterpret_cast<const uint8_t*>(view.data) + index * sizeof(T), sizeof(T));
  return value;
}

// The element as an integer; unsigned ones keep their bits.
int64_t integer_at(const TensorView& view, size_t index) {
  switch (view.dtype) {
    case DType::Bool: return element<uint8_t>(view, index) != 0 ? 1 : 0;
    case DType::Int32: return element<int32_t>(view, index);
    case DType::Uint32: return element<uint32_t>(view, index);
    default: return element<int64_t>(view, index);
  }
}
double real_at(const TensorView& view, size_t index) {
  return view.dtype == DType::Fp32 ? static_cast<double>(element<float>(view, index))
                                   : element<double>(view, index);
}

// Appends a number without its tag.
void put_number(std::string& to, const Field& field, const TensorView& view, size_t index) {
  switch (field.type) {
    case Type::Double: return put_fixed(to, real_at(view, index));
    case Type::Float: return put_fixed(to, static_cast<float>(real_at(view, index)));
    case Type::Fixed64:
    case Type::Sfixed64: return put_fixed(to, integer_at(view, index));
    case Type::Fixed32:
    case Type::Sfixed32: return put_fixed(to, static_cast<int32_t>(integer_at(view, index)));
    case Type::Int32:
    case Type::Enum: {
      const auto narrow = static_cast<int32_t>(integer_at(view, index));
      return put_varint(to, static_cast<uint64_t>(int64_t{narrow}));
    }
    case Type::Uint32: return put_varint(to, static_cast<uint32_t>(integer_at(view, index)));
    case Type::Sint32: {
      const auto value = static_cast<uint32_t>(integer_at(view, index));
      return put_varint(to, (value << 1) ^ (0U - (value >> 31)));
    }
    case Type::Sint64: {
      const auto value = static_cast<uint64_t>(integer_at(view, index));
      return put_varint(to, (value << 1) ^ (0U - (value >> 63)));
    }
    default: return put_varint(to, static_cast<uint64_t>(integer_at(view, index)));
  }
}

// Appends `count` values, starting with element `first`.
void put_field(std::string& to, const Field& field, const TensorView& view, size_t first,
               size_t count) {
  const Wire wire = protos::wire_of(field.type);
  if (wire != Wire::Bytes && wire != Wire::Group && field.packed) {
    std::string values;
    for (size_t i = 0; i < count; ++i) put_number(values, field, view, first + i);
    put_tag(to, field.number, Wire::Bytes);
    put_varint(to, values.size());
    to += values;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    put_tag(to, field.number, wire);
    if (wire == Wire::Bytes || wire == Wire::Group) {
      const std::string_view text = view.strings[first + i];
      if (wire == Wire::Bytes) put_varint(to, text.size());
      to += text;
      if (wire == Wire::Group) put_tag(to, field.number, Wire::GroupEnd);
    } else {
      put_number(to, field, view, first + i);
    }
  }
}

class EncodeProto final : public Kernel {
 public:
  explicit EncodeProto(std::vector<Field> fields) : fields_(std::move(fields)) {
    for (size_t i = 0; i < fields_.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return fields_[a].number < fields_[b].number; });
  }

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    Result<std::vector<Field>> fields = protos::read_fields(attributes);
    if (!fields.ok()) return std::move(fields.error());
    return std::unique_ptr<Kernel>(std::make_unique<EncodeProto>(std::move(fields.value())));
  }

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView sizes_view = io.view(0);
    const std::span<const int32_t> sizes = io.elements<int32_t>(sizes_view);
    io.require(io.input_count() == fields_.size() + 1,
               "Length of inputs list must match field_names");
    std::vector<TensorView> values;
    for (size_t i = 0; i < fields_.size() && !io.failed(); ++i) values.push_back(io.view(i + 1));
    if (io.failed()) return io.take();
    const Shape batch = checked_batch(io, sizes_view, values);
    check_sizes(io, sizes, values);
    if (io.failed()) return io.take();
    const size_t count = batch.elements().value_or(0);
    std::vector<std::string> messages(count);
    for (size_t m = 0; m < count; ++m) {
      for (const size_t i : order_) {
        // A size below 0 is an empty list, as in TensorFlow.
        const int32_t size = sizes[m * fields_.size() + i];
        if (size == 0) continue;
        put_field(messages[m], fields_[i], values[i], m * width(values[i]),
                  static_cast<size_t>(std::max(size, 0)));
      }
    }
    const std::vector<std::string_view> texts(messages.begin(), messages.end());
    io.strings(0, batch, texts);
    return io.take();
  }

 private:
  static size_t width(const TensorView& view) {
    return static_cast<size_t>(view.shape[view.shape.rank() - 1]);
  }

  // The shape that all values share except for their last dim, and the sizes too.
  static Shape checked_batch(KernelIo& io, const TensorView& sizes,
                             std::span<const TensorView> values) {
    Shape batch;
    for (size_t i = 0; i < values.size(); ++i) {
      const Shape& shape = values[i].shape;
      if (!io.require(shape.rank() >= 2, "Invalid shape for field " + std::to_string(i) +
                                             ".  Saw shape " + shape.to_string() +
                                             " but it should be at least a matrix.")) {
        return batch;
      }
      Shape own;
      for (size_t axis = 0; axis + 1 < shape.rank(); ++axis) (void)own.push_back(shape[axis]);
      if (i == 0) batch = own;
      io.require(own == batch, "Values must match up to the last dimension");
    }
    Shape expected = batch;
    (void)expected.push_back(static_cast<int64_t>(values.size()));
    io.require(sizes.shape == expected,
               "sizes should be batch_size + [len(field_names)].  Saw: " + sizes.shape.to_string() +
                   " but expected: " + expected.to_string());
    return batch;
  }

  void check_sizes(KernelIo& io, std::span<const int32_t> sizes,
                   std::span<const TensorView> values) const {
    for (size_t at = 0; at < sizes.size() && !io.failed(); ++at) {
      const size_t field = at % fields_.size();
      const auto most = static_cast<int64_t>(width(values[field]));
      io.require(sizes[at] <= most, "Size " + std::to_string(sizes[at]) + " of field " +
                                        std::to_string(field) + ": expected at most " +
                                        std::to_string(most));
      io.require(fields_[field].repeated || sizes[at] <= 1,
                 "Can't write repeated field " + std::to_string(field) + ": it is not repeated, " +
                     "its size is " + std::to_string(sizes[at]));
    }
  }

  const std::vector<Field> fields_;
  std::vector<size_t> order_;
};

}  // namespace

std::vector<OperatorType> encode_proto_operators() {
  return {{"EncodeProto",
           {{DType::Int32}, {DType::Invalid, Operand::Form::Variadic}},
           {{DType::Bytes}},
           EncodeProto::make}};
}

}  // namespace serval::operators
