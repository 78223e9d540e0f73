// SparseCross: TensorFlow's SparseCross, SparseCrossV2 and SparseCrossHashed in one kernel. Hot
// path, any thread. Inputs: N sparse columns (all indices, then all values, then all shapes; N is
// the attribute `num_sparse`), then dense columns [batch, n]. Values are strings or int64. Outputs:
// indices, values (string with mode "join", else int64) and shape of the crossed column.
// Attributes: mode "join" (with `separator`), "hash" (`num_buckets`, `hash_key`) or "salted"
// (`num_buckets`, `salt` of two, `strong_hash`). num_buckets 0 = the whole range of int64.
#include "operators/features/hash.h"
#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

constexpr size_t kCrossesMax = size_t{1} << 24;  // per run: the numbers of values multiply

enum class Mode : uint8_t { Join, Hash, Salted };

struct CrossOptions {
  Mode mode = Mode::Join;
  std::string separator;
  uint64_t buckets = 0, hash_key = 0, salt[2] = {};
  bool strong = false;
};

// One column: the values of row r are [starts[r], starts[r + 1]).
struct CrossColumn {
  TensorView values;
  bool dense = false;
  std::vector<size_t> starts;
  size_t count(size_t row) const { return starts[row + 1] - starts[row]; }
};

class SparseCross final : public Kernel {
 public:
  SparseCross(CrossOptions options, size_t sparse_count)
      : options_(std::move(options)), sparse_count_(sparse_count) {}

  Status run(KernelContext& context) const override;

 private:
  std::vector<CrossColumn> read_columns(KernelIo& io) const;
  uint64_t hash_of(const CrossColumn& column, size_t at) const;
  void append_text(const TensorView& values, size_t at, std::string& text) const;
  void write_values(KernelIo& io, std::span<const CrossColumn> columns, size_t rows,
                    size_t total) const;
  template <typename Visit>
  void for_crosses(std::span<const CrossColumn> columns, size_t rows, Visit visit) const;

  const CrossOptions options_;
  const size_t sparse_count_;
};

std::vector<CrossColumn> SparseCross::read_columns(KernelIo& io) const {
  std::vector<CrossColumn> columns;
  const size_t dense_count = io.input_count() - 3 * sparse_count_;
  int64_t batch = -1;
  const auto same_batch = [&](int64_t rows) {
    io.require(rows >= 0 && (batch < 0 || rows == batch),
               "Expected batch size " + std::to_string(batch) + ", got " + std::to_string(rows));
    batch = rows;
  };
  for (size_t i = 0; i < sparse_count_ && !io.failed(); ++i) {
    const TensorView indices = io.view(i);
    const auto places = io.elements<int64_t>(indices);
    const auto shape = io.elements<int64_t>(2 * sparse_count_ + i);
    CrossColumn column;
    column.values = io.view(sparse_count_ + i);
    const size_t count = column.values.shape.elements().value_or(0);
    if (!io.require(indices.shape.rank() == 2 && indices.shape[1] == 2 && shape.size() == 2 &&
                        places.size() == 2 * count,
                    "SparseCross: column " + std::to_string(i) + " is no sparse matrix: indices " +
                        indices.shape.to_string())) {
      return {};
    }
    same_batch(shape[0]);
    if (!io.require(shape[0] <= kRowsMax, "SparseCross: too many rows")) return {};
    column.starts.assign(static_cast<size_t>(shape[0]) + 1, 0);
    int64_t last = 0;
    for (size_t v = 0; v < count && !io.failed(); ++v) {
      const int64_t row = places[2 * v];
      if (!io.require(row >= last && row < shape[0], "SparseCross: indices[" + std::to_string(v) +
                                                         "] of column " + std::to_string(i) +
                                                         " is out of order or out of range")) {
        return {};
      }
      last = row;
      column.starts[static_cast<size_t>(row) + 1] += 1;
    }
    for (size_t r = 1; r < column.starts.size(); ++r) column.starts[r] += column.starts[r - 1];
    columns.push_back(std::move(column));
  }
  for (size_t i = 0; i < dense_count && !io.failed(); ++i) {
    CrossColumn column;
    column.dense = true;
    column.values = io.view(3 * sparse_count_ + i);
    const Shape& shape = column.values.shape;
    if (!io.require(shape.rank() == 2,
                    "Dense inputs should be matrices but got " + shape.to_string())) {
      return {};
    }
    same_batch(shape[0]);
    for (int64_t r = 0; r <= shape[0]; ++r) {
      column.starts.push_back(static_cast<size_t>(r * shape[1]));
    }
    columns.push_back(std::move(column));
  }
  for (const CrossColumn& column : columns) {
    const DType dtype = column.values.dtype;
    io.require(dtype == DType::Bytes || dtype == DType::Int64,
               "SparseCross: expected values of type string or int64, got " +
                   std::string(dtype_tf_name(dtype)));
  }
  io.require(!columns.empty(), "SparseCross: no columns");
  // TensorFlow 2.21 interprets such a number as an address, so there is no result to match.
  for (const CrossColumn& column : columns) {
    io.require(options_.mode != Mode::Salted || !options_.strong || !column.dense ||
                   column.values.dtype == DType::Bytes,
               "SparseCross: dense integers cannot be hashed strongly");
  }
  return columns;
}

uint64_t SparseCross::hash_of(const CrossColumn& column, size_t at) const {
  std::string_view bytes;
  if (column.values.dtype != DType::Bytes) {
    const uint8_t* place = column.values.data + at * sizeof(uint64_t);
    uint64_t number;
    std::memcpy(&number, place, sizeof number);
    if (options_.mode == Mode::Hash || column.dense) return number;
    bytes = {reinterpret_cast<const char*>(place), 4};  // only the low half, as in TensorFlow
  } else {
    bytes = column.values.strings[at];
  }
  if (options_.mode != Mode::Salted || !options_.strong) return fingerprint64(bytes);
  return strong_hash64(options_.salt[0], options_.salt[1], bytes);
}

void SparseCross::append_text(const TensorView& values, size_t at, std::string& text) const {
  if (values.dtype == DType::Bytes) {
    text.append(values.strings[at]);
    return;
  }
  int64_t number;
  std::memcpy(&number, values.data + at * sizeof number, sizeof number);
  text.append(std::to_string(number));
}

// Calls visit(row, picks) for every cross; the last column's values change fastest.
template <typename Visit>
void SparseCross::for_crosses(std::span<const CrossColumn> columns, size_t rows,
                              Visit visit) const {
  std::vector<size_t> picks(columns.size());
  for (size_t row = 0; row < rows; ++row) {
    bool any = true;
    for (size_t c = 0; c < columns.size(); ++c) {
      any &= columns[c].count(row) != 0;
      picks[c] = columns[c].starts[row];
    }
    while (any) {
      visit(row, picks);
      size_t c = columns.size();
      while (c > 0 && ++picks[c - 1] == columns[c - 1].starts[row + 1]) {
        --c;
        picks[c] = columns[c].starts[row];
      }
      any = c > 0;
    }
  }
}

void SparseCross::write_values(KernelIo& io, std::span<const CrossColumn> columns, size_t rows,
                               size_t total) const {
  if (options_.mode == Mode::Join) {
    std::vector<std::string> texts;
    texts.reserve(total);
    for_crosses(columns, rows, [&](size_t, const std::vector<size_t>& picks) {
      std::string text;
      for (size_t c = 0; c < columns.size(); ++c) {
        if (c != 0) text.append(options_.separator);
        append_text(columns[c].values, picks[c], text);
      }
      texts.push_back(std::move(text));
    });
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    io.strings(1, shape_of({static_cast<int64_t>(total)}), views);
    return;
  }
  const std::span<int64_t> out = io.vector_output<int64_t>(1, total);
  if (io.failed()) return;
  const uint64_t modulus = options_.buckets > 0 ? options_.buckets : uint64_t{INT64_MAX};
  size_t at = 0;
  for_crosses(columns, rows, [&](size_t, const std::vector<size_t>& picks) {
    // The salted form starts with the first value itself; the salt is the strong hash's key.
    const bool keyed = options_.mode == Mode::Hash;
    uint64_t hash = keyed ? options_.hash_key : hash_of(columns[0], picks[0]);
    for (size_t c = keyed ? 0 : 1; c < columns.size(); ++c) {
      hash = fingerprint_cat64(hash, hash_of(columns[c], picks[c]));
    }
    out[at++] = static_cast<int64_t>(hash % modulus);
  });
}

Status SparseCross::run(KernelContext& context) const {
  KernelIo io(context);
  if (io.input_count() < 3 * sparse_count_) {
    return internal_failure("SparseCross: too few inputs");
  }
  const std::vector<CrossColumn> columns = read_columns(io);
  if (io.failed()) return io.take();
  const size_t rows = columns[0].starts.size() - 1;
  size_t total = 0, widest = 0;
  for (size_t row = 0; row < rows; ++row) {
    size_t crosses = 1;
    for (const CrossColumn& column : columns) {
      if (__builtin_mul_overflow(crosses, column.count(row), &crosses)) crosses = kCrossesMax + 1;
    }
    widest = std::max(widest, crosses);
    if (crosses > kCrossesMax || (total += crosses) > kCrossesMax) {
      return invalid_argument("SparseCross: over the limit of " + std::to_string(kCrossesMax) +
                              " crossed values");
    }
  }
  const auto indices = io.output<int64_t>(0, shape_of({static_cast<int64_t>(total), 2}));
  const auto shape = io.vector_output<int64_t>(2, 2);
  if (io.failed()) return io.take();
  shape[0] = static_cast<int64_t>(rows);
  shape[1] = static_cast<int64_t>(widest);
  size_t at = 0, last = rows;
  int64_t within = 0;
  for_crosses(columns, rows, [&](size_t row, const std::vector<size_t>&) {
    within = row == last ? within + 1 : 0;
    last = row;
    indices[at++] = static_cast<int64_t>(row);
    indices[at++] = within;
  });
  write_values(io, columns, rows, total);
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_cross(const KernelAttributes& attributes) {
  CrossOptions options;
  const std::string mode = attributes.text("mode", "join");
  if (mode == "hash") options.mode = Mode::Hash;
  else if (mode == "salted") options.mode = Mode::Salted;
  else if (mode != "join") return model_invalid("attribute 'mode': unknown: " + mode);
  options.separator = attributes.text("separator", "_X_");
  const int64_t buckets = attributes.integer("num_buckets", 0);
  const int64_t sparse_count = attributes.integer("num_sparse", 0);
  if (buckets < 0) return model_invalid("attribute 'num_buckets': expected 0 or more");
  if (sparse_count < 0 || sparse_count > 100'000) {
    return model_invalid("attribute 'num_sparse': got " + std::to_string(sparse_count));
  }
  options.buckets = static_cast<uint64_t>(buckets);
  options.hash_key = static_cast<uint64_t>(attributes.integer("hash_key", 0));
  options.strong = attributes.integer("strong_hash", 0) != 0;
  std::vector<int64_t> salt = attributes.integers("salt");
  salt.resize(2);
  for (size_t i = 0; i < 2; ++i) options.salt[i] = static_cast<uint64_t>(salt[i]);
  return std::unique_ptr<Kernel>(
      std::make_unique<SparseCross>(std::move(options), static_cast<size_t>(sparse_count)));
}

}  // namespace

std::vector<OperatorType> cross_operators() {
  const Operand any{DType::Invalid, Operand::Form::Variadic};
  return {{"SparseCross",
           {any},
           {Operand{DType::Int64}, Operand{}, Operand{DType::Int64}},
           make_cross}};
}

}  // namespace serval::operators
