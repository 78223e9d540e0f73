// UnicodeDecode(WithOffsets), UnicodeEncode, UnicodeTranscode. Hot path. Source: TensorFlow's
// documentation of each operator and results of TensorFlow 2.21.
#include "operators/groups.h"
#include "operators/strings/encoding.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

struct Replacing {
  char32_t character = kReplacement;
  bool ignore = false, strict = false, controls = false;

  static Result<Replacing> read(const KernelAttributes& attributes) {
    Replacing result;
    const std::string errors = attributes.text("errors", "replace");
    result.ignore = errors == "ignore";
    result.strict = errors == "strict";
    if (!result.ignore && !result.strict && errors != "replace") {
      return invalid_attribute("errors policy must be one of 'strict', 'replace', or 'ignore'");
    }
    const int64_t character = attributes.integer("replacement_char", kReplacement);
    if (character < 0 || character > kCharacterMax ||
        is_surrogate(static_cast<char32_t>(character))) {
      return invalid_attribute("replacement_char out of unicode codepoint range");
    }
    result.character = static_cast<char32_t>(character);
    result.controls = attributes.integer("replace_control_characters", 0) != 0;
    return result;
  }

  bool replaces(const Decoded& decoded) const {
    return !decoded.valid || (controls && decoded.value <= 0x1F);
  }
};

Result<Encoding> input_encoding(const KernelAttributes& attributes) {
  const std::string name = attributes.text("input_encoding", "UTF-8");
  const std::optional<Encoding> encoding = encoding_of(name);
  if (encoding) return *encoding;
  return invalid_attribute("Could not create converter for input encoding: " + name);
}

Result<Encoding> output_encoding(const KernelAttributes& attributes) {
  const std::string name = attributes.text("output_encoding", "UTF-8");
  if (name == "UTF-8") return Encoding::Utf8;
  if (name == "UTF-16-BE") return Encoding::Utf16Be;
  if (name == "UTF-32-BE") return Encoding::Utf32Be;
  return invalid_attribute("Invalid encoding \"" + name +
                           "\": Should be one of: UTF-8, UTF-16-BE, UTF-32-BE");
}

Error badly_formed() { return invalid_argument("Invalid formatting on input string"); }

class UnicodeDecode : public Kernel {
 public:
  UnicodeDecode(Encoding encoding, Replacing replacing, DType splits, bool offsets)
      : encoding_(encoding), replacing_(replacing), splits_(splits), offsets_(offsets) {}

  template <bool kOffsets>
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    constexpr DType kAllowed[] = {DType::Int32, DType::Int64};
    const Result<Encoding> encoding = input_encoding(attributes);
    if (!encoding.ok()) return encoding.error();
    const Result<Replacing> replacing = Replacing::read(attributes);
    if (!replacing.ok()) return replacing.error();
    const Result<DType> splits = dtype_attribute(attributes, "Tsplits", kAllowed);
    if (!splits.ok()) return splits.error();
    return std::unique_ptr<Kernel>(std::make_unique<UnicodeDecode>(
        encoding.value(), replacing.value(), splits.value(), kOffsets));
  }

  // Outputs: row splits, characters, and the byte offset of each in its string.
  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    std::vector<int64_t> splits = {0}, characters, offsets;
    for (std::string_view text : input.value().strings) {
      int64_t offset = 0;
      for (Characters walk(text, encoding_); !walk.done();) {
        const Decoded decoded = walk.next();
        const int64_t begin = offset;
        offset += static_cast<int64_t>(decoded.bytes);
        if (replacing_.strict && !decoded.valid) return badly_formed();
        if (replacing_.replaces(decoded) && replacing_.ignore) continue;
        characters.push_back(replacing_.replaces(decoded) ? replacing_.character : decoded.value);
        if (offsets_) offsets.push_back(begin);
      }
      splits.push_back(static_cast<int64_t>(characters.size()));
    }
    Status status = write_integers(context, 0, splits_, splits);
    if (status.ok()) status = write_integers(context, 1, DType::Int32, characters);
    // "char_to_byte_starts" is int64 for every type of splits.
    if (status.ok() && offsets_) status = write_integers(context, 2, DType::Int64, offsets);
    return status;
  }

 private:
  Encoding encoding_;
  Replacing replacing_;
  DType splits_;
  bool offsets_;
};

class UnicodeTranscode : public StringMap {
 public:
  UnicodeTranscode(Encoding from, Encoding to, Replacing replacing)
      : from_(from), to_(to), replacing_(replacing) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    const Result<Encoding> from = input_encoding(attributes);
    if (!from.ok()) return from.error();
    const Result<Encoding> to = output_encoding(attributes);
    if (!to.ok()) return to.error();
    const Result<Replacing> replacing = Replacing::read(attributes);
    if (!replacing.ok()) return replacing.error();
    return std::unique_ptr<Kernel>(
        std::make_unique<UnicodeTranscode>(from.value(), to.value(), replacing.value()));
  }

 protected:
  Status map(std::string_view text, StringsOut& out) const override {
    for (Characters walk(text, from_); !walk.done() && !out.is_over(); out.check_limit()) {
      const Decoded decoded = walk.next();
      const bool replace = replacing_.replaces(decoded);
      if (replace && replacing_.strict) return badly_formed();
      if (replace && replacing_.ignore) continue;
      append_character(replace ? replacing_.character : decoded.value, to_, out.bytes());
    }
    return ok_status();
  }

 private:
  Encoding from_, to_;
  Replacing replacing_;
};

class UnicodeEncode : public Kernel {
 public:
  UnicodeEncode(Encoding encoding, Replacing replacing)
      : encoding_(encoding), replacing_(replacing) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    const Result<Encoding> encoding = output_encoding(attributes);
    if (!encoding.ok()) return encoding.error();
    const Result<Replacing> replacing = Replacing::read(attributes);
    if (!replacing.ok()) return replacing.error();
    return std::unique_ptr<Kernel>(
        std::make_unique<UnicodeEncode>(encoding.value(), replacing.value()));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> values = integer_input(context, 0);
    if (!values.ok()) return values.error();
    const Result<TensorView> splits = integer_input(context, 1);
    if (!splits.ok()) return splits.error();
    Status status = check_splits(splits.value(), element_count(values.value()));
    if (!status.ok()) return status;
    StringsOut out;
    int64_t at = 0;
    const size_t count = element_count(splits.value());
    for (size_t row = 1; row < count && !out.is_over(); ++row) {
      for (const int64_t end = integer_at(splits.value(), row); at < end; ++at) {
        status = append(integer_at(values.value(), static_cast<size_t>(at)), out);
        if (!status.ok()) return status;
      }
      out.end();
    }
    Shape shape;
    (void)shape.push_back(static_cast<int64_t>(count) - 1);
    return out.write(context, 0, shape);
  }

 private:
  static Status check_splits(const TensorView& splits, size_t values) {
    const size_t count = element_count(splits);
    if (count == 0) {
      return invalid_argument(
          "Input_splits should contain elements, but given input_values has 0 elements");
    }
    if (integer_at(splits, 0) != 0) {
      return invalid_argument("First value in input_splits must be zero.");
    }
    if (integer_at(splits, count - 1) != static_cast<int64_t>(values)) {
      return invalid_argument(
          "Last value in input_splits must be equal to length of input_tensor.");
    }
    for (size_t i = 1; i < count; ++i) {
      if (integer_at(splits, i - 1) > integer_at(splits, i)) {
        return invalid_argument("Values in input_splits must be equal or in ascending order.");
      }
    }
    return ok_status();
  }

  Status append(int64_t value, StringsOut& out) const {
    const bool valid =
        value >= 0 && value <= kCharacterMax && !is_surrogate(static_cast<char32_t>(value));
    if (!valid && replacing_.strict) {
      return invalid_argument("Code point is out of range for Unicode, or is a surrogate.");
    }
    if (!valid && replacing_.ignore) return ok_status();
    append_character(valid ? static_cast<char32_t>(value) : replacing_.character, encoding_,
                     out.bytes());
    out.check_limit();
    return ok_status();
  }

  Encoding encoding_;
  Replacing replacing_;
};

}  // namespace

std::vector<OperatorType> unicode_operators() {
  const Operand string = port(DType::Bytes), any = port(DType::Invalid);
  const Operand characters = port(DType::Int32), offsets = port(DType::Int64);
  return {
      {"UnicodeDecode", {string}, {any, characters}, UnicodeDecode::make<false>},
      {"UnicodeDecodeWithOffsets", {string}, {any, characters, offsets}, UnicodeDecode::make<true>},
      {"UnicodeTranscode", {string}, {string}, UnicodeTranscode::make},
      {"UnicodeEncode", {characters, any}, {string}, UnicodeEncode::make},
  };
}

}  // namespace serval::operators
