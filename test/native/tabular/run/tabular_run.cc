// Runs a plan file on columns, so that importers can be tested without a server.
//
//   tabular_run PLAN < request.json        response JSON on standard output
//
//   request:  {"rows": 2, "null_for_invalid": false, "outputs": ["y"] (default: all),
//              "columns": {"x": {"type": "Double", "values": [1, null]}}}
//   response: {"outputs": [{"name", "type", "element", "values"}], "refused": [1]} or {"error":
//   "..."}
//
// Values: null is missing; Real: a number or "NaN", "Infinity", "-Infinity"; Integer (with Bool,
// Date, Time, Timestamp): an integer or its text; Decimal: {"precision", "scale"} beside type, the
// unscaled integer's text; Vector and List: arrays. An invalid PMML value: {"invalid": v}. Test
// time only.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "base/values/decimal.h"
#include "simdjson.h"
#include "tabular/plan.h"

namespace {

using namespace serval;
using namespace serval::tabular;
using simdjson::dom::element;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "tabular_run: %s\n", what.c_str());
  std::exit(2);
}

Type type_named(std::string_view name) {
  for (auto type = Type::MIN; type <= Type::MAX;
       type = static_cast<Type>(static_cast<uint8_t>(type) + 1)) {
    if (type_name(type) == name) return type;
  }
  give_up("there is no type '" + std::string(name) + "'");
}

double real_of(element value) {
  if (!value.is_string()) {
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS) give_up("expected a number");
    return number;
  }
  const std::string text(value.get_string().value_unsafe());
  if (text == "NaN") return std::nan("");
  if (text == "Infinity") return HUGE_VAL;
  if (text == "-Infinity") return -HUGE_VAL;
  // Handles integers too long for the JSON reader, and -0.
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') give_up("'" + text + "' is no number");
  return number;
}

Int128 integer_of(element value) {
  int64_t number = 0;
  if (!value.is_string()) {
    if (value.get(number) != simdjson::SUCCESS) give_up("expected an integer");
    return number;
  }
  Int128 made = 0;
  const std::string_view text = value.get_string().value_unsafe();
  if (text == "-0.0") return 0;  // a constant has the value as a double and as an integer
  const bool negative = text.starts_with("-");
  for (const char digit : text.substr(negative ? 1 : 0)) {
    if (digit < '0' || digit > '9') give_up("'" + std::string(text) + "' is no integer");
    made = made * 10 + (digit - '0');
  }
  return negative ? -made : made;
}

TextId text_of(Frame& frame, element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) give_up("expected a text");
  return frame.strings.intern(text);
}

void append(Frame& frame, Column& column, Storage storage, element value) {
  switch (storage) {
    case Storage::Real: column.reals.push_back(real_of(value)); break;
    case Storage::Integer:
      column.integers.push_back(static_cast<int64_t>(integer_of(value)));
      break;
    case Storage::Text: column.texts.push_back(text_of(frame, value)); break;
    case Storage::Decimal: column.decimals.push_back(integer_of(value)); break;
  }
}

void set(Frame& frame, Column& column, uint32_t row, element value) {
  if (column.type == Type::Vector || column.type == Type::List) {
    const Storage storage = storage_of(column.type == Type::List ? column.element : column.type);
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) give_up("expected an array");
    column.start_row(row);
    for (const element one : list) append(frame, column, storage, one);
    column.end_row();
    return;
  }
  switch (storage_of(column.type)) {
    case Storage::Real: column.reals[row] = real_of(value); break;
    case Storage::Integer: column.integers[row] = static_cast<int64_t>(integer_of(value)); break;
    case Storage::Text: column.texts[row] = text_of(frame, value); break;
    case Storage::Decimal: column.decimals[row] = integer_of(value); break;
  }
}

void fill(Frame& frame, Column& column, const FieldSpec& field, element given) {
  std::string_view type, of;
  const bool typed = given["type"].get(type) == simdjson::SUCCESS;
  const bool element_typed = given["element"].get(of) == simdjson::SUCCESS;
  column.reset(typed ? type_named(type) : field.type, frame.rows,
               element_typed ? type_named(of) : field.element);
  if (!field.any && column.type != field.type) {
    give_up("field '" + field.name + "' is of " + std::string(type_name(field.type)));
  }
  uint64_t precision = field.precision, scale = field.scale;
  if (given["precision"].get(precision) == simdjson::SUCCESS) {
  }
  if (given["scale"].get(scale) == simdjson::SUCCESS) {
  }
  column.precision = static_cast<uint8_t>(precision);
  column.scale = static_cast<uint8_t>(scale);
  simdjson::dom::array values;
  if (given["values"].get(values) != simdjson::SUCCESS || values.size() != frame.rows) {
    give_up("field '" + field.name + "': expected " + std::to_string(frame.rows) + " values");
  }
  uint32_t row = 0;
  for (element value : values) {
    const bool invalid = value.is_object();
    if (invalid) value = value["invalid"].value_unsafe();
    if (value.is_null()) {
      if (column.type != Type::Vector && column.type != Type::List) column.set_missing(row);
    } else {
      set(frame, column, row, value);
    }
    if (invalid) column.set_state(row, State::Invalid);
    ++row;
  }
  if (column.type == Type::Vector || column.type == Type::List) column.end_rows(frame.rows);
}

std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char one : text) {
    char escaped[8];
    if (one == '"' || one == '\\') made += '\\';
    if (static_cast<unsigned char>(one) >= 0x20) {
      made += one;
      continue;
    }
    std::snprintf(escaped, sizeof escaped, "\\u%04x", one);
    made += escaped;
  }
  return made + '"';
}

std::string real_text(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return {digits, end.ptr};
}

// Written as text if JavaScript's numbers cannot hold it.
std::string integer_text(Int128 value, bool quote) {
  char text[serval::kDecimalTextMax];
  const std::string digits(text, serval::write_decimal(text, value, 0));
  const Int128 wide = Int128{1} << 53;
  return quote || value > wide || value < -wide ? '"' + digits + '"' : digits;
}

std::string stored_text(const Frame& frame, const Column& column, Storage storage, size_t at) {
  switch (storage) {
    case Storage::Real: return real_text(column.reals[at]);
    case Storage::Integer: return integer_text(column.integers[at], false);
    case Storage::Text: return json_text(frame.strings.text(column.texts[at]));
    case Storage::Decimal: return integer_text(column.decimals[at], true);
  }
  return {};
}

std::string sparse_text(const Column& column, uint32_t row) {
  std::vector<double> dense(column.sizes[row]);
  const std::span<const double> values = column.row_reals(row);
  const std::span<const int32_t> indices = column.row_indices(row);
  for (size_t i = 0; i < values.size(); ++i) dense[static_cast<size_t>(indices[i])] = values[i];
  std::string made = "[";
  for (size_t i = 0; i < dense.size(); ++i) made += (i > 0 ? "," : "") + real_text(dense[i]);
  return made + ']';
}

std::string value_text(const Frame& frame, const Column& column, uint32_t row) {
  if (column.state(row) == State::Missing) return "null";
  if (column.sparse) return sparse_text(column, row);
  if (column.type != Type::Vector && column.type != Type::List) {
    return stored_text(frame, column, storage_of(column.type), row);
  }
  const Storage storage = storage_of(column.type == Type::List ? column.element : column.type);
  std::string made = "[";
  for (uint64_t at = column.offsets[row]; at < column.offsets[row + 1]; ++at) {
    made += (at > column.offsets[row] ? "," : "") + stored_text(frame, column, storage, at);
  }
  return made + ']';
}

// Returns the outputs that the request names, else all whose fields it contains, but for those on
// request.
std::vector<uint32_t> wanted_outputs(const Plan& plan, element request,
                                     const std::vector<bool>& given) {
  const TableSchema& schema = plan.schema();
  std::vector<uint32_t> made;
  simdjson::dom::array names;
  const bool named = request["outputs"].get(names) == simdjson::SUCCESS;
  for (uint32_t i = 0; i < schema.outputs.size(); ++i) {
    bool wanted = !named && !plan.on_request(i);
    if (!named && i < schema.output_fields.size()) {
      for (const uint32_t field : schema.output_fields[i]) wanted = wanted && given[field];
    }
    if (named) {
      for (const element name : names) {
        wanted =
            wanted || std::string_view(name.get_string().value_unsafe()) == schema.outputs[i].name;
      }
    }
    if (wanted) made.push_back(i);
  }
  return made;
}

void print_answer(const Plan& plan, const Frame& frame, const std::vector<uint32_t>& outputs) {
  std::string text = "{\"outputs\":[";
  for (const uint32_t i : outputs) {
    const Column& column = frame.columns[plan.output_columns()[i]];
    text +=
        (i != outputs[0] ? ",{\"name\":" : "{\"name\":") + json_text(plan.schema().outputs[i].name);
    text += ",\"type\":" + json_text(type_name(column.type));
    text += ",\"element\":" + json_text(type_name(column.element));
    text += ",\"scale\":" + std::to_string(column.scale) + ",\"values\":[";
    for (uint32_t row = 0; row < frame.rows; ++row) {
      text += (row > 0 ? "," : "") + value_text(frame, column, row);
    }
    text += "]}";
  }
  text += "],\"refused\":[";
  bool first = true;
  for (uint32_t row = 0; row < frame.refused.size(); ++row) {
    if (frame.refused[row] == 0) continue;
    text += (first ? "" : ",") + std::to_string(row);
    first = false;
  }
  std::cout << text << "]}\n";
}

void print_error(const Error& error) {
  std::cout << "{\"error\":" << json_text(error.message)
            << ",\"code\":" << json_text(fb::EnumNameErrorCode(error.code)) << "}\n";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) give_up("expected one argument, a plan file");
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  simdjson::dom::parser parser;
  element request;
  if (parser.parse(text).get(request) != simdjson::SUCCESS) give_up("the request is no JSON");
  const auto plan = Plan::load(arguments[1]);
  if (!plan.ok()) {
    print_error(plan.error());
    return 0;
  }
  uint64_t rows = 0;
  tabular::RunOptions options;
  if (request["rows"].get(rows) != simdjson::SUCCESS) give_up("expected the number of rows");
  if (request["null_for_invalid"].get(options.null_for_invalid) == simdjson::SUCCESS) {
  }
  Frame frame(plan.value()->dictionary(), plan.value()->column_count());
  frame.begin(static_cast<uint32_t>(rows));
  const TableSchema& schema = plan.value()->schema();
  std::vector<bool> is_given(schema.fields.size());
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    Column& column = frame.columns[plan.value()->field_columns()[i]];
    element given;
    if (request["columns"][schema.fields[i].name].get(given) == simdjson::SUCCESS) {
      fill(frame, column, schema.fields[i], given);
      is_given[i] = true;
    } else if (schema.fields[i].optional || !schema.fields[i].by_default) {
      is_given[i] = schema.fields[i].optional;
      column.reset(schema.fields[i].type, frame.rows, schema.fields[i].element);
      if (column.type == Type::Vector || column.type == Type::List) column.end_rows(frame.rows);
      else column.states.assign(frame.rows, static_cast<uint8_t>(State::Missing));
    } else {
      give_up("field '" + schema.fields[i].name + "' is not there");
    }
  }
  const std::vector<uint32_t> outputs = wanted_outputs(*plan.value(), request, is_given);
  const Status done = plan.value()->run(frame, options, nullptr, outputs);
  if (done.ok()) print_answer(*plan.value(), frame, outputs);
  else print_error(done.error());
  return 0;
}
