// Plans for tests and benchmarks in C++. Test time only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/generated/plan_generated.h"
#include "tabular/plan.h"

namespace serval::tabular {

// A constant: a number or a text, depending on its type.
struct MadeValue {
  Type type;
  double number = 0;
  std::string text = {};
  bool missing = false;
};

// An attribute's value. An int sets both members, as TypeScript's builder does for an integer.
using MadeAttribute =
    std::variant<int, double, bool, std::string, std::vector<double>, std::vector<int32_t>,
                 std::vector<std::string>, std::vector<MadeValue>>;
using MadeAttributes = std::vector<std::pair<std::string, MadeAttribute>>;

class PlanMaker {
 public:
  uint32_t version = kPlanVersion;
  bool matrix = false;  // all fields may come as one tensor
  uint32_t column(const std::string& name, Type type, Type element = Type::Any) {
    columns_.push_back(plan::CreateColumnDirect(builder_, name.c_str(), type, element));
    return count_++;
  }
  uint32_t field(const std::string& name, Type type, Type element = Type::Any) {
    const uint32_t made = column(name, type, element);
    fields_.push_back(plan::CreateFieldDirect(builder_, name.c_str(), made, type, element, -1,
                                              type == Type::Any));
    return made;
  }
  void output(const std::string& name, uint32_t column, Type type) {
    outputs_.push_back(plan::CreateOutputDirect(builder_, name.c_str(), column, type));
  }
  void stage(const std::string& kind, const std::vector<uint32_t>& inputs,
             const std::vector<uint32_t>& outputs, const MadeAttributes& attributes = {}) {
    std::vector<flatbuffers::Offset<plan::Attribute>> made;
    for (const auto& [name, value] : attributes) made.push_back(attribute(name, value));
    stages_.push_back(
        plan::CreateStageDirect(builder_, kind.c_str(), "here", &inputs, &outputs, &made));
  }
  // The values of a field in the background rows; NaN: missing.
  void background(uint32_t column, const std::vector<double>& reals,
                  const std::vector<std::string>& texts = {}) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> made;
    for (const std::string& each : texts) made.push_back(builder_.CreateString(each));
    background_.push_back(
        plan::CreateBackgroundFieldDirect(builder_, column, static_cast<uint32_t>(reals.size()),
                                          &reals, texts.empty() ? nullptr : &made));
  }
  // Adds an output 'out' of `type` that one stage fills.
  uint32_t only(const std::string& kind, const std::vector<uint32_t>& inputs, Type type,
                const MadeAttributes& attributes, Type element = Type::Any) {
    const uint32_t out = column("out", type, element);
    stage(kind, inputs, {out}, attributes);
    output("out", out, type);
    return out;
  }
  const std::vector<uint8_t>& bytes() {
    if (!bytes_.empty()) return bytes_;
    const auto block = plan::CreateBlockDirect(builder_, &stages_);
    builder_.Finish(plan::CreatePlanDirect(builder_, "test", "", &fields_, &outputs_, &columns_,
                                           block, false, nullptr, false, nullptr, version, matrix,
                                           background_.empty() ? nullptr : &background_),
                    plan::PlanIdentifier());
    bytes_.assign(builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize());
    return bytes_;
  }
  Result<std::shared_ptr<const Plan>> read(Backend* runtime = nullptr) {
    auto owned = std::make_shared<std::vector<uint8_t>>(bytes());
    return Plan::read({owned->data(), owned->size()}, owned, "test", runtime);
  }

 private:
  flatbuffers::Offset<plan::Attribute> attribute(const std::string& name,
                                                 const MadeAttribute& value) {
    std::vector<double> reals;
    std::vector<int32_t> integers;
    std::vector<flatbuffers::Offset<flatbuffers::String>> texts;
    if (const auto* constants = std::get_if<std::vector<MadeValue>>(&value)) {
      std::vector<flatbuffers::Offset<plan::Value>> values;
      for (const MadeValue& each : *constants) {
        values.push_back(plan::CreateValueDirect(builder_, each.type, each.missing, each.number,
                                                 static_cast<int64_t>(each.number), 0, 0, 0,
                                                 is_text(each.type) ? each.text.c_str() : nullptr));
      }
      return plan::CreateAttributeDirect(builder_, name.c_str(), nullptr, nullptr, nullptr,
                                         &values);
    }
    if (const int* one = std::get_if<int>(&value)) {
      reals = {static_cast<double>(*one)};
      integers = {*one};
    } else if (const double* real = std::get_if<double>(&value)) {
      reals = {*real};
    } else if (const bool* flag = std::get_if<bool>(&value)) {
      integers = {*flag ? 1 : 0};
    } else if (const std::string* text = std::get_if<std::string>(&value)) {
      texts = {builder_.CreateString(*text)};
    } else if (const auto* many_texts = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& each : *many_texts) texts.push_back(builder_.CreateString(each));
    } else if (const auto* many_reals = std::get_if<std::vector<double>>(&value)) {
      reals = *many_reals;
    } else {
      integers = std::get<std::vector<int32_t>>(value);
    }
    const bool has_reals = !reals.empty() || std::holds_alternative<std::vector<double>>(value);
    const bool has_integers =
        !integers.empty() || std::holds_alternative<std::vector<int32_t>>(value);
    const bool has_texts =
        !texts.empty() || std::holds_alternative<std::vector<std::string>>(value);
    return plan::CreateAttributeDirect(builder_, name.c_str(), has_reals ? &reals : nullptr,
                                       has_integers ? &integers : nullptr,
                                       has_texts ? &texts : nullptr);
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<plan::Column>> columns_;
  std::vector<flatbuffers::Offset<plan::Field>> fields_;
  std::vector<flatbuffers::Offset<plan::Output>> outputs_;
  std::vector<flatbuffers::Offset<plan::Stage>> stages_;
  std::vector<flatbuffers::Offset<plan::BackgroundField>> background_;
  std::vector<uint8_t> bytes_;
  uint32_t count_ = 0;
};

}  // namespace serval::tabular
