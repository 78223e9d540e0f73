// Serializes model information and errors. Control plane, any thread.
#include "backend/isolated/message.h"

#include <algorithm>

#include "base/buffer.h"
#include "base/limits.h"

namespace serval::isolated {

namespace {

// A default value together with its memory.
struct KeptTensor {
  ByteBuffer memory;
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  TensorView view;
};

void write_list(const std::vector<std::string>& texts, Writer& out) {
  out.number(static_cast<uint64_t>(texts.size()));
  for (const std::string& one : texts) out.text(one);
}

std::vector<std::string> read_list(Reader& in) {
  std::vector<std::string> texts(in.count(sizeof(uint64_t)));
  for (std::string& one : texts) one = in.text();
  return texts;
}

void write_dims(std::span<const int64_t> dims, Writer& out) {
  out.number(static_cast<uint64_t>(dims.size()));
  for (const int64_t dim : dims) out.number(dim);
}

std::vector<int64_t> read_dims(Reader& in) {
  std::vector<int64_t> dims(in.count(sizeof(int64_t)));
  for (int64_t& dim : dims) dim = in.number<int64_t>();
  return dims;
}

void write_rows(std::span<const uint32_t> rows, Writer& out) {
  out.number(static_cast<uint64_t>(rows.size()));
  for (const uint32_t one : rows) out.number(one);
}

std::vector<uint32_t> read_rows(Reader& in) {
  std::vector<uint32_t> rows(in.count(sizeof(uint32_t)));
  for (uint32_t& one : rows) one = in.number<uint32_t>();
  return rows;
}

DType read_dtype(Reader& in) {
  const auto number = in.number<uint8_t>();
  if (number > static_cast<uint8_t>(DType::MAX)) in.fail();
  return in.ok() ? static_cast<DType>(number) : DType::Invalid;
}

void write_default(const TensorView& value, Writer& out) {
  out.number(static_cast<uint8_t>(value.dtype));
  write_dims(value.shape.dims(), out);
  if (!dtype_is_text(value.dtype)) {
    out.text({reinterpret_cast<const char*>(value.data), value.bytes});
    return;
  }
  out.number(static_cast<uint64_t>(value.strings.size()));
  for (const std::string_view one : value.strings) out.text(one);
}

std::shared_ptr<const TensorView> read_default(Reader& in) {
  auto kept = std::make_shared<KeptTensor>();
  TensorView& view = kept->view;
  view.dtype = read_dtype(in);
  const std::vector<int64_t> dims = read_dims(in);
  if (dims.size() > kRankMax) in.fail();
  if (!in.ok()) return nullptr;
  view.shape = Shape(dims);
  const std::optional<uint64_t> elements = view.shape.elements();
  if (dtype_is_text(view.dtype)) {
    kept->texts = read_list(in);
    for (const std::string& one : kept->texts) kept->views.emplace_back(one);
    view.strings = kept->views;
    if (elements != kept->views.size()) in.fail();
  } else {
    const std::string_view bytes = in.text();
    const size_t each = dtype_bytes(view.dtype);
    if (each == 0 || !elements || bytes.size() / each != *elements || bytes.size() % each != 0 ||
        !kept->memory.append(bytes)) {
      in.fail();
    }
    view.data = kept->memory.data();
    view.bytes = kept->memory.size();
  }
  if (!in.ok()) return nullptr;
  return {kept, &kept->view};
}

void write_tensor(const TensorSpec& spec, Writer& out) {
  out.text(spec.name);
  out.number(static_cast<uint8_t>(spec.dtype));
  write_dims(spec.dims, out);
  write_list(spec.symbols, out);
  out.number(static_cast<uint8_t>(spec.unknown_rank));
  out.number(static_cast<uint8_t>(spec.unchecked));
  out.number(spec.rank_min);
  out.number(spec.rank_max);
  out.text(spec.rank_of);
  out.number(static_cast<uint8_t>(spec.default_value != nullptr));
  if (spec.default_value != nullptr) write_default(*spec.default_value, out);
  out.number(static_cast<uint8_t>(spec.may_be_absent));
  write_list(spec.labels, out);
}

TensorSpec read_tensor(Reader& in) {
  TensorSpec spec;
  spec.name = in.text();
  spec.dtype = read_dtype(in);
  spec.dims = read_dims(in);
  spec.symbols = read_list(in);
  spec.unknown_rank = in.flag();
  spec.unchecked = in.flag();
  spec.rank_min = in.number<uint8_t>();
  spec.rank_max = in.number<uint8_t>();
  spec.rank_of = in.text();
  if (in.flag()) spec.default_value = read_default(in);
  spec.may_be_absent = in.flag();
  spec.labels = read_list(in);
  const bool named = spec.symbols.empty() || spec.symbols.size() == spec.dims.size();
  if (!named || spec.dims.size() > kRankMax || spec.dtype == DType::Invalid) in.fail();
  return spec;
}

void write_tensors(const std::vector<TensorSpec>& specs, Writer& out) {
  out.number(static_cast<uint64_t>(specs.size()));
  for (const TensorSpec& spec : specs) write_tensor(spec, out);
}

std::vector<TensorSpec> read_tensors(Reader& in) {
  std::vector<TensorSpec> specs;
  for (size_t left = in.count(1); left > 0 && in.ok(); --left) specs.push_back(read_tensor(in));
  return specs;
}

}  // namespace

void write_signatures(const std::vector<Signature>& signatures, Writer& out) {
  out.number(static_cast<uint64_t>(signatures.size()));
  for (const Signature& one : signatures) {
    out.text(one.name);
    write_tensors(one.inputs, out);
    write_tensors(one.outputs, out);
    out.text(one.method_name);
  }
}

void write_info(const BackendModelInfo& info, Writer& out) {
  write_signatures(info.signatures, out);
  for (const std::string* one : {&info.producer, &info.graph_name, &info.description, &info.domain})
    out.text(*one);
  out.number(info.model_version);
  out.number(static_cast<uint64_t>(info.metadata.size()));
  for (const auto& [key, value] : info.metadata) {
    out.text(key);
    out.text(value);
  }
  out.number(info.file_bytes);
  write_list(info.providers, out);
  write_list(info.notes, out);
  out.number(static_cast<uint64_t>(info.nodes.size()));
  for (const auto& [provider, nodes] : info.nodes) {
    out.text(provider);
    out.number(nodes);
  }
  out.number(static_cast<uint8_t>(info.on_gpu));
  out.number(static_cast<uint8_t>(info.takes_device_memory));
  out.number(info.device_bytes);
  write_rows(info.device_runs.graph_rows, out);
  out.number(info.device_runs.graph_bytes);
  write_rows(info.device_runs.fixed_rows, out);
  out.text(info.device_runs.why);
  out.number(static_cast<uint8_t>(info.stateful));
  out.number(static_cast<uint64_t>(info.rows.size()));
  for (const auto& [verdict, text] : info.rows) {
    out.number(static_cast<uint8_t>(verdict));
    out.text(text);
  }
}

Result<BackendModelInfo> read_info(std::span<const uint8_t> bytes) {
  Reader in(bytes);
  BackendModelInfo info;
  for (size_t left = in.count(1); left > 0 && in.ok(); --left) {
    Signature& one = info.signatures.emplace_back();
    one.name = in.text();
    one.inputs = read_tensors(in);
    one.outputs = read_tensors(in);
    one.method_name = in.text();
    if (one.inputs.size() > kInputsMax || one.outputs.size() > kInputsMax) in.fail();
  }
  for (std::string* one : {&info.producer, &info.graph_name, &info.description, &info.domain})
    *one = in.text();
  info.model_version = in.number<int64_t>();
  for (size_t left = in.count(2 * sizeof(uint64_t)); left > 0 && in.ok(); --left) {
    const std::string_view key = in.text(), value = in.text();
    info.metadata.emplace_back(key, value);
  }
  info.file_bytes = in.number<int64_t>();
  info.providers = read_list(in);
  info.notes = read_list(in);
  for (size_t left = in.count(sizeof(uint64_t) + sizeof(uint32_t)); left > 0 && in.ok(); --left) {
    ProviderNodes& one = info.nodes.emplace_back();
    one.provider = in.text();
    one.nodes = in.number<uint32_t>();
  }
  info.computes = false;
  info.on_gpu = in.flag();
  info.takes_device_memory = in.flag();
  info.device_bytes = in.number<int64_t>();
  info.device_runs.graph_rows = read_rows(in);
  info.device_runs.graph_bytes = in.number<int64_t>();
  info.device_runs.fixed_rows = read_rows(in);
  info.device_runs.why = in.text();
  info.stateful = in.flag();
  for (size_t left = in.count(sizeof(uint8_t) + sizeof(uint64_t)); left > 0 && in.ok(); --left) {
    RowsProof& one = info.rows.emplace_back();
    one.verdict = static_cast<RowsVerdict>(in.number<uint8_t>());
    one.text = in.text();
    if (one.verdict > RowsVerdict::Unproved) in.fail();
  }
  if (!in.ok() || !in.ended() || info.signatures.empty()) {
    return make_error(ErrorCode::Internal, "the model's process sent an invalid description");
  }
  return info;
}

void write_error(const Error& error, Writer& out) {
  out.number(static_cast<uint8_t>(error.code));
  out.text(error.message);
  out.text(error.detail);
  out.text(error.signature);
}

Error read_error(Reader& in) {
  Error error;
  const auto code = in.number<uint8_t>();
  error.message = in.text();
  error.detail = in.text();
  error.signature = in.text();
  if (!in.ok() || code == 0 || code > static_cast<uint8_t>(ErrorCode::MAX)) {
    return make_error(ErrorCode::Internal, "the model's process sent an invalid error");
  }
  error.code = static_cast<ErrorCode>(code);
  return error;
}

}  // namespace serval::isolated
