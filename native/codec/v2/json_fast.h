// Reads values from the body for the fast V2 decoder. Hot path; pure, any thread. Every function
// returns the byte after the value, or nullptr: rejected, the plain decoder finds the reason.
#pragma once

#include "base/tensor.h"
#include "codec/json/cursor.h"

namespace serval::v2 {

// Reads true or false; `p` is below the end.
const char* read_bool(const char* p, FastBody& body, bool& out);

// Fills tensor.data or tensor.strings from the list of "data" at `p`, nested or flat, at most
// depth_max levels deep; tensor.dtype and tensor.shape are set. Memory: the arena.
const char* read_data(const char* p, FastBody& body, uint32_t depth_max, TensorView& tensor);

// Skips the list at `p` by its brackets and quotes alone: its elements are read later.
const char* skip_list_unread(const char* p, const char* end);

}  // namespace serval::v2
