// Implements products, their quotients and signs. Control plane; pure.
#include "backend/rows/dim.h"

#include <algorithm>
#include <iterator>

namespace serval::rows {

std::string Dim::key() const {
  std::string text = std::to_string(number) + "n" + std::to_string(power);
  for (const Symbol symbol : symbols) text += "s" + std::to_string(symbol);
  return text;
}

Dim operator*(const Dim& a, const Dim& b) {
  Dim out;
  if (a.is_beyond() || b.is_beyond()) return Dim::beyond();
  if (__builtin_mul_overflow(a.number, b.number, &out.number)) {
    return Dim::beyond();
  }
  if (out.number == 0) return out;
  out.power = a.power + b.power;
  std::merge(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
             std::back_inserter(out.symbols));
  return out;
}

std::optional<Dim> divide(const Dim& a, const Dim& b) {
  if (a.is_beyond() || b.is_beyond()) return std::nullopt;
  if (b.number == 0 || a.number % b.number != 0 || a.power < b.power) return std::nullopt;
  if (!std::includes(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end())) {
    return std::nullopt;
  }
  Dim out;
  out.number = a.number / b.number;
  out.power = a.power - b.power;
  std::set_difference(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
                      std::back_inserter(out.symbols));
  return out;
}

Dim without_rows(Dim dim) {
  dim.power = 0;
  return dim;
}

Dim product(const Dims& dims, size_t first, size_t last) {
  Dim out;
  for (size_t i = first; i < last; ++i) out = out * dims[i];
  return out;
}

bool Symbols::never_negative(const Dim& dim) const {
  if (dim.number < 0) return false;
  return std::all_of(dim.symbols.begin(), dim.symbols.end(),
                     [this](Symbol symbol) { return never_negative_[symbol]; });
}

bool Symbols::whole(const Dim& dim) const {
  return std::all_of(dim.symbols.begin(), dim.symbols.end(),
                     [this](Symbol symbol) { return whole_[symbol]; });
}

}  // namespace serval::rows
