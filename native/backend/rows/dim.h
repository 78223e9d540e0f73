// Sizes and integers that are known symbolically before a model runs, as products: number * N *
// symbols, where N is the number of rows of a batch. Control plane, the loading thread; pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace serval::rows {

using Symbol = uint32_t;

// A product. A symbol is an integer that is the same for a batch and for each row alone: a free
// trailing dim of an input, or a number computed from such dims.
struct Dim {
  int64_t number = 1;
  int power = 0;                // of N
  std::vector<Symbol> symbols;  // sorted

  Dim() = default;
  Dim(int64_t value) : number(value) {}  // NOLINT: implicit
  static Dim of_symbol(Symbol symbol) {
    Dim dim;
    dim.symbols = {symbol};
    return dim;
  }
  static Dim of_rows() {
    Dim dim;
    dim.power = 1;
    return dim;
  }
  // A size that is too large to represent: it is equal to nothing, not even itself.
  static Dim beyond() {
    Dim dim;
    dim.power = kBeyond;
    return dim;
  }
  bool is_beyond() const { return power == kBeyond; }
  bool operator==(const Dim& other) const {
    return !is_beyond() && number == other.number && power == other.power &&
           symbols == other.symbols;
  }
  bool is_number() const { return power == 0 && symbols.empty(); }
  bool is(int64_t value) const { return is_number() && number == value; }
  // Whether it grows with the batch.
  bool has_rows() const { return power != 0 && number != 0; }
  std::string key() const;

 private:
  static constexpr int kBeyond = -1;
};

using Dims = std::vector<Dim>;

// Dim::beyond() if it exceeds 64 bits.
Dim operator*(const Dim& a, const Dim& b);
// The exact quotient; nullopt if the divisor is not known to divide.
std::optional<Dim> divide(const Dim& a, const Dim& b);
// The same without N.
Dim without_rows(Dim dim);
Dim product(const Dims& dims, size_t first, size_t last);
inline Dim product(const Dims& dims) { return product(dims, 0, dims.size()); }

// The symbols of one model.
class Symbols {
 public:
  Symbol fresh(bool positive_or_zero, bool whole = true) {
    never_negative_.push_back(positive_or_zero);
    whole_.push_back(whole);
    return static_cast<Symbol>(whole_.size() - 1);
  }
  // Returns one symbol per name, so that a number computed twice is the same symbol.
  Symbol named(const std::string& name, bool positive_or_zero, bool whole = true) {
    const auto [at, added] = named_.try_emplace(name, 0);
    if (added) at->second = fresh(positive_or_zero, whole);
    return at->second;
  }
  Dim fresh_dim() { return Dim::of_symbol(fresh(true)); }
  // Whether the product cannot be below 0.
  bool never_negative(const Dim& dim) const;
  // Whether the product is an integer, in whatever type it is computed.
  bool whole(const Dim& dim) const;

 private:
  std::vector<bool> never_negative_, whole_;
  std::map<std::string, Symbol> named_;
};

}  // namespace serval::rows
