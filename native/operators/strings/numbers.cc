// String operators about numbers: AsString, StringToNumber, DecodeRaw, DecodePaddedRaw. Hot path.
// Source: TensorFlow's documentation of each operator and results of TensorFlow 2.21.
#include "operators/strings/numbers.h"

#include <locale.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "operators/groups.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

constexpr int64_t kFormatWidthMax = 65535;

constexpr bool is_unsigned(DType dtype) {
  return visit(dtype, []<typename T>(TypeTag<T>) { return std::unsigned_integral<T>; });
}

struct NumberFormat {
  std::string fill;
  int64_t width = -1, precision = -1;
  bool scientific = false, shortest = false;
};

template <typename T>
void append_printed(const std::string& format, T value, StringsOut& out) {
  char brief[128];
  const int length = std::snprintf(brief, sizeof(brief), format.c_str(), value);
  if (length < 0) return;
  const auto size = static_cast<size_t>(length);
  if (size < sizeof(brief)) return out.append({brief, size});
  std::string text(size + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), value);
  out.append(std::string_view(text).substr(0, size));
}

class AsString : public Kernel {
 public:
  explicit AsString(NumberFormat format) : format_(std::move(format)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    NumberFormat format;
    format.fill = attributes.text("fill", "");
    format.width = attributes.integer("width", -1);
    format.precision = attributes.integer("precision", -1);
    format.scientific = attributes.integer("scientific", 0) != 0;
    format.shortest = attributes.integer("shortest", 0) != 0;
    if (format.fill.size() > 1) {
      return invalid_attribute("Fill string must be one or fewer characters");
    }
    if (std::string_view(" +-0#").find(format.fill) == std::string_view::npos) {
      return invalid_attribute("Fill argument not supported: \"" + format.fill + "\"");
    }
    if (format.scientific && format.shortest) {
      return invalid_attribute("Cannot select both scientific and shortest notation");
    }
    if (format.width > kFormatWidthMax || format.precision > kFormatWidthMax) {
      return invalid_attribute("AsString: width and precision: expected at most " +
                               std::to_string(kFormatWidthMax));
    }
    return std::unique_ptr<Kernel>(std::make_unique<AsString>(std::move(format)));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = context.input(0);
    if (!input.ok()) return input.error();
    const TensorView& view = input.value();
    Status status = check(view.dtype);
    if (!status.ok()) return status;
    StringsOut out;
    const std::string printf_format = printf_text(view.dtype);
    const size_t count = element_count(view);
    for (size_t i = 0; i < count && !out.is_over(); ++i) {
      visit(view.dtype, [&]<typename T>(TypeTag<T>) {
        if constexpr (std::same_as<T, std::string_view>) {
          append_padded(view.strings[i], out);
        } else if constexpr (std::same_as<T, bool>) {
          out.append(view.data[i] != 0 ? "true" : "false");
        } else if constexpr (IsReal<T>) {
          append_printed(printf_format, static_cast<double>(element_at<T>(view, i)), out);
        } else if constexpr (IsInteger<T>) {
          append_printed(printf_format, static_cast<long long>(element_at<T>(view, i)), out);
        }
      });
      out.end();
    }
    return out.write(context, 0, view.shape);
  }

 private:
  Status check(DType dtype) const {
    if (dtype == DType::Invalid) {
      return make_error(ErrorCode::BackendFailed, "AsString: the input is missing");
    }
    if (dtype_is_real(dtype) || dtype == DType::Bytes) return ok_status();
    if (format_.scientific || format_.shortest) {
      return invalid_argument("scientific and shortest format not supported for datatype " +
                              std::string(dtype_tf_name(dtype)));
    }
    if (format_.precision >= 0) {
      return invalid_argument("precision not supported for datatype " +
                              std::string(dtype_tf_name(dtype)));
    }
    return ok_status();
  }

  std::string printf_text(DType dtype) const {
    std::string text = "%";
    if (format_.width > -1) text += format_.fill + std::to_string(format_.width);
    if (format_.precision > -1) text += "." + std::to_string(format_.precision);
    if (dtype_is_real(dtype))
      return text + (format_.shortest ? "g" : format_.scientific ? "e" : "f");
    return text + (is_unsigned(dtype) ? "llu" : "lld");
  }

  void append_padded(std::string_view text, StringsOut& out) const {
    const int64_t missing = format_.width - static_cast<int64_t>(text.size());
    const std::string blanks(missing > 0 ? static_cast<size_t>(missing) : 0, ' ');
    if (format_.fill != "-") out.append(blanks);
    out.append(text);
    if (format_.fill == "-") out.append(blanks);
  }

  NumberFormat format_;
};

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Makes the result independent of a locale that another library in the process sets.
locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

template <typename T>
bool parse_float(const std::string& text, uint8_t* to) {
  const char* const begin = text.c_str();
  char* end = nullptr;
  T value;
  if constexpr (std::is_same_v<T, float>) value = strtof_l(begin, &end, c_locale());
  else value = strtod_l(begin, &end, c_locale());
  if (end == begin) return false;
  const char* const last = begin + text.size();
  if (std::find_if_not<const char*>(end, last, is_blank) != last) return false;
  std::memcpy(to, &value, sizeof(value));
  return true;
}

template <typename T>
bool parse_integer(std::string_view text, uint8_t* to) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.starts_with("+-")) return false;
  if (text.starts_with('+')) text.remove_prefix(1);
  T value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return false;
  std::memcpy(to, &value, sizeof(value));
  return true;
}

class StringToNumber : public Kernel {
 public:
  explicit StringToNumber(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    constexpr DType kAllowed[] = {DType::Fp32,  DType::Fp64,   DType::Int32,
                                  DType::Int64, DType::Uint32, DType::Uint64};
    const Result<DType> dtype = dtype_attribute(attributes, "out_type", kAllowed);
    if (!dtype.ok()) return dtype.error();
    return std::unique_ptr<Kernel>(std::make_unique<StringToNumber>(dtype.value()));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    Result<std::span<uint8_t>> memory = context.output(0, dtype_, input.value().shape);
    if (!memory.ok()) return memory.error();
    uint8_t* to = memory.value().data();
    for (std::string_view text : input.value().strings) {
      if (!parse_number(std::string(text), dtype_, to)) {
        return invalid_argument("StringToNumberOp could not correctly convert string: " +
                                std::string(text.substr(0, kErrorValueBytesMax)));
      }
      to += dtype_bytes(dtype_);
    }
    return ok_status();
  }

 private:
  DType dtype_;
};

struct RawSettings {
  DType dtype = DType::Uint8;
  bool little_endian = true;
};

Result<RawSettings> raw_settings(const KernelAttributes& attributes) {
  constexpr DType kAllowed[] = {DType::Bool,  DType::Uint8,  DType::Int8,  DType::Uint16,
                                DType::Int16, DType::Uint32, DType::Int32, DType::Uint64,
                                DType::Int64, DType::Fp16,   DType::Bf16,  DType::Fp32,
                                DType::Fp64};
  const Result<DType> dtype = dtype_attribute(attributes, "out_type", kAllowed);
  if (!dtype.ok()) return dtype.error();
  return RawSettings{dtype.value(), attributes.integer("little_endian", 1) != 0};
}

template <typename K>
Result<std::unique_ptr<Kernel>> make_raw(const KernelAttributes& attributes) {
  const Result<RawSettings> settings = raw_settings(attributes);
  if (!settings.ok()) return settings.error();
  return std::unique_ptr<Kernel>(std::make_unique<K>(settings.value()));
}

// Swaps the bytes of every element if they are big-endian; converts bools to 0 or 1.
void settle_elements(std::span<uint8_t> bytes, const RawSettings& settings) {
  if (settings.dtype == DType::Bool) {
    for (uint8_t& byte : bytes) byte = byte != 0;
  }
  const size_t size = dtype_bytes(settings.dtype);
  if (settings.little_endian || size == 1) return;
  for (size_t i = 0; i + size <= bytes.size(); i += size) {
    std::reverse(bytes.data() + i, bytes.data() + i + size);
  }
}

Status rank_error(const Shape& shape) {
  return invalid_argument("input has too many dimensions to add one: " + shape.to_string());
}

class DecodeRaw : public Kernel {
 public:
  explicit DecodeRaw(RawSettings settings) : set_(settings) {}
  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    const std::span<const std::string_view> strings = input.value().strings;
    const size_t length = strings.empty() ? 0 : strings[0].size();
    for (size_t i = 1; i < strings.size(); ++i) {
      if (strings[i].size() == length) continue;
      return invalid_argument(
          "DecodeRaw requires input strings to all be the same size, but element " +
          std::to_string(i) + " has size " + std::to_string(length) +
          " != " + std::to_string(strings[i].size()));
    }
    const size_t size = dtype_bytes(set_.dtype);
    if (length % size != 0) {
      return invalid_argument("Input to DecodeRaw has length " + std::to_string(length) +
                              " that is not a multiple of " + std::to_string(size) +
                              ", the size of " + std::string(dtype_tf_name(set_.dtype)));
    }
    Shape shape = input.value().shape;
    if (!shape.push_back(static_cast<int64_t>(length / size))) return rank_error(shape);
    Result<std::span<uint8_t>> memory = context.output(0, set_.dtype, shape);
    if (!memory.ok()) return memory.error();
    uint8_t* to = memory.value().data();
    for (std::string_view text : strings) {
      if (length != 0) std::memcpy(to, text.data(), length);
      to += length;
    }
    settle_elements(memory.value().first(strings.size() * length), set_);
    return ok_status();
  }

 private:
  RawSettings set_;
};

class DecodePaddedRaw : public Kernel {
 public:
  explicit DecodePaddedRaw(RawSettings settings) : set_(settings) {}
  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    const Result<TensorView> fixed = integer_input(context, 1);
    if (!fixed.ok()) return fixed.error();
    if (!is_scalar(fixed.value())) {
      return invalid_argument("k must be scalar, got shape " + fixed.value().shape.to_string());
    }
    const int64_t length = integer_at(fixed.value(), 0);
    const auto size = static_cast<int64_t>(dtype_bytes(set_.dtype));
    const std::string named = "fixed_length (" + std::to_string(length) + ")";
    if (length % size != 0) {
      return invalid_argument(named + " must be a multiple of the size of out_type (" +
                              std::to_string(size) + ")");
    }
    if (length <= 0) return invalid_argument(named + " must be greater than zero.");
    const std::span<const std::string_view> strings = input.value().strings;
    const auto bytes = static_cast<size_t>(length);
    if (bytes > kStringOutputBytesMax / std::max<size_t>(strings.size(), 1)) {
      return invalid_argument(named + " times " + std::to_string(strings.size()) +
                              " strings is too large");
    }
    Shape shape = input.value().shape;
    if (!shape.push_back(length / size)) return rank_error(shape);
    Result<std::span<uint8_t>> memory = context.output(0, set_.dtype, shape);
    if (!memory.ok()) return memory.error();
    uint8_t* to = memory.value().data();
    for (std::string_view text : strings) {
      const std::string_view kept = text.substr(0, bytes);
      std::fill(std::copy(kept.begin(), kept.end(), to), to + bytes, uint8_t{0});
      to += bytes;
    }
    settle_elements(memory.value().first(strings.size() * bytes), set_);
    return ok_status();
  }

 private:
  RawSettings set_;
};

}  // namespace

bool parse_number(const std::string& text, DType dtype, uint8_t* to) {
  return visit(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::floating_point<T>) return parse_float<T>(text, to);
    else if constexpr (IsInteger<T>) return sizeof(T) >= 4 && parse_integer<T>(text, to);
    else return false;
  });
}

std::vector<OperatorType> string_number_operators() {
  const Operand string = port(DType::Bytes), any = port(DType::Invalid);
  return {
      {"AsString", {any}, {string}, AsString::make},
      {"StringToNumber", {string}, {any}, StringToNumber::make},
      {"DecodeRaw", {string}, {any}, make_raw<DecodeRaw>},
      {"DecodePaddedRaw", {string, any}, {any}, make_raw<DecodePaddedRaw>},
  };
}

}  // namespace serval::operators
