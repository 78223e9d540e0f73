// Column: reading, writing and ending rows. Hot path, any thread.
#include "tabular/column.h"

#include <algorithm>
#include <cassert>

namespace serval::tabular {
void Column::reset(Type of, uint32_t row_count, Type of_element) {
  type = of;
  element = of_element;
  precision = scale = 0;
  rows = row_count;
  sparse = false;
  states.clear();
  indices.clear();
  sizes.clear();
  reals.clear();
  integers.clear();
  texts.clear();
  decimals.clear();
  offsets.clear();
  failures.clear();
  if (is_list(of)) {
    offsets.push_back(0);
    return;
  }
  switch (storage_of(of)) {
    case Storage::Real: reals.resize(row_count); break;
    case Storage::Integer: integers.resize(row_count); break;
    case Storage::Text: texts.resize(row_count); break;
    case Storage::Decimal: decimals.resize(row_count); break;
  }
}

const Failure* Column::find_failure(uint32_t row) const {
  const auto found =
      std::lower_bound(failures.begin(), failures.end(), row,
                       [](const Failure& each, uint32_t wanted) { return each.row < wanted; });
  return found != failures.end() && found->row == row ? &*found : nullptr;
}

void Column::set_state(uint32_t row, State state) {
  if (states.empty()) {
    if (state == State::Valid) return;
    states.assign(rows, static_cast<uint8_t>(State::Valid));
  }
  states[row] = static_cast<uint8_t>(state);
}

size_t Column::held() const {
  switch (storage_of(type == Type::List ? element : type)) {
    case Storage::Real: return reals.size();
    case Storage::Integer: return integers.size();
    case Storage::Text: return texts.size();
    case Storage::Decimal: return decimals.size();
  }
  return 0;
}

size_t Column::held_bytes() const {
  return reals.capacity() * sizeof(double) + integers.capacity() * sizeof(int64_t) +
         texts.capacity() * sizeof(TextId) + decimals.capacity() * sizeof(Int128) +
         offsets.capacity() * sizeof(uint64_t) + indices.capacity() * sizeof(int32_t) +
         sizes.capacity() * sizeof(uint32_t) + states.capacity();
}

void Column::drop_row(uint32_t row) {
  if (!is_list(type)) return set_missing(row);
  const auto begin = static_cast<size_t>(offsets.back());
  switch (storage_of(type == Type::List ? element : type)) {
    case Storage::Real: reals.resize(begin); break;
    case Storage::Integer: integers.resize(begin); break;
    case Storage::Text: texts.resize(begin); break;
    case Storage::Decimal: decimals.resize(begin); break;
  }
  if (sparse) indices.resize(begin);
}

void Column::end_rows(uint32_t count) {
  while (offsets.size() <= count) {
    set_missing(static_cast<uint32_t>(offsets.size() - 1));
    offsets.push_back(held());
    if (sparse) sizes.push_back(0);
  }
}

Value Column::value(uint32_t row) const {
  Value made;
  made.type = type;
  made.state = state(row);
  made.precision = precision;
  made.scale = scale;
  if (type == Type::List) {  // see sql/composite/types.h
    made.precision = static_cast<uint8_t>(element);
    made.scale = 0;
  }
  if (made.missing()) return made;
  if (is_list(type)) {
    made.list = {this, row};
    return made;
  }
  switch (storage_of(type)) {
    case Storage::Real: made.real = reals[row]; break;
    case Storage::Integer: made.integer = integers[row]; break;
    case Storage::Text: made.text = texts[row]; break;
    case Storage::Decimal: made.decimal = decimals[row]; break;
  }
  return made;
}

void Column::set(uint32_t row, const Value& value) {
  if (!value.valid()) set_state(row, value.state);
  else if (!states.empty()) states[row] = static_cast<uint8_t>(State::Valid);
  if (value.missing()) return;
  assert(storage_of(value.type) == storage_of(type) && !is_list(type));
  switch (storage_of(type)) {
    case Storage::Real: reals[row] = value.real; break;
    case Storage::Integer: integers[row] = value.integer; break;
    case Storage::Text: texts[row] = value.text; break;
    case Storage::Decimal: decimals[row] = value.decimal; break;
  }
}

}  // namespace serval::tabular
