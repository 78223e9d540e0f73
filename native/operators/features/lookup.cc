// LookupFind: a table that is fixed when the model is loaded. Hot path, any thread. Inputs: keys;
// the default (one value); the table's keys [n]; its values [n, ...]. The last two must be
// constants: they are read at the first run and never again. Output: the keys' shape followed by a
// value's.
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

#include "operators/features/hash.h"
#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

// A key's bytes, or its number.
uint64_t number_at(const TensorView& keys, size_t index) {
  uint64_t value = 0;
  const size_t bytes = dtype_bytes(keys.dtype);
  std::memcpy(&value, keys.data + index * bytes, bytes);
  return value;
}

uint64_t spread(uint64_t number) {
  number *= 0x9ddfea08eb382d69u;
  return number ^ number >> 32;
}

// Owns copies of everything.
class Table {
 public:
  // For a duplicate key the last value counts.
  Table(const TensorView& keys, const TensorView& values) : values_(values) {
    const size_t count = keys.shape.elements().value_or(0);
    key_dtype_ = keys.dtype;
    copy(keys, texts_, key_views_, raw_keys_);
    copy(values, value_texts_, value_views_, raw_values_);
    values_.data = raw_values_.data();
    values_.strings = value_views_;
    slots_.assign(std::bit_ceil(2 * count + 2), -1);
    for (size_t i = 0; i < count; ++i) {
      size_t slot = 0;
      if (key_dtype_ == DType::Bytes) {
        slot = slot_of(key_views_[i]);
      } else {
        numbers_.push_back(number_at(keys, i));
        slot = slot_of(numbers_.back());
      }
      slots_[slot] = static_cast<int64_t>(i);
    }
  }
  DType key_dtype() const { return key_dtype_; }
  const TensorView& values() const { return values_; }
  // The row, -1 if there is no such key.
  int64_t find(std::string_view key) const { return slots_[slot_of(key)]; }
  int64_t find(uint64_t key) const { return slots_[slot_of(key)]; }

 private:
  static void copy(const TensorView& from, std::string& texts, std::vector<std::string_view>& views,
                   std::vector<uint8_t>& raw) {
    if (from.dtype != DType::Bytes) {
      raw.assign(from.data, from.data + from.bytes);
      return;
    }
    for (const std::string_view text : from.strings) texts.append(text);
    const char* at = texts.data();
    for (const std::string_view text : from.strings) {
      views.emplace_back(at, text.size());
      at += text.size();
    }
  }
  // The slot that holds the key, or the free one where it belongs.
  template <typename Same>
  size_t probe(uint64_t hash, Same same) const {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] >= 0 && !same(static_cast<size_t>(slots_[slot]))) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }
  size_t slot_of(std::string_view key) const {
    return probe(fingerprint64(key), [&](size_t i) { return key_views_[i] == key; });
  }
  size_t slot_of(uint64_t key) const {
    return probe(spread(key), [&](size_t i) { return numbers_[i] == key; });
  }

  DType key_dtype_;
  TensorView values_;
  std::string texts_, value_texts_;
  std::vector<std::string_view> key_views_, value_views_;
  std::vector<uint8_t> raw_keys_, raw_values_;
  std::vector<uint64_t> numbers_;
  std::vector<int64_t> slots_;
};

class LookupFind final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const Table* table = read_table(io);
    const TensorView keys = io.view(0), fallback = io.view(1);
    if (io.failed()) return io.take();
    const TensorView& values = table->values();
    if (keys.dtype != table->key_dtype()) {
      return internal_failure("LookupFind: keys of another type than the table's");
    }
    if (!io.require(fallback.dtype == values.dtype, "LookupFind: wrong type of default")) {
      return io.take();
    }
    const size_t each = RowCopier::elements_per_row(values.shape);
    if (!io.require(fallback.shape.elements() == each,
                    "Expected shape " + row_shape(values.shape).to_string() +
                        " for default value, got " + fallback.shape.to_string())) {
      return io.take();
    }
    std::vector<int64_t> rows(keys.shape.elements().value_or(0));
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = keys.dtype == DType::Bytes ? table->find(keys.strings[i])
                                           : table->find(number_at(keys, i));
    }
    Shape shape = keys.shape;
    const Shape row = row_shape(values.shape);
    for (const int64_t dim : row.dims()) {
      if (!io.require(shape.push_back(dim), "LookupFind: rank too high")) return io.take();
    }
    write(io, shape, rows, values, fallback, each);
    return io.take();
  }

 private:
  static Shape row_shape(const Shape& shape) {
    return Shape(shape.dims().subspan(std::min<size_t>(1, shape.rank())));
  }
  const Table* read_table(KernelIo& io) const {
    if (const Table* made = ready_.load(std::memory_order_acquire)) return made;
    const std::lock_guard lock(mutex_);
    if (table_ == nullptr) {
      const TensorView keys = io.view(2), values = io.view(3);
      if (io.failed()) return nullptr;
      if (keys.shape.rank() != 1 || values.shape.rank() < 1 || values.shape[0] != keys.shape[0]) {
        io.fail(internal_failure("LookupFind: keys " + keys.shape.to_string() +
                                 " do not go with values " + values.shape.to_string()));
        return nullptr;
      }
      table_ = std::make_unique<const Table>(keys, values);
      ready_.store(table_.get(), std::memory_order_release);
    }
    return table_.get();
  }
  static void write(KernelIo& io, const Shape& shape, std::span<const int64_t> rows,
                    const TensorView& values, const TensorView& fallback, size_t each) {
    if (values.dtype == DType::Bytes) {
      std::vector<std::string_view> out;
      out.reserve(rows.size() * each);
      for (const int64_t row : rows) {
        const auto from = row < 0 ? fallback.strings
                                  : values.strings.subspan(static_cast<size_t>(row) * each, each);
        out.insert(out.end(), from.begin(), from.end());
      }
      io.strings(0, shape, out);
      return;
    }
    const std::span<uint8_t> out = io.raw_output(0, values.dtype, shape);
    const size_t bytes = each * dtype_bytes(values.dtype);
    if (io.failed() || bytes == 0) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint8_t* from =
          rows[i] < 0 ? fallback.data : values.data + static_cast<size_t>(rows[i]) * bytes;
      std::memcpy(out.data() + i * bytes, from, bytes);
    }
  }

  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Table> table_;  // guarded by mutex_
  mutable std::atomic<const Table*> ready_ = nullptr;
};

Result<std::unique_ptr<Kernel>> make_lookup(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<LookupFind>());
}

}  // namespace

std::vector<OperatorType> lookup_operators() {
  return {{"LookupFind", {Operand{}, Operand{}, Operand{}, Operand{}}, {Operand{}}, make_lookup}};
}

}  // namespace serval::operators
