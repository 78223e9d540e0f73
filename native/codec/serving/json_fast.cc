// The fast V1 predict decoder: one pass over the body, numbers directly into arena memory. Hot
// path; any thread. It produces no error texts: it rejects anything wrong or unusual (a byte order
// mark, text after the document, duplicate keys, keys with escapes), and the plain decoder decides.
// Source: tfserving.md 1.4, 1.5.
#include <cstring>

#include "codec/serving/json.h"
#include "codec/serving/json_request.h"
#include "codec/serving/json_values.h"

namespace serval {

namespace {

enum class Verdict : uint8_t { Accepted, TurnedDown, OtherSignature };

class FastDecoder {
 public:
  // `preset`: the signature's index if an earlier pass found it, else -1.
  FastDecoder(std::string_view text, std::span<const Signature> signatures, int preset,
              Arena& arena, DecodedRequest& out)
      : body_(text, arena), signatures_(signatures), current_(preset), out_(out) {}

  Verdict decode();
  int named_signature() const { return named_; }

 private:
  // Steps over the body: return the byte after what they read, or nullptr.
  const char* members(const char* p);
  const char* member(const char* p, std::string_view key);
  const char* signature_name(const char* p);
  const char* row(const char* p);
  const char* row_list(const char* p, const TensorSpec& spec);
  const char* row_objects(const char* p);
  const char* row_object(const char* p, FastTensor* tensors, int64_t instance);
  const char* columns(const char* p);
  const char* column_objects(const char* p);
  const char* whole_value(const char* p, const TensorSpec& spec, size_t index);
  bool spread(const char* p, FastTensor* tensors);
  size_t find_input(std::string_view key, size_t guess) const;

  const Signature& signature() const { return signatures_[static_cast<size_t>(current_)]; }

  FastBody body_;
  std::span<const Signature> signatures_;
  int current_;     // the signature used to read tensors; -1 = none yet
  int named_ = -1;  // the signature that the body names
  bool has_tensors_ = false;
  bool has_name_ = false;
  DecodedRequest& out_;
};

Verdict FastDecoder::decode() {
  const char* p = skip_blanks(body_.begin, body_.end);
  if (*p != '{' || p >= body_.end) return Verdict::TurnedDown;
  p = members(p + 1);
  if (p == nullptr || p > body_.end || !has_tensors_) return Verdict::TurnedDown;
  if (skip_blanks(p, body_.end) != body_.end) return Verdict::TurnedDown;
  if (has_name_ && named_ != current_) return Verdict::OtherSignature;
  out_.signature_index = static_cast<uint32_t>(current_);
  request_all_outputs(signature(), out_);
  return Verdict::Accepted;
}

// Reads `"key" :` and the blanks around it.
const char* read_key(const char* p, const char* end, std::string_view& key) {
  p = skip_blanks(p, end);
  if (p >= end) return nullptr;
  p = read_plain_string(p, end, key);
  if (p == nullptr) return nullptr;
  p = skip_blanks(p, end);
  if (*p != ':') return nullptr;
  p = skip_blanks(p + 1, end);
  return p < end ? p : nullptr;
}

const char* FastDecoder::members(const char* p) {
  for (;;) {
    std::string_view key;
    p = read_key(p, body_.end, key);
    if (p == nullptr) return nullptr;
    p = member(p, key);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, body_.end);
    if (*p == '}') return p + 1;
    if (*p++ != ',') return nullptr;
  }
}

const char* FastDecoder::member(const char* p, std::string_view key) {
  const bool row_format = key == kInstancesKey;
  if (row_format || key == kInputsKey) {
    if (has_tensors_) return nullptr;
    has_tensors_ = true;
    if (current_ < 0) current_ = find_signature(signatures_, {});
    if (current_ < 0) return nullptr;
    out_.row_format = row_format;
    out_.inputs.resize(signature().inputs.size());
    return row_format ? row(p) : columns(p);
  }
  if (key == kSignatureNameKey) return signature_name(p);
  return skip_value(p, body_);
}

const char* FastDecoder::signature_name(const char* p) {
  std::string_view name;
  p = read_plain_string(p, body_.end, name);
  if (p == nullptr || has_name_) return nullptr;
  has_name_ = true;
  named_ = find_signature(signatures_, name);
  if (named_ < 0) return nullptr;
  if (current_ < 0) current_ = named_;
  return p;
}

const char* FastDecoder::whole_value(const char* p, const TensorSpec& spec, size_t index) {
  FastTensor tensor;
  if (!begin_value(p, body_, spec.dtype, kRankMax, tensor)) return nullptr;
  p = read_value(p, body_, tensor);
  if (p == nullptr) return nullptr;
  trim_value(body_, tensor);
  make_view(tensor, -1, out_.inputs[index]);
  return p;
}

const char* FastDecoder::row(const char* p) {
  if (*p != '[') return nullptr;
  const char* first = skip_blanks(p + 1, body_.end);
  const bool objects = *first == '{' && !is_base64_front(first, body_.end);
  if (objects) return row_objects(first);
  if (*first == ']' || signature().inputs.size() != 1) return nullptr;
  return whole_value(p, signature().inputs[0], 0);
}

// Index of the input called `key`, or inputs.size(). Tries `guess` first, since objects tend to
// keep one key order.
size_t FastDecoder::find_input(std::string_view key, size_t guess) const {
  const std::vector<TensorSpec>& inputs = signature().inputs;
  if (guess < inputs.size() && inputs[guess].name == key) return guess;
  const int index = signature().find_input(key);
  return index < 0 ? inputs.size() : static_cast<size_t>(index);
}

// Allocates memory for all instances, after the first shows how many elements each has and how few
// bytes an instance can take; moves the first one's elements there. The total is not more than the
// rest of the body can hold.
bool FastDecoder::spread(const char* p, FastTensor* tensors) {
  const size_t inputs = signature().inputs.size();
  size_t elements = 0;
  for (size_t i = 0; i < inputs; ++i) {
    const auto bytes = static_cast<size_t>(tensors[i].next - tensors[i].data);
    elements += bytes / element_bytes(tensors[i].dtype);
  }
  const size_t left = p < body_.end ? static_cast<size_t>(body_.end - p) : 0;
  const size_t instances = 2 + left / (2 * elements + 2);
  for (size_t i = 0; i < inputs; ++i) {
    FastTensor& tensor = tensors[i];
    const auto used = static_cast<size_t>(tensor.next - tensor.data);
    auto* data = static_cast<uint8_t*>(body_.arena.allocate(used * instances));
    if (data == nullptr) return false;
    std::memcpy(data, tensor.data, used);
    tensor.data = data;
    tensor.next = data + used;
    tensor.limit = data + used * instances;
  }
  body_.latest = nullptr;
  return true;
}

// Instance 0 determines each input's rank and shape.
const char* FastDecoder::row_object(const char* p, FastTensor* tensors, int64_t instance) {
  const std::vector<TensorSpec>& inputs = signature().inputs;
  p = skip_blanks(p + 1, body_.end);
  if (*p == '}') return inputs.empty() ? p + 1 : nullptr;
  for (size_t given = 0;; ++given) {
    std::string_view key;
    p = read_key(p, body_.end, key);
    if (p == nullptr) return nullptr;
    const size_t index = find_input(key, given);
    if (index == inputs.size()) return nullptr;
    FastTensor& tensor = tensors[index];
    if (tensor.values != instance) return nullptr;
    if (instance == 0 && !begin_value(p, body_, inputs[index].dtype, kRankMax - 1, tensor)) {
      return nullptr;
    }
    p = read_value(p, body_, tensor);
    if (p == nullptr) return nullptr;
    if (instance == 0) trim_value(body_, tensor);
    ++tensor.values;
    p = skip_blanks(p, body_.end);
    if (*p == '}') return given + 1 == inputs.size() ? p + 1 : nullptr;
    if (*p++ != ',') return nullptr;
  }
}

const char* FastDecoder::row_objects(const char* p) {
  const size_t inputs = signature().inputs.size();
  auto* tensors = body_.arena.allocate_array<FastTensor>(inputs);
  if (tensors == nullptr) return nullptr;
  for (size_t i = 0; i < inputs; ++i) tensors[i].values = 0;
  int64_t instances = 0;
  for (;;) {
    if (*p != '{' || p >= body_.end || is_base64_front(p, body_.end)) return nullptr;
    p = row_object(p, tensors, instances);
    if (p == nullptr) return nullptr;
    ++instances;
    p = skip_blanks(p, body_.end);
    if (*p != ',') break;
    if (instances == 1 && !spread(p, tensors)) return nullptr;
    p = skip_blanks(p + 1, body_.end);
  }
  if (*p != ']') return nullptr;
  for (size_t i = 0; i < inputs; ++i) make_view(tensors[i], instances, out_.inputs[i]);
  return p + 1;
}

const char* FastDecoder::columns(const char* p) {
  const bool objects = *p == '{' && !is_base64_front(p, body_.end);
  if (objects) return column_objects(p);
  if (signature().inputs.size() != 1) return nullptr;
  return whole_value(p, signature().inputs[0], 0);
}

const char* FastDecoder::column_objects(const char* p) {
  const std::vector<TensorSpec>& inputs = signature().inputs;
  p = skip_blanks(p + 1, body_.end);
  if (*p == '}') return inputs.empty() ? p + 1 : nullptr;
  size_t given = 0;
  for (;;) {
    std::string_view key;
    p = read_key(p, body_.end, key);
    if (p == nullptr) return nullptr;
    const size_t index = find_input(key, given);
    if (index == inputs.size() || out_.inputs[index].dtype != DType::Invalid) return nullptr;
    p = whole_value(p, inputs[index], index);
    ++given;
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, body_.end);
    if (*p == '}') return given == inputs.size() ? p + 1 : nullptr;
    if (*p++ != ',') return nullptr;
  }
}

}  // namespace

// Hot path. Reads a body twice if it names its signature after its tensors and it is not the
// default one.
bool decode_v1_predict_fast(std::span<const uint8_t> body, std::span<const Signature> signatures,
                            const Limits&, Arena& arena, DecodedRequest& out) {
  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  int preset = -1;
  for (int pass = 0; pass < 2; ++pass) {
    out.clear();
    FastDecoder decoder(text, signatures, preset, arena, out);
    const Verdict verdict = decoder.decode();
    if (verdict != Verdict::OtherSignature) return verdict == Verdict::Accepted;
    preset = decoder.named_signature();
  }
  return false;
}

}  // namespace serval
