// Writes small ONNX models as protobuf bytes, by hand: enough for tests and benchmarks, so that
// they need neither Python nor protobuf. Test code, any thread. Source: onnx.proto3 (field
// numbers), IR version 8, opset 17.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace serval::onnx {

// TensorProto.DataType.
enum ElementType : int {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kUint4 = 21,
  kInt4 = 22,
};

// One protobuf message under construction.
class Message {
 public:
  Message& varint(int field, uint64_t value) {
    raw_varint(static_cast<uint64_t>(field) << 3);
    return raw_varint(value);
  }
  Message& integer(int field, int64_t value) { return varint(field, static_cast<uint64_t>(value)); }
  Message& bytes(int field, std::string_view value) {
    raw_varint((static_cast<uint64_t>(field) << 3) | 2);
    raw_varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.bytes_); }
  Message& fixed32(int field, float value) {
    raw_varint((static_cast<uint64_t>(field) << 3) | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  const std::string& str() const { return bytes_; }

 private:
  Message& raw_varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>((value & 0x7f) | 0x80);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
    return *this;
  }
  std::string bytes_;
};

using Dim = std::variant<int64_t, std::string>;  // a number, or a symbolic name ("" = unnamed)
using Dims = std::optional<std::vector<Dim>>;    // nullopt: no shape at all (unknown rank)

inline Message tensor_type(int element_type, const Dims& dims) {
  Message tensor;
  tensor.varint(1, static_cast<uint64_t>(element_type));
  if (dims) {
    Message shape;
    for (const Dim& dim : *dims) {
      Message entry;
      if (const int64_t* value = std::get_if<int64_t>(&dim)) entry.integer(1, *value);
      else if (!std::get<std::string>(dim).empty()) entry.bytes(2, std::get<std::string>(dim));
      shape.message(1, entry);
    }
    tensor.message(2, shape);
  }
  return Message().message(1, tensor);
}

inline Message sequence_type(const Message& element) {
  return Message().message(4, Message().message(1, element));
}
inline Message optional_type(const Message& element) {
  return Message().message(9, Message().message(1, element));
}
inline Message map_type(int key_type, const Message& value) {
  Message map;
  map.varint(1, static_cast<uint64_t>(key_type)).message(2, value);
  return Message().message(5, map);
}

inline Message attribute(std::string_view name, int64_t value) {
  return Message().bytes(1, name).integer(3, value).varint(20, 2);
}
inline Message attribute(std::string_view name, float value) {
  return Message().bytes(1, name).fixed32(2, value).varint(20, 1);
}
inline Message attribute(std::string_view name, const std::vector<int64_t>& values) {
  Message message;
  message.bytes(1, name);
  for (int64_t value : values) message.integer(8, value);
  return message.varint(20, 7);
}

inline Message graph_attribute(std::string_view name, const Message& graph) {
  return Message().bytes(1, name).message(6, graph).varint(20, 5);
}

// A model under construction. Fields that a test needs wrong values for are plain members.
struct Model {
  int64_t ir_version = 8;
  int64_t opset = 17;
  std::string producer = "serval-test", domain, description, graph_name = "graph";
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::pair<std::string, int64_t>> domains;  // additional operator sets
  Message graph;
  int node_count = 0;  // node names are "<op>_<number>"

  Model& node(std::string_view op, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {},
              std::string_view node_domain = {}) {
    Message message;
    for (const std::string& name : inputs) message.bytes(1, name);
    for (const std::string& name : outputs) message.bytes(2, name);
    message.bytes(3, std::string(op) + "_" + std::to_string(node_count++)).bytes(4, op);
    for (const Message& entry : attributes) message.message(5, entry);
    if (!node_domain.empty()) message.bytes(7, node_domain);
    graph.message(1, message);
    return *this;
  }
  Model& input(std::string_view name, const Message& type) {
    graph.message(11, Message().bytes(1, name).message(2, type));
    return *this;
  }
  Model& input(std::string_view name, int element_type, const Dims& dims) {
    return input(name, tensor_type(element_type, dims));
  }
  Model& output(std::string_view name, const Message& type) {
    graph.message(12, Message().bytes(1, name).message(2, type));
    return *this;
  }
  Model& output(std::string_view name, int element_type, const Dims& dims) {
    return output(name, tensor_type(element_type, dims));
  }
  template <typename T>
  Model& initializer(std::string_view name, int element_type, const std::vector<int64_t>& dims,
                     const std::vector<T>& values) {
    graph.message(5, initializer_head(name, element_type, dims)
                         .bytes(9, {reinterpret_cast<const char*>(values.data()),
                                    values.size() * sizeof(T)}));
    return *this;
  }
  // The values are the first bytes of `file`, which is in the model's folder.
  Model& external_initializer(std::string_view name, int element_type,
                              const std::vector<int64_t>& dims, std::string_view file) {
    Message location;
    location.bytes(1, "location").bytes(2, file);
    Message tensor = initializer_head(name, element_type, dims);
    graph.message(5, tensor.message(13, location).varint(14, 1));
    return *this;
  }
  std::string to_bytes() const {
    Message whole_graph = graph;
    whole_graph.bytes(2, graph_name);
    Message model;
    model.integer(1, ir_version).bytes(2, producer).bytes(4, domain).integer(5, model_version);
    model.bytes(6, description).message(7, whole_graph);
    model.message(8, Message().bytes(1, "").integer(2, opset));
    for (const auto& [name, version] : domains) {
      model.message(8, Message().bytes(1, name).integer(2, version));
    }
    for (const auto& [key, value] : metadata) {
      model.message(14, Message().bytes(1, key).bytes(2, value));
    }
    return model.str();
  }

 private:
  static Message initializer_head(std::string_view name, int element_type,
                                  const std::vector<int64_t>& dims) {
    Message tensor;
    for (int64_t dim : dims) tensor.integer(1, dim);
    return tensor.varint(2, static_cast<uint64_t>(element_type)).bytes(8, name);
  }
};

// y = 0.5 x + 3 over FP32 [batch, ...]: TensorFlow Serving's example model.
inline Model half_plus_three(const Dims& dims = std::vector<Dim>{std::string("batch")}) {
  Model model;
  model.graph_name = "half_plus_three";
  model.initializer<float>("half", kFloat, {}, {0.5f}).initializer<float>("three", kFloat, {}, {3});
  model.node("Mul", {"x", "half"}, {"scaled"}).node("Add", {"scaled", "three"}, {"y"});
  return model.input("x", kFloat, dims).output("y", kFloat, dims);
}

inline Model identity(int element_type, const Dims& dims = std::vector<Dim>{std::string("n")}) {
  Model model;
  model.node("Identity", {"x"}, {"y"});
  return model.input("x", element_type, dims).output("y", element_type, dims);
}

// Adds to `model`: y = trips + max(trips), computed by adding 1 that many times: INT64 [batch]. The
// largest number runs endlessly.
inline Model& add_endless_loop(Model& model) {
  Model body;
  body.graph.bytes(2, "body");
  body.initializer<int64_t>("one", kInt64, {}, {1});
  body.node("Identity", {"more_in"}, {"more_out"}).node("Add", {"v_in", "one"}, {"v_out"});
  body.input("iteration", kInt64, std::vector<Dim>{}).input("more_in", kBool, std::vector<Dim>{});
  body.input("v_in", kInt64, std::vector<Dim>{std::string("batch")});
  body.output("more_out", kBool, std::vector<Dim>{});
  body.output("v_out", kInt64, std::vector<Dim>{std::string("batch")});
  model.initializer<uint8_t>("yes", kBool, {}, {1});
  model.node("ReduceMax", {"trips"}, {"most"}, {attribute("keepdims", int64_t{0})});
  return model.node("Loop", {"most", "yes", "trips"}, {"y"}, {graph_attribute("body", body.graph)});
}

inline Model endless_loop() {
  Model model;
  model.graph_name = "endless_loop";
  add_endless_loop(model);
  model.input("trips", kInt64, std::vector<Dim>{std::string("batch")});
  return model.output("y", kInt64, std::vector<Dim>{std::string("batch")});
}

// 784-512-10 with relu and softmax; weights are a fixed sequence of small numbers.
inline Model mlp(int64_t in = 784, int64_t hidden = 512, int64_t out = 10) {
  uint32_t state = 1;
  const auto weights = [&state](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;
      value = (static_cast<float>(state >> 8) / 16777216.0f - 0.5f) * 0.1f;
    }
    return values;
  };
  Model model;
  model.graph_name = "mlp";
  model.initializer("w1", kFloat, {in, hidden}, weights(in * hidden));
  model.initializer("b1", kFloat, {hidden}, weights(hidden));
  model.initializer("w2", kFloat, {hidden, out}, weights(hidden * out));
  model.initializer("b2", kFloat, {out}, weights(out));
  model.node("Gemm", {"x", "w1", "b1"}, {"h"}).node("Relu", {"h"}, {"r"});
  model.node("Gemm", {"r", "w2", "b2"}, {"logits"}).node("Softmax", {"logits"}, {"y"});
  model.input("x", kFloat, std::vector<Dim>{std::string("batch"), in});
  return model.output("y", kFloat, std::vector<Dim>{std::string("batch"), out});
}

// A new folder below the system's temporary one, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "serval-onnx-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  // Writes `bytes` and returns the absolute path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string path = this->path(name);
    FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
      std::abort();
    }
    std::fclose(file);
    return path;
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace serval::onnx
