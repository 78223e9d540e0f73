// V2 JSON for a tabular model: see table.h. Hot path; any thread. One pass finds members by their
// brackets, a second one reads the needed ones strictly. The whole text is only checked if an error
// occurs, so that a JSON fault is reported before any other.
#include "base/bytes/utf8.h"
#include "codec/bytes_tensor.h"
#include "codec/checked.h"
#include "codec/table/bind.h"
#include "codec/table/json_data.h"
#include "codec/table/table.h"
#include "codec/v2/json_parts.h"

namespace serval {

namespace {

using namespace table;

constexpr size_t kFirstTensors = 16;  // initial capacity

// A member whose value is read later; empty = not there.
using Member = std::string_view;

// The source of an input's data, other than its tensor.
struct Contents {
  Member data;
  bool is_binary = false;
  std::span<const uint8_t> binary;
};

class V2Decoder final : public TensorSource {
 public:
  V2Decoder(const v2::Body& parts, const TableSchema& table, const Signature& signature,
            const Limits& limits, Arena& arena, DecodedRequest& out)
      : body_(parts.json, arena),
        binary_(parts.binary),
        has_header_(parts.has_header),
        table_(table),
        signature_(signature),
        limits_(limits),
        arena_(arena),
        out_(out) {}

  Status decode();

  Status read(size_t index, uint64_t elements, RequestTensor& tensor) override;
  Status read_nested(size_t index, RequestTensor& tensor) override;
  bool text_is_checked() const override { return !any_binary_; }

 private:
  const char* read_root(const char* p);
  const char* read_inputs(const char* p);
  const char* read_input(const char* p);
  const char* read_shape(Member shape, RequestTensor& tensor);
  const char* read_tensor_parameters(Member given, RequestTensor& tensor, Contents& contents);
  const char* read_request_parameters(const char* p);
  const char* read_request_parameter(std::string_view key, const char* p);
  const char* read_outputs(const char* p);
  const char* read_output(const char* p);
  const char* pass(const char* p) { return pass_value(p, body_, unchecked_); }
  // Records the position of a member's value.
  const char* note(std::string_view name, const char* p, Member& member);
  const char* note_string(const std::string& where, std::string_view name, const char* p,
                          std::string_view& out);
  bool take_tensor(const RequestTensor& tensor, const Contents& contents);
  Status check_syntax();
  Status bind();

  const char* fail(Status fault) {
    if (fault_.ok()) fault_ = std::move(fault);
    return nullptr;
  }
  const char* fail(const std::string& what) { return fail(Status(invalid_argument(what))); }

  FastBody body_;
  std::span<const uint8_t> binary_;
  const bool has_header_;
  const TableSchema& table_;
  const Signature& signature_;
  const Limits& limits_;
  Arena& arena_;
  DecodedRequest& out_;
  RequestTensor* tensors_ = nullptr;
  Contents* contents_ = nullptr;
  size_t count_ = 0, room_ = 0;
  RequestParameters asked_;
  Member outputs_;
  bool binary_by_default_ = false, any_binary_ = false;
  bool has_inputs_ = false, unchecked_ = false, checked_ = false;
  Status fault_;
};

std::string expected_text(std::string_view text) {
  return text.empty() ? "the end of the text" : echo_text(text);
}

const char* V2Decoder::note(std::string_view name, const char* p, Member& member) {
  const char* stop = v2::behind_value(p, body_.end);
  if (stop == nullptr) return nullptr;
  if (!member.empty()) return fail("'" + std::string(name) + "' is given twice");
  member = {p, static_cast<size_t>(stop - p)};
  return stop;
}

const char* V2Decoder::note_string(const std::string& where, std::string_view name, const char* p,
                                   std::string_view& out) {
  if (*p == '"') return read_text(p, body_.end, arena_, out);
  const char* stop = pass(p);
  if (stop == nullptr) return nullptr;
  return fail(where + "'" + std::string(name) + "': expected a string, got " +
              echo_text({p, static_cast<size_t>(stop - p)}));
}

const char* V2Decoder::read_shape(Member shape, RequestTensor& tensor) {
  const char* const end = shape.data() + shape.size();
  const char* stop = each_item(shape.data(), end, [&](const char* p) -> const char* {
    int64_t dim = 0;
    const char* behind = read_integer<int64_t>(p, end, dim);
    if (behind == nullptr || behind > end || !ends_number(*behind)) return nullptr;
    return tensor.shape.push_back(dim) ? behind : nullptr;
  });
  if (stop == end) return stop;
  return fail(input_text(tensor) + ": 'shape': expected a list of at most " +
              std::to_string(kRankMax) + " integers, got " + echo_text(shape));
}

const char* V2Decoder::read_tensor_parameters(Member given, RequestTensor& tensor,
                                              Contents& contents) {
  const char* const end = given.data() + given.size();
  const char* stop =
      each_entry(given.data(), end, arena_, [&](std::string_view key, const char* p) {
        ParameterValue value;
        const char* behind = read_parameter(p, body_, value, unchecked_);
        if (behind == nullptr) return behind;
        if (key.starts_with("shared_memory_")) {
          return fail(make_error(ErrorCode::Unimplemented,
                                 input_text(tensor) + std::string(kNoSharedMemory)));
        }
        if (key == "binary_data_size") {
          if (value.kind != ParameterValue::Kind::Integer || value.integer < 0) {
            return fail(
                Status(v2::not_whole(input_text(tensor) + ": parameters", key, 0, value.text)));
          }
          const auto size = static_cast<uint64_t>(value.integer);
          if (size > binary_.size()) {
            return fail(input_text(tensor) + ": binary_data_size " + std::to_string(size) +
                        " overruns the body: " + std::to_string(binary_.size()) +
                        " bytes of binary data left" +
                        (has_header_ ? "" : " (no Inference-Header-Content-Length header)"));
          }
          contents.is_binary = any_binary_ = true;
          contents.binary = binary_.first(static_cast<size_t>(size));
          binary_ = binary_.subspan(contents.binary.size());
          return behind;
        }
        Status set = set_tensor_parameter(key, value, tensor, tensor.parameters);
        return set.ok() ? behind : fail(std::move(set));
      });
  if (stop == end) return stop;
  return fail(input_text(tensor) + ": 'parameters': expected an object, got " + echo_text(given));
}

bool V2Decoder::take_tensor(const RequestTensor& tensor, const Contents& contents) {
  if (count_ == kInputsMax) {
    fail("'inputs': expected at most " + std::to_string(kInputsMax) + " of them");
    return false;
  }
  if (count_ == room_) {
    const size_t room = std::max(room_ * 2, kFirstTensors);
    auto* tensors = arena_.allocate_array<RequestTensor>(room);
    auto* datas = arena_.allocate_array<Contents>(room);
    if (tensors == nullptr || datas == nullptr) {
      fail(Status(no_memory()));
      return false;
    }
    std::uninitialized_copy_n(tensors_, count_, tensors);
    std::uninitialized_copy_n(contents_, count_, datas);
    tensors_ = tensors;
    contents_ = datas;
    room_ = room;
  }
  new (&tensors_[count_]) RequestTensor(tensor);
  new (&contents_[count_++]) Contents(contents);
  return true;
}

const char* V2Decoder::read_input(const char* p) {
  RequestTensor tensor;
  Contents contents;
  Member shape, parameters;
  std::string_view datatype;
  bool has_name = false;
  const std::string where = "inputs[" + std::to_string(count_) + "]: ";
  const char* stop = each_entry(p, body_.end, arena_, [&](std::string_view key, const char* at) {
    if (key == "name" && !has_name) {
      has_name = true;
      return note_string(where, key, at, tensor.name);
    }
    if (key == "datatype" && datatype.empty()) return note_string(where, key, at, datatype);
    if (key == "name" || key == "datatype") return fail(where + "'" + std::string(key) + "' twice");
    if (key == "shape") return note(key, at, shape);
    if (key == "parameters" && *at == 'n') return pass(at);  // null: absent
    if (key == "data") return note(key, at, contents.data);
    if (key == "parameters") return note(key, at, parameters);
    return pass(at);
  });
  if (stop == nullptr) return fail(where + "expected an object");
  if (!has_name) return fail(where + "'name' is missing");
  tensor.dtype = dtype_from_name(datatype);
  if (datatype.empty()) return fail(input_text(tensor) + ": 'datatype' is missing");
  if (tensor.dtype == DType::Invalid) {
    return fail(input_text(tensor) + ": unknown datatype " + quoted(datatype));
  }
  if (shape.empty()) return fail(input_text(tensor) + ": 'shape' is missing");
  if (read_shape(shape, tensor) == nullptr) return nullptr;
  if (!parameters.empty()) {
    if (read_tensor_parameters(parameters, tensor, contents) == nullptr) return nullptr;
    if (Status right = check_parameters(tensor); !right.ok()) return fail(std::move(right));
  }
  if (contents.is_binary != contents.data.empty()) {
    return fail(input_text(tensor) +
                ": expected exactly one of 'data' and parameters 'binary_data_size'");
  }
  return take_tensor(tensor, contents) ? stop : nullptr;
}

const char* V2Decoder::read_inputs(const char* p) {
  if (has_inputs_) return fail("request body: 'inputs' twice");
  has_inputs_ = true;
  const char* stop = each_item(p, body_.end, [&](const char* at) { return read_input(at); });
  return stop != nullptr ? stop : fail("'inputs': expected a list of objects");
}

const char* V2Decoder::read_request_parameter(std::string_view key, const char* p) {
  ParameterValue value;
  const char* behind = read_parameter(p, body_, value, unchecked_);
  if (behind == nullptr) return nullptr;
  using Kind = ParameterValue::Kind;
  if (key == "binary_data_output") {
    binary_by_default_ = value.flag;
    return value.kind == Kind::Bool
               ? behind
               : fail("parameters 'binary_data_output': expected true or false, got " +
                      echo_text(value.text));
  }
  uint64_t unused = 0;
  if ((key == v2::kPriorityKey || key == v2::kTimeoutKey) &&
      (value.kind == Kind::Text || !v2::whole_number(value.text, unused))) {
    return fail(Status(v2::not_whole("parameters", key, 0, value.text)));
  }
  Status set = set_request_parameter(key, value, asked_);
  return set.ok() ? behind : fail(std::move(set));
}

const char* V2Decoder::read_request_parameters(const char* p) {
  const char* stop = each_entry(p, body_.end, arena_, [&](std::string_view key, const char* at) {
    return read_request_parameter(key, at);
  });
  return stop != nullptr ? stop : fail("'parameters': expected an object");
}

const char* V2Decoder::read_output(const char* p) {
  NamedOutput wanted;
  bool has_name = false;
  const std::string where = "outputs[" + std::to_string(out_.outputs.size()) + "]: ";
  const char* stop = each_entry(p, body_.end, arena_, [&](std::string_view key, const char* at) {
    if (key == "name") {
      has_name = true;
      return note_string(where, key, at, wanted.name);
    }
    if (key != "parameters" || *at == 'n') return pass(at);
    return each_entry(at, body_.end, arena_, [&](std::string_view name, const char* value_at) {
      ParameterValue value;
      const char* behind = read_parameter(value_at, body_, value, unchecked_);
      if (behind == nullptr) return behind;
      if (name == "classification") {
        uint64_t classes = 0;
        if (value.kind == ParameterValue::Kind::Text || !v2::whole_number(value.text, classes) ||
            classes == 0) {
          return fail(Status(v2::not_whole(where + "parameters", name, 1, value.text)));
        }
        wanted.classes = v2::listed_classes(classes);
      }
      if (name.starts_with("shared_memory_")) {
        return fail(
            make_error(ErrorCode::Unimplemented, where + std::string(kNoSharedMemory.substr(2))));
      }
      if (name != "binary_data") return behind;
      wanted.has_binary = true;
      wanted.binary = value.flag;
      return value.kind == ParameterValue::Kind::Bool
                 ? behind
                 : fail(where + "parameters 'binary_data': expected true or false, got " +
                        echo_text(value.text));
    });
  });
  if (stop == nullptr) return fail(where + "expected an object");
  if (!has_name) return fail(where + "'name' is missing");
  Status added = add_output(wanted, binary_by_default_, table_, signature_, out_);
  return added.ok() ? stop : fail(std::move(added));
}

const char* V2Decoder::read_outputs(const char* p) {
  const char* stop = each_item(p, body_.end, [&](const char* at) { return read_output(at); });
  return stop != nullptr ? stop : fail("'outputs': expected a list of objects");
}

const char* V2Decoder::read_root(const char* p) {
  Member parameters;
  return each_entry(p, body_.end, arena_, [&](std::string_view key, const char* at) {
    if (key == "inputs") return read_inputs(at);
    if (*at == 'n') return pass(at);  // null: absent
    if (key == "outputs") return note(key, at, outputs_);
    if (key == "parameters") {
      const char* stop = note(key, at, parameters);
      return stop == nullptr ? nullptr : read_request_parameters(at);
    }
    if (key != "id") return pass(at);
    if (out_.has_id) return fail("request body: 'id' twice");
    out_.has_id = true;
    const char* stop = note_string("request body: ", key, at, out_.id);
    if (out_.id.size() <= kIdBytesMax) return stop;
    return fail("id: expected at most " + std::to_string(kIdBytesMax) + " bytes, got " +
                std::to_string(out_.id.size()));
  });
}

Status V2Decoder::check_syntax() {
  if (checked_) return {};
  checked_ = true;
  const std::string_view text(body_.begin, static_cast<size_t>(body_.end - body_.begin));
  return v2::check_json(text, limits_.json_depth_max, arena_);
}

Status V2Decoder::read(size_t index, uint64_t elements, RequestTensor& tensor) {
  const Contents& contents = contents_[index];
  tensor.elements = elements;
  if (!contents.is_binary) {
    Status fault;
    if (read_data(contents.data, elements, limits_.json_depth_max, arena_, tensor, fault)) {
      return {};
    }
    if (Status sound = check_syntax(); !sound.ok()) return sound;
    if (!fault.ok()) return fault;
    return invalid_argument(input_text(tensor) + ": 'data': expected a list of " +
                            std::to_string(elements) + " elements, got " +
                            echo_text(contents.data));
  }
  TensorView view;
  Status done;
  const DType carrier = carrier_of(tensor.dtype);
  if (carrier == DType::Bytes) {
    done = decode_raw_bytes(contents.binary, elements, tensor.name, arena_, view);
  } else {
    Shape flat;
    (void)flat.push_back(static_cast<int64_t>(elements));
    done = raw_fixed_tensor(contents.binary, carrier, flat, tensor.name, arena_, view);
  }
  tensor.data = view.data;
  tensor.strings = view.strings.data();
  return done;
}

Status V2Decoder::read_nested(size_t index, RequestTensor& tensor) {
  const Contents& contents = contents_[index];
  if (contents.is_binary) {
    return invalid_argument(input_text(tensor) + ": shape " + tensor.shape.to_string() +
                            " with binary data needs the lengths of its cells: expected an input " +
                            quoted(std::string(tensor.name) + std::string(kCompanionSuffix)));
  }
  if (Status sound = check_syntax(); !sound.ok()) return sound;
  if (v2::kind_of(contents.data) != JsonKind::Array) {
    return invalid_argument(input_text(tensor) + ": 'data': expected a list, got " +
                            echo_text(contents.data));
  }
  return read_nested_data(contents.data, arena_, tensor);
}

Status V2Decoder::bind() {
  if (!binary_.empty()) {
    return invalid_argument("binary data: " + std::to_string(binary_.size()) +
                            " bytes left over after the last tensor");
  }
  const std::span<RequestTensor> given(tensors_, count_);
  Status done = bind_tensors(given, *this, table_, asked_.strict, arena_, out_);
  if (!done.ok()) return done;
  out_.table = asked_.options;
  if (!asked_.has_string_datatype) {
    out_.table.text_is_string = asked_.extended || uses_extension(given);
  }
  if (!outputs_.empty() && read_outputs(outputs_.data()) == nullptr) return std::move(fault_);
  if (out_.outputs.empty()) add_default_outputs(table_, binary_by_default_, out_);
  return check_left_out(table_, out_);
}

Status V2Decoder::decode() {
  const std::string_view text(body_.begin, static_cast<size_t>(body_.end - body_.begin));
  if (!is_valid_utf8(text)) return check_syntax();
  const std::string_view root = v2::json_root(text);
  const char* p = root.empty() ? nullptr : read_root(root.data());
  const bool whole = p != nullptr && skip_blanks(p, body_.end) == body_.end;
  if (!whole || unchecked_) {
    if (Status sound = check_syntax(); !sound.ok()) return sound;
  }
  if (!fault_.ok()) return std::move(fault_);
  if (!whole) {
    return invalid_argument("request body: expected an object, got " + expected_text(root));
  }
  if (!has_inputs_) return invalid_argument("request body: 'inputs' is missing");
  Status done = bind();
  // The part that an error left unread may be malformed JSON, which is then reported instead.
  if (done.ok() && !unchecked_) return done;
  Status sound = check_syntax();
  return sound.ok() ? std::move(done) : std::move(sound);
}

}  // namespace

Status decode_table_v2_json(std::span<const uint8_t> body, int64_t json_bytes,
                            const TableSchema& table, const Signature& signature,
                            const Limits& limits, Arena& arena, DecodedRequest& out) {
  out.clear();
  v2::Body parts;
  if (Status split = v2::split_body(body, json_bytes, parts); !split.ok()) return split;
  if (json_bytes == 0) {
    return invalid_argument(
        "raw request (Inference-Header-Content-Length: 0): a tabular model needs the JSON that "
        "names its inputs");
  }
  return V2Decoder(parts, table, signature, limits, arena, out).decode();
}

}  // namespace serval
