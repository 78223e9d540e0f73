// Reads tensor values of V1 predict bodies: nested lists into flat memory, one loop per dtype. Hot
// path; any thread. Recursion is bounded by kRankMax. json_tensor.cc accepts everything that is
// accepted here, with the same elements; anything unusual is rejected.
#include "codec/serving/json_values.h"

#include <cstring>

#include "codec/json/number.h"

namespace serval {

namespace {

// A kind of element: its type in memory and the reader of its text.
template <typename T>
struct IntegerLeaf {
  using Type = T;
  static const char* read(const char* p, FastBody& body, T& out) {
    return read_integer(p, body.end, out);
  }
};

template <typename T>
struct RealLeaf {
  using Type = T;
  static const char* read(const char* p, FastBody& body, T& out) {
    double value = 0;
    p = read_double(p, body.end, value);
    out = T(value);
    return p;
  }
};

struct BoolLeaf {
  using Type = uint8_t;
  static const char* read(const char* p, FastBody&, uint8_t& out) {
    const bool yes = std::memcmp(p, "true", 4) == 0;
    if (!yes && std::memcmp(p, "false", 5) != 0) return nullptr;
    out = yes;
    return p + (yes ? 4 : 5);
  }
};

struct TextLeaf {
  using Type = std::string_view;
  static const char* read(const char* p, FastBody& body, std::string_view& out) {
    return *p == '{' ? read_base64_object(p, body, out) : read_string(p, body, out);
  }
};

bool set_dim(int64_t& dim, int64_t count) {
  if (dim < 0) dim = count;
  return dim == count;
}

// Reads the innermost list; `p` is after its bracket.
template <typename Leaf>
const char* read_leaves(const char* p, FastBody& body, FastTensor& tensor, int64_t& dim) {
  using T = typename Leaf::Type;
  const char* const end = body.end;
  T* const first = reinterpret_cast<T*>(tensor.next);
  T* const limit = reinterpret_cast<T*>(tensor.limit);
  T* out = first;
  p = skip_blanks(p, end);
  if (*p != ']') {
    for (;;) {
      if (out == limit || p >= end) return nullptr;
      p = Leaf::read(p, body, *out);
      if (p == nullptr) return nullptr;
      ++out;
      p = skip_blanks(p, end);
      if (*p != ',') break;
      p = skip_blanks(p + 1, end);
    }
    if (*p != ']') return nullptr;
  }
  tensor.next = reinterpret_cast<uint8_t*>(out);
  return set_dim(dim, out - first) ? p + 1 : nullptr;
}

template <typename Leaf>
const char* read_lists(const char* p, FastBody& body, FastTensor& tensor, size_t level) {
  if (*p != '[') return nullptr;
  if (level + 1 == tensor.rank) {
    return read_leaves<Leaf>(p + 1, body, tensor, tensor.dims[level]);
  }
  int64_t count = 0;
  p = skip_blanks(p + 1, body.end);
  for (;;) {
    if (p >= body.end) return nullptr;
    p = read_lists<Leaf>(p, body, tensor, level + 1);
    if (p == nullptr) return nullptr;
    ++count;
    p = skip_blanks(p, body.end);
    if (*p != ',') break;
    p = skip_blanks(p + 1, body.end);
  }
  return *p == ']' && set_dim(tensor.dims[level], count) ? p + 1 : nullptr;
}

template <typename Leaf>
const char* read_nested(const char* p, FastBody& body, FastTensor& tensor) {
  using T = typename Leaf::Type;
  if (tensor.rank != 0) return read_lists<Leaf>(p, body, tensor, 0);
  if (tensor.next == tensor.limit || p >= body.end) return nullptr;
  p = Leaf::read(p, body, *reinterpret_cast<T*>(tensor.next));
  tensor.next += sizeof(T);
  return p;
}

}  // namespace

size_t element_bytes(DType dtype) {
  return dtype == DType::Bytes ? sizeof(std::string_view) : dtype_bytes(dtype);
}

bool begin_value(const char* p, FastBody& body, DType dtype, size_t rank_max, FastTensor& tensor) {
  tensor.dtype = dtype;
  tensor.rank = 0;
  tensor.values = 0;
  const char* front = p;
  while (*front == '[' && front < body.end) {
    if (tensor.rank == rank_max) return false;
    tensor.dims[tensor.rank++] = -1;
    front = skip_blanks(front + 1, body.end);
  }
  // An element and its separator take at least two bytes, a string three.
  const auto left = static_cast<size_t>(body.end - p);
  const size_t elements = tensor.rank == 0 ? 1 : left / (dtype == DType::Bytes ? 3 : 2) + 1;
  const size_t bytes = elements * element_bytes(dtype);
  tensor.data = tensor.next = static_cast<uint8_t*>(body.arena.allocate(bytes));
  if (tensor.data == nullptr) return false;
  tensor.limit = tensor.data + bytes;
  body.latest = tensor.data;
  return true;
}

const char* read_value(const char* p, FastBody& body, FastTensor& tensor) {
  return visit(tensor.dtype, [&]<typename T>(TypeTag<T>) -> const char* {
    if constexpr (std::same_as<T, bool>) return read_nested<BoolLeaf>(p, body, tensor);
    else if constexpr (IsInteger<T>) return read_nested<IntegerLeaf<T>>(p, body, tensor);
    else if constexpr (IsReal<T>) return read_nested<RealLeaf<T>>(p, body, tensor);
    else if constexpr (std::same_as<T, std::string_view>)
      return read_nested<TextLeaf>(p, body, tensor);
    else return nullptr;
  });
}

void trim_value(FastBody& body, FastTensor& tensor) {
  if (body.latest != tensor.data) return;
  body.arena.shrink_last(tensor.data, static_cast<size_t>(tensor.next - tensor.data));
  tensor.limit = tensor.next;
}

void make_view(const FastTensor& tensor, int64_t batch, TensorView& out) {
  out.dtype = tensor.dtype;
  out.shape.clear();
  bool fits = batch < 0 || out.shape.push_back(batch);
  for (uint32_t i = 0; i < tensor.rank; ++i) fits = fits && out.shape.push_back(tensor.dims[i]);
  const auto bytes = static_cast<size_t>(tensor.next - tensor.data);
  out.data = nullptr;
  out.bytes = 0;
  out.strings = {};
  if (tensor.dtype == DType::Bytes) {
    out.strings = {reinterpret_cast<const std::string_view*>(tensor.data),
                   bytes / sizeof(std::string_view)};
  } else {
    out.data = tensor.data;
    out.bytes = bytes;
  }
}

}  // namespace serval
