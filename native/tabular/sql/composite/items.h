// Values of composite types: the items of arrays, maps (key, value, key, value ...) and structures.
// They live in the frame until the row's expression is evaluated. Hot path; one thread at a time.
#pragma once

#include <span>
#include <vector>

#include "tabular/sql/composite/types.h"
#include "tabular/sql/values.h"

namespace serval::tabular::sql {

// A value of `type` with these items, which have the types of its parts (a missing one too).
Value of_items(Eval& eval, SqlType type, std::vector<Value> items);

// A map of keys and values in turn. Fails where a key is NULL or is there twice.
Value of_pairs(Eval& eval, std::string_view function, SqlType type, std::vector<Value> items);

// The items of a valid composite value: of the frame, or copied out of the column it is a row of.
std::span<const Value> items_of(Eval& eval, const Value& value);

// The type of a value, that of a column's row of decimals included.
SqlType full_type(const Value& value);

// CAST where one of both types is composite.
Value cast_composite(Eval& eval, const Value& value, SqlType to);
// "[1, 2, null]", "{a -> 1}", "{1, x}", "INTERVAL '1-2' YEAR TO MONTH".
std::string items_text(Eval& eval, const Value& value);
// Order of two values of one type, missing ones first: what arrays are sorted by.
int compare_items(Eval& eval, const Value& a, const Value& b);
// Compares two valid composite values of one type.
int compare_composites(Eval& eval, const Value& a, const Value& b);

// Why a column cannot hold the value; empty if it can.
std::string column_fault(Eval& eval, const Value& value);

// Checks of arguments: errors name the function, the argument (from 1) and the types.
Value bad_argument(Eval& eval, std::string_view function, size_t index, std::string_view expected,
                   const Value& got);
// Argument `index` as `to`, as Spark's implicit casts make it.
Value argument(Eval& eval, std::string_view function, std::span<const Value> arguments,
               size_t index, SqlType to);

// An array that is an argument; NULL of no type is an array of NULL's type.
struct Array {
  SqlType element;
  bool valid = false;
  std::span<const Value> items;
  SqlType type() const { return array_of(element); }
};
// False after eval.failed().
bool array_argument(Eval& eval, std::string_view function, std::span<const Value> arguments,
                    size_t index, Array& out);
// The array with its items cast to another element type.
bool array_as(Eval& eval, SqlType element, Array& array, std::vector<Value>& kept);

}  // namespace serval::tabular::sql
