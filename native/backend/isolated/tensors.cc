// Reads and writes tensor messages. Hot path, any thread.
#include "backend/isolated/tensors.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"

namespace serval::isolated {

namespace {

constexpr size_t kHeadBytesMax = 4u << 20;
constexpr size_t kTextsKeepBytes = 1u << 20;
// Minimum size of a record: datatype, rank, device memory, offset, bytes, elements.
constexpr size_t kRecordBytesMin = 1 + 1 + 4 * sizeof(uint64_t);

constexpr uint64_t aligned(uint64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

uint64_t elements_at(size_t head_bytes) { return aligned(sizeof(uint64_t) + head_bytes); }

// Size of one tensor's elements in the message; for text, their lengths and then their bytes.
std::optional<uint64_t> bytes_of(const TensorView& tensor) {
  if (tensor.device != nullptr) return 0;
  if (!dtype_is_text(tensor.dtype)) return tensor.bytes;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.strings.size(), sizeof(uint64_t), &bytes)) return std::nullopt;
  for (const std::string_view one : tensor.strings) {
    if (__builtin_add_overflow(bytes, one.size(), &bytes)) return std::nullopt;
  }
  return bytes;
}

void put_elements(const TensorView& tensor, uint8_t* to) {
  if (tensor.device != nullptr) return;
  if (!dtype_is_text(tensor.dtype)) {
    if (tensor.bytes != 0) std::memcpy(to, tensor.data, tensor.bytes);
    return;
  }
  uint8_t* text = to + tensor.strings.size() * sizeof(uint64_t);
  for (const std::string_view one : tensor.strings) {
    const uint64_t length = one.size();
    std::memcpy(to, &length, sizeof length);
    to += sizeof length;
    if (!one.empty()) std::memcpy(text, one.data(), one.size());
    text += one.size();
  }
}

// Counted from 1; 0 = in the message.
uint64_t place_in(const DeviceList& devices, const gpu::SharedMemory* memory) {
  if (memory == nullptr) return 0;
  const auto found = std::find(devices.begin(), devices.end(), memory);
  return static_cast<uint64_t>(found - devices.begin()) + 1;
}

}  // namespace

void list_device(const gpu::SharedMemory* memory, DeviceList& list) {
  if (memory == nullptr || std::find(list.begin(), list.end(), memory) != list.end()) return;
  list.push_back(memory);
}

std::optional<uint64_t> write_records(std::span<const TensorView> tensors,
                                      const DeviceList& devices, Writer& head) {
  head.number(static_cast<uint64_t>(tensors.size()));
  uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const std::optional<uint64_t> bytes = bytes_of(tensor);
    if (!bytes) return std::nullopt;
    head.number(static_cast<uint8_t>(tensor.dtype));
    head.number(static_cast<uint8_t>(tensor.shape.rank()));
    for (const int64_t dim : tensor.shape.dims()) head.number(dim);
    head.number(place_in(devices, tensor.device));
    if (tensor.device != nullptr) {
      head.number(static_cast<uint64_t>(tensor.data - tensor.device->data()));
      head.number(static_cast<uint64_t>(tensor.bytes));
      head.number(uint64_t{0});
      continue;
    }
    head.number(offset);
    head.number(*bytes);
    head.number(static_cast<uint64_t>(tensor.strings.size()));
    if (__builtin_add_overflow(offset, *bytes, &offset) || offset > UINT64_MAX / 2) {
      return std::nullopt;
    }
    offset = aligned(offset);
  }
  return offset;
}

uint64_t message_bytes(const Writer& head, uint64_t element_bytes) {
  return elements_at(head.bytes().size()) + element_bytes;
}

Status write_message(const Writer& head, uint64_t element_bytes,
                     std::span<const TensorView> tensors, Area& area) {
  const uint64_t head_bytes = head.bytes().size();
  const uint64_t total = message_bytes(head, element_bytes);
  if (head_bytes > kHeadBytesMax || !area.reserve(total)) {
    return make_error(ErrorCode::MemoryFull,
                      "no memory for " + std::to_string(total) + " bytes between two processes");
  }
  std::memcpy(area.data(), &head_bytes, sizeof head_bytes);
  if (head_bytes > 0) std::memcpy(area.data() + sizeof head_bytes, head.bytes().data(), head_bytes);
  uint8_t* to = area.data() + elements_at(head_bytes);
  for (const TensorView& tensor : tensors) {
    put_elements(tensor, to);
    to += aligned(*bytes_of(tensor));
  }
  return {};
}

bool Message::read(Area& area, uint64_t bytes) {
  uint64_t head_bytes = 0;
  if (bytes < sizeof head_bytes || !area.see(bytes)) return false;
  std::memcpy(&head_bytes, area.data(), sizeof head_bytes);
  if (head_bytes > kHeadBytesMax || elements_at(head_bytes) > bytes) return false;
  const uint8_t* from = area.data() + sizeof head_bytes;
  head_.assign(from, from + head_bytes);
  elements_ = std::span<const uint8_t>(area.data(), bytes).subspan(elements_at(head_bytes));
  return true;
}

bool Message::read_tensors(Reader& in, const DeviceList& devices, std::vector<TensorView>& out) {
  out.clear();
  views_.clear();
  texts_.clear();
  const size_t count = in.count(kRecordBytesMin);
  if (count > kInputsMax) return false;
  for (size_t i = 0; i < count; ++i) {
    TensorView& one = out.emplace_back();
    const auto dtype = in.number<uint8_t>();
    const auto rank = in.number<uint8_t>();
    if (dtype > static_cast<uint8_t>(DType::MAX) || rank > kRankMax) return false;
    one.dtype = static_cast<DType>(dtype);
    for (uint8_t at = 0; at < rank; ++at) {
      if (!one.shape.push_back(in.number<int64_t>())) return false;
    }
    const auto place = in.number<uint64_t>();
    const auto offset = in.number<uint64_t>();
    const auto bytes = in.number<uint64_t>();
    const auto texts = in.number<uint64_t>();
    if (!in.ok() || place > devices.size()) return false;
    one.device = place == 0 ? nullptr : devices[place - 1];
    const uint64_t there = place == 0 ? elements_.size() : one.device->bytes();
    if (offset > there || bytes > there - offset) return false;
    if (one.dtype == DType::Invalid) continue;  // an omitted input
    if (dtype_is_tabular(one.dtype)) return false;
    if (place == 0 ? offset % kTensorAlignment != 0 : dtype_is_text(one.dtype)) return false;
    const std::optional<uint64_t> elements = one.shape.elements();
    if (!elements) return false;
    if (dtype_is_text(one.dtype)) {
      const std::span<const uint8_t> data = elements_.subspan(offset, bytes);
      if (texts != *elements || texts > bytes / sizeof(uint64_t)) return false;
      views_.emplace_back(texts);
      if (!read_texts(data, one)) return false;
      continue;
    }
    const size_t each = dtype_bytes(one.dtype);
    if (texts != 0 || bytes % each != 0 || bytes / each != *elements) return false;
    one.data = (place == 0 ? elements_.data() : one.device->data()) + offset;
    one.bytes = bytes;
  }
  return in.ok();
}

// Reads each length only once: it could change between two reads.
bool Message::read_texts(std::span<const uint8_t> bytes, TensorView& out) {
  std::vector<std::string_view>& views = views_.back();
  const std::span<const uint8_t> text = bytes.subspan(views.size() * sizeof(uint64_t));
  const std::vector<char>& copy = texts_.emplace_back(text.begin(), text.end());
  uint64_t at = 0;
  for (size_t i = 0; i < views.size(); ++i) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + i * sizeof length, sizeof length);
    if (length > copy.size() - at) return false;
    views[i] = {copy.data() + at, length};
    at += length;
  }
  out.strings = views;
  return true;
}

void Message::trim() {
  size_t held = 0;
  for (const auto& one : texts_) held += one.capacity();
  for (const auto& one : views_) held += one.capacity() * sizeof(std::string_view);
  if (held > kTextsKeepBytes) {
    views_.clear();
    texts_.clear();
  }
}

}  // namespace serval::isolated
