// Numbers as Java writes them: Double.toString, Float.toString, BigDecimal.toString (JDK 19 and
// later: the shortest text that reads back). Hot path; pure, any thread.
#pragma once

#include <string>

#include "tabular/types.h"

namespace serval::tabular {

// "1.0", "1.0E10", "-0.0", "NaN", "-Infinity".
void append_java_double(double value, std::string& out);
// `value` is an exact float.
void append_java_float(double value, std::string& out);
// "12.30", "1E-9"
void append_java_decimal(Int128 unscaled, int scale, std::string& out);

// For error texts.
std::string java_double(double value);

}  // namespace serval::tabular
