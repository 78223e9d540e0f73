// The runtime's arena, which all sessions share: it grows to what the largest runs need. Control
// plane, any thread.
#pragma once

#include "backend/onnxruntime/library.h"

namespace serval::ort {

// The part of the arena that no run uses, in bytes; 0 for libraries before 1.24.
uint64_t unused_arena_bytes(const OrtRuntime& runtime);

// Returns unused parts of the arena to the system, if they are large. Runs that allocate wait
// meanwhile: about 50 ms for each GB.
void release_arena(const OrtRuntime& runtime);

}  // namespace serval::ort
