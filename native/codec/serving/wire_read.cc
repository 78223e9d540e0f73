// Hot path. Finds, merges and validates the fields of TensorFlow Serving's requests: one walk over
// the top level sizes the lists, a second one fills them. Any thread. Knows no model.
#include "codec/serving/wire_read.h"

#include <algorithm>
#include <memory>

#include "base/bytes/wire_lists.h"
#include "base/limits.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

// Int64Value in the oneof: an earlier label is dropped, an earlier version is merged.
bool read_version(Bytes bytes, const uint8_t* origin, WireFault& fault, TfModelRef& out) {
  if (!out.has_version) out.version = 0;
  out.has_version = true;
  out.has_label = false;
  out.label = {};
  WireReader reader(bytes, origin, fault);
  WireField field;
  while (reader.next(field)) {
    if (field.tag != wire_tag(proto::google::protobuf::Int64Value::kValue, WireType::Varint))
      continue;
    out.version = static_cast<int64_t>(field.value);
  }
  return fault.reason == nullptr;
}

// An entry of map<string, TensorProto>. Repeated keys and values are merged.
bool read_input(Bytes entry, const uint8_t* origin, WireFault& fault, WireTfInput& out) {
  out.tensor.message = entry;
  out.tensor.in_entry = true;
  WireReader reader(entry, origin, fault);
  WireField field;
  while (reader.next(field)) {
    if (field.tag == bytes_tag(MapEntry::kKey)) {
      if (!reader.text(field, out.alias)) return false;
    } else if (field.tag == bytes_tag(MapEntry::kValue)) {
      if (!read_wire_tensor(field.bytes, origin, fault, out.tensor)) return false;
    }
  }
  return fault.reason == nullptr;
}

bool read_fields(Bytes message, WireFault& fault, WireTfPredict& out) {
  WireReader reader(message, message.data(), fault);
  WireField field;
  size_t inputs = 0, filter = 0;
  bool good = true;
  while (good && reader.next(field)) {
    switch (field.tag) {
      case bytes_tag(kRequestModelSpec):
        good = read_tf_model(field.bytes, message.data(), fault, out.model);
        break;
      case bytes_tag(serving::PredictRequest::kInputs):
        good = read_input(field.bytes, message.data(), fault, out.inputs[inputs++]);
        break;
      case bytes_tag(serving::PredictRequest::kOutputFilter):
        good = reader.text(field, out.output_filter[filter++]);
        break;
      default: break;
    }
  }
  return fault.reason == nullptr;
}

// Sorts by alias; of entries with one key the last on the wire is kept.
void make_map(std::span<WireTfInput>& inputs) {
  const auto before = [](const WireTfInput& a, const WireTfInput& b) {
    const int order = a.alias.compare(b.alias);
    return order != 0 ? order < 0 : a.tensor.message.data() > b.tensor.message.data();
  };
  const auto same = [](const WireTfInput& a, const WireTfInput& b) { return a.alias == b.alias; };
  std::sort(inputs.begin(), inputs.end(), before);
  const auto end = std::unique(inputs.begin(), inputs.end(), same);
  inputs = inputs.first(static_cast<size_t>(end - inputs.begin()));
}

// Calls visit(number, list) for each list of all Input fields, in wire order.
template <typename Visit>
void each_list(Bytes message, WireFault& fault, Visit visit) {
  WireReader reader(message, message.data(), fault);
  WireField field;
  while (reader.next(field)) {
    if (field.tag != bytes_tag(kRequestInput)) continue;
    WireReader input(field.bytes, message.data(), fault);
    WireField list;
    while (input.next(list)) {
      if (list.tag == bytes_tag(serving::Input::kExampleList) ||
          list.tag == bytes_tag(serving::Input::kExampleListWithContext)) {
        visit(list.number(), list.bytes);
      }
    }
  }
}

// Calls example(bytes) and context(bytes) for the content of a list.
template <typename Example, typename Context>
void each_example(uint32_t kind, Bytes list, const uint8_t* origin, WireFault& fault,
                  Example example, Context context) {
  WireReader reader(list, origin, fault);
  WireField field;
  while (reader.next(field)) {
    if (field.tag == bytes_tag(serving::ExampleList::kExamples)) {
      example(field.bytes);
    } else if (field.tag == bytes_tag(serving::ExampleListWithContext::kContext) &&
               kind == serving::Input::kExampleListWithContext) {
      context(field.bytes);
    }
  }
}

}  // namespace

bool read_tf_model(Bytes bytes, const uint8_t* origin, WireFault& fault, TfModelRef& out) {
  WireReader reader(bytes, origin, fault);
  WireField field;
  bool good = true;
  while (good && reader.next(field)) {
    switch (field.tag) {
      case bytes_tag(serving::ModelSpec::kName): good = reader.text(field, out.name); break;
      case bytes_tag(serving::ModelSpec::kVersion):
        good = read_version(field.bytes, origin, fault, out);
        break;
      case bytes_tag(serving::ModelSpec::kSignatureName):
        good = reader.text(field, out.signature_name);
        break;
      case bytes_tag(serving::ModelSpec::kVersionLabel):
        good = reader.text(field, out.label);
        out.has_label = true;
        out.has_version = false;
        out.version = 0;
        break;
      default: break;
    }
  }
  return fault.reason == nullptr;
}

bool find_tf_model(Bytes message, WireFault& fault, TfModelRef& out, bool& found) {
  WireReader reader(message, message.data(), fault);
  WireField field;
  bool good = true;
  while (good && reader.next(field)) {
    if (field.tag != bytes_tag(kRequestModelSpec)) continue;
    found = true;
    good = read_tf_model(field.bytes, message.data(), fault, out);
  }
  return fault.reason == nullptr;
}

Error tf_fault_error(const char* message, const WireFault& fault) {
  return malformed_body("malformed " + std::string(message) + ": " + fault.reason + " at byte " +
                        std::to_string(fault.offset));
}

const WireTfInput* WireTfPredict::find(std::string_view alias) const {
  const auto before = [](const WireTfInput& a, std::string_view b) { return a.alias < b; };
  const auto found = std::lower_bound(inputs.begin(), inputs.end(), alias, before);
  return found == inputs.end() || found->alias != alias ? nullptr : &*found;
}

Status read_tf_predict(Bytes message, Arena& arena, WireTfPredict& out) {
  WireFault fault;
  size_t inputs = 0, filter = 0;
  WireReader reader(message, message.data(), fault);
  WireField field;
  while (reader.next(field)) {
    inputs += field.tag == bytes_tag(serving::PredictRequest::kInputs);
    filter += field.tag == bytes_tag(serving::PredictRequest::kOutputFilter);
  }
  if (fault.reason != nullptr) return tf_fault_error("PredictRequest", fault);
  if (Status status = check_list_size("inputs", inputs); !status.ok()) return status;
  if (Status status = check_list_size("output_filter", filter); !status.ok()) return status;
  if (!make_list(arena, inputs, out.inputs) || !make_list(arena, filter, out.output_filter)) {
    return make_error(ErrorCode::MemoryFull, "out of memory while reading a PredictRequest");
  }
  if (!read_fields(message, fault, out)) return tf_fault_error("PredictRequest", fault);
  make_map(out.inputs);
  return {};
}

Status read_tf_examples(Bytes message, const char* name, WireTfExamples& out) {
  out = {};
  WireFault fault;
  uint64_t lists = 0;
  each_list(message, fault, [&](uint32_t kind, Bytes list) {
    if (kind != out.kind) {
      out.kind = kind;
      out.first_list = lists;
      out.examples = out.example_bytes = out.context_bytes = 0;
    }
    ++lists;
    const auto example = [&](Bytes bytes) {
      ++out.examples;
      out.example_bytes += bytes.size();
    };
    const auto context = [&](Bytes bytes) { out.context_bytes += bytes.size(); };
    each_example(kind, list, message.data(), fault, example, context);
  });
  if (fault.reason != nullptr) return tf_fault_error(name, fault);
  return {};
}

void take_tf_examples(Bytes message, const WireTfExamples& wire, std::string_view* examples,
                      uint8_t* context) {
  WireFault none;
  uint64_t lists = 0;
  each_list(message, none, [&](uint32_t kind, Bytes list) {
    if (lists++ < wire.first_list) return;
    const auto example = [&](Bytes bytes) {
      *examples++ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    };
    const auto append = [&](Bytes bytes) {
      if (!bytes.empty()) std::memcpy(context, bytes.data(), bytes.size());
      context += bytes.size();
    };
    each_example(kind, list, message.data(), none, example, append);
  });
}

}  // namespace serval
