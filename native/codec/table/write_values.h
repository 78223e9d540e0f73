// Elements of an answer as JSON, with nulls. Hot path; pure, any thread.
#pragma once

#include "codec/table/answer.h"

namespace serval::table {

// How numbers that JSON has not are written: as the strings "NaN", "Infinity" (V2: what its input
// takes), or as those tokens (V1: what TensorFlow Serving does).
enum class NumberForm : uint8_t { Strings, Tokens };

// Appends elements [begin, end) of a tensor, with commas between them and no brackets; those of
// missing rows are null.
// Errors: invalid_argument (text that is not UTF-8), body_too_large, memory_full.
Status append_values(ByteBuffer& out, const AnswerTensor& tensor, size_t begin, size_t end,
                     NumberForm form, uint64_t bytes_max);

}  // namespace serval::table
