// String operators that split strings: StringSplit, StringSplitV2 (both to COO: indices, values,
// shape), DecodeCSV. Hot path. Source: TensorFlow's documentation of each operator and results of
// TensorFlow 2.21.
#include <algorithm>

#include "operators/groups.h"
#include "operators/kernel_io.h"
#include "operators/strings/numbers.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

// The pieces of several strings, as a sparse matrix with one row per string.
class SparseRows {
 public:
  // The piece must outlive write().
  void add(std::string_view piece) { pieces_.push_back(piece); }
  void end_row() {
    row_ends_.push_back(pieces_.size());
    const size_t begin = row_ends_.size() == 1 ? 0 : row_ends_[row_ends_.size() - 2];
    longest_ = std::max(longest_, pieces_.size() - begin);
  }

  Status write(KernelContext& context) const {
    Shape indices, values;
    (void)values.push_back(static_cast<int64_t>(pieces_.size()));
    indices = values;
    (void)indices.push_back(2);
    Result<std::span<uint8_t>> memory = context.output(0, DType::Int64, indices);
    if (!memory.ok()) return memory.error();
    uint8_t* to = memory.value().data();
    size_t begin = 0;
    for (size_t row = 0; row < row_ends_.size(); ++row) {
      for (size_t i = begin; i < row_ends_[row]; ++i) {
        const int64_t index[2] = {static_cast<int64_t>(row), static_cast<int64_t>(i - begin)};
        std::memcpy(to, index, sizeof(index));
        to += sizeof(index);
      }
      begin = row_ends_[row];
    }
    Status status = context.output_strings(1, values, pieces_);
    if (!status.ok()) return status;
    const int64_t shape[2] = {static_cast<int64_t>(row_ends_.size()),
                              static_cast<int64_t>(longest_)};
    return write_integers(context, 2, DType::Int64, shape);
  }

 private:
  std::vector<std::string_view> pieces_;
  std::vector<size_t> row_ends_;
  size_t longest_ = 0;
};

Status check_vector(const TensorView& input) {
  if (input.shape.rank() == 1) return ok_status();
  return invalid_argument("input must be a vector, got shape: " + input.shape.to_string());
}

// Every byte of the delimiter is a separator; "" splits between all bytes.
class StringSplit : public Kernel {
 public:
  explicit StringSplit(bool skip_empty) : skip_empty_(skip_empty) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return std::unique_ptr<Kernel>(
        std::make_unique<StringSplit>(attributes.integer("skip_empty", 1) != 0));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    Status status = check_vector(input.value());
    if (!status.ok()) return status;
    const Result<std::string_view> delimiter =
        scalar_string(context, 1, "delimiter must be a scalar, got shape: ");
    if (!delimiter.ok()) return delimiter.error();
    SparseRows rows;
    for (std::string_view text : input.value().strings) {
      split(text, delimiter.value(), rows);
      rows.end_row();
    }
    return rows.write(context);
  }

 private:
  void split(std::string_view text, std::string_view delimiter, SparseRows& rows) const {
    if (delimiter.empty()) {
      for (size_t i = 0; i < text.size(); ++i) rows.add(text.substr(i, 1));
      return;
    }
    if (text.empty()) return;
    for (;;) {
      const size_t end = text.find_first_of(delimiter);
      const std::string_view piece = text.substr(0, end);
      if (!skip_empty_ || !piece.empty()) rows.add(piece);
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  bool skip_empty_;
};

// Like Python's split: "" means runs of blanks, and the number of splits may be limited.
class StringSplitV2 : public Kernel {
 public:
  explicit StringSplitV2(int64_t splits_max) : splits_max_(splits_max) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return std::unique_ptr<Kernel>(
        std::make_unique<StringSplitV2>(attributes.integer("maxsplit", -1)));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    Status status = check_vector(input.value());
    if (!status.ok()) return status;
    const Result<std::string_view> separator =
        scalar_string(context, 1, "sep must be a scalar, got shape: ");
    if (!separator.ok()) return separator.error();
    SparseRows rows;
    for (std::string_view text : input.value().strings) {
      if (splits_max_ == 0) {
        rows.add(text);
      } else if (separator.value().empty()) {
        split_at_blanks(text, rows);
      } else {
        split(text, separator.value(), rows);
      }
      rows.end_row();
    }
    return rows.write(context);
  }

 private:
  // Unlike Python, the rest after the last allowed split is a piece even if it is empty.
  void split_at_blanks(std::string_view text, SparseRows& rows) const {
    const auto skip = [&] {
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    };
    skip();
    for (int64_t splits = 1; !text.empty(); ++splits) {
      const size_t end = std::min(text.find_first_of(kBlanks), text.size());
      rows.add(text.substr(0, end));
      text.remove_prefix(end);
      skip();
      if (splits == splits_max_) return rows.add(text);
    }
  }

  void split(std::string_view text, std::string_view separator, SparseRows& rows) const {
    for (int64_t splits = 0; splits_max_ < 0 || splits < splits_max_; ++splits) {
      const size_t end = text.find(separator);
      if (end == std::string_view::npos) break;
      rows.add(text.substr(0, end));
      text.remove_prefix(end + separator.size());
    }
    rows.add(text);
  }

  int64_t splits_max_;
};

constexpr DType kCsvTypes[] = {DType::Fp32, DType::Fp64, DType::Int32, DType::Int64, DType::Bytes};

struct CsvSettings {
  char delimiter = ',';
  bool quotes = true;
  std::string na_value;
  std::vector<int64_t> columns;  // empty: all
  std::vector<DType> dtypes;     // per output
};

// Splits a line of CSV into fields; removes the quotes of quoted ones.
class CsvLine {
 public:
  CsvLine(const CsvSettings& settings, std::string_view line) : set_(settings), line_(line) {}

  Status read(std::vector<std::string>& fields) {
    if (line_.empty()) return ok_status();
    size_t column = 0, chosen = 0;
    while (at_ < line_.size()) {
      if (line_[at_] == '\n' || line_[at_] == '\r') {
        ++at_;
        continue;
      }
      std::string field;
      const bool quoted = set_.quotes && line_[at_] == '"';
      Status status = quoted ? read_quoted(field) : read_plain(field);
      if (!status.ok()) return status;
      keep(std::move(field), column++, chosen, fields);
    }
    // A delimiter at the end starts one more field.
    if (line_.back() == set_.delimiter) keep({}, column, chosen, fields);
    return ok_status();
  }

 private:
  void keep(std::string field, size_t column, size_t& chosen, std::vector<std::string>& fields) {
    if (!set_.columns.empty()) {
      if (chosen == set_.columns.size() || set_.columns[chosen] != static_cast<int64_t>(column)) {
        return;
      }
      ++chosen;
    }
    fields.push_back(std::move(field));
  }

  Status read_plain(std::string& field) {
    for (; at_ < line_.size() && line_[at_] != set_.delimiter; ++at_) {
      const char c = line_[at_];
      if ((set_.quotes && c == '"') || c == '\n' || c == '\r') {
        return invalid_argument("Unquoted fields cannot have quotes/CRLFs inside");
      }
      field.push_back(c);
    }
    ++at_;
    return ok_status();
  }

  Status read_quoted(std::string& field) {
    ++at_;
    const auto next_is = [&](char c) { return line_[at_ + 1] == c; };
    while (at_ + 1 < line_.size() && (line_[at_] != '"' || !next_is(set_.delimiter))) {
      if (line_[at_] == '"') {
        if (!next_is('"')) {
          return invalid_argument("Quote inside a string has to be escaped by another quote");
        }
        ++at_;
      }
      field.push_back(line_[at_++]);
    }
    if (at_ >= line_.size() || line_[at_] != '"' ||
        (at_ + 1 != line_.size() && !next_is(set_.delimiter))) {
      return invalid_argument("Quoted field has to end with quote followed by delim or end");
    }
    at_ += 2;
    return ok_status();
  }

  const CsvSettings& set_;
  std::string_view line_;
  size_t at_ = 0;
};

class DecodeCsv : public Kernel {
 public:
  explicit DecodeCsv(CsvSettings settings) : set_(std::move(settings)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    CsvSettings settings;
    const std::string delimiter = attributes.text("field_delim", ",");
    if (delimiter.size() != 1) return invalid_attribute("field_delim should be only 1 char");
    settings.delimiter = delimiter[0];
    settings.quotes = attributes.integer("use_quote_delim", 1) != 0;
    settings.na_value = attributes.text("na_value", "");
    settings.columns = attributes.integers("select_cols");
    for (int64_t type : attributes.integers("out_types")) {
      const DType dtype = dtype_from_onnx(type);
      if (std::find(std::begin(kCsvTypes), std::end(kCsvTypes), dtype) == std::end(kCsvTypes)) {
        return invalid_attribute(
            "DecodeCSV: out_types: expected FP32, FP64, INT32, INT64 or BYTES, got number " +
            std::to_string(type));
      }
      settings.dtypes.push_back(dtype);
    }
    const auto& columns = settings.columns;
    if (!columns.empty() && columns.size() != settings.dtypes.size()) {
      return invalid_attribute("select_cols should match output size");
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0) return invalid_attribute("select_cols should be non-negative indices");
      if (i != 0 && columns[i] <= columns[i - 1]) {
        return invalid_attribute("select_cols should be strictly increasing indices");
      }
    }
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCsv>(std::move(settings)));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> records = string_input(context, 0);
    if (!records.ok()) return records.error();
    std::vector<Column> columns(set_.dtypes.size());
    if (context.input_count() != columns.size() + 1 || context.output_count() < columns.size()) {
      return make_error(ErrorCode::BackendFailed,
                        "DecodeCSV: expected one default and one output per OUT_TYPE");
    }
    for (size_t f = 0; f < columns.size(); ++f) {
      Status status = prepare(context, f, records.value().shape, columns[f]);
      if (!status.ok()) return status;
    }
    const std::span<const std::string_view> lines = records.value().strings;
    for (size_t i = 0; i < lines.size(); ++i) {
      std::vector<std::string> fields;
      Status status = CsvLine(set_, lines[i]).read(fields);
      if (!status.ok()) return status;
      if (fields.size() != columns.size()) {
        return invalid_argument("Expect " + std::to_string(columns.size()) + " fields but have " +
                                std::to_string(fields.size()) + " in record " + std::to_string(i));
      }
      for (size_t f = 0; f < columns.size(); ++f) {
        status = store(columns[f], f, i, fields[f]);
        if (!status.ok()) return status;
      }
    }
    for (size_t f = 0; f < columns.size(); ++f) {
      if (set_.dtypes[f] != DType::Bytes) continue;
      Status status = columns[f].strings.write(context, f, records.value().shape);
      if (!status.ok()) return status;
    }
    return ok_status();
  }

 private:
  // One output column; uses `numbers` unless the dtype is Bytes.
  struct Column {
    TensorView fallback;
    std::span<uint8_t> numbers;
    StringsOut strings;
  };

  Status prepare(KernelContext& context, size_t f, const Shape& shape, Column& column) const {
    const Result<TensorView> fallback = context.input(f + 1);
    if (!fallback.ok()) return fallback.error();
    column.fallback = fallback.value();
    if (column.fallback.dtype != set_.dtypes[f]) {
      return make_error(ErrorCode::BackendFailed,
                        "DecodeCSV: default " + std::to_string(f) + " has another data type");
    }
    if (element_count(column.fallback) > 1) {
      return invalid_argument("There should only be 1 default per field but field " +
                              std::to_string(f) + " has " +
                              std::to_string(element_count(column.fallback)));
    }
    if (set_.dtypes[f] == DType::Bytes) return ok_status();
    Result<std::span<uint8_t>> memory = context.output(f, set_.dtypes[f], shape);
    if (!memory.ok()) return memory.error();
    column.numbers = memory.value();
    return ok_status();
  }

  Status store(Column& column, size_t f, size_t record, const std::string& field) const {
    const DType dtype = set_.dtypes[f];
    const size_t bytes = dtype_bytes(dtype);
    const bool missing = field.empty() || field == set_.na_value;
    if (missing && element_count(column.fallback) == 0) {
      return invalid_argument("Field " + std::to_string(f) + " is required but missing in record " +
                              std::to_string(record) + "!");
    }
    if (dtype == DType::Bytes) {
      column.strings.add(missing ? column.fallback.strings[0] : std::string_view(field));
      return ok_status();
    }
    uint8_t* to = column.numbers.data() + record * bytes;
    if (missing) {
      std::memcpy(to, column.fallback.data, bytes);
    } else if (!parse_number(field, dtype, to)) {
      return invalid_argument("Field " + std::to_string(f) + " in record " +
                              std::to_string(record) + " is not a valid " +
                              std::string(dtype_tf_name(dtype)) + ": " +
                              field.substr(0, kErrorValueBytesMax));
    }
    return ok_status();
  }

  CsvSettings set_;
};

}  // namespace

std::vector<OperatorType> string_split_operators() {
  const Operand string = port(DType::Bytes), integer = port(DType::Int64);
  const Operand any_number = port(DType::Invalid, Operand::Form::Variadic);
  return {
      {"StringSplit", {string, string}, {integer, string, integer}, StringSplit::make},
      {"StringSplitV2", {string, string}, {integer, string, integer}, StringSplitV2::make},
      {"DecodeCSV", {string, any_number}, {any_number}, DecodeCsv::make},
  };
}

}  // namespace serval::operators
