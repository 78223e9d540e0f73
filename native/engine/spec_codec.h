// engine.fbs tables to and from the engine's structs. Control plane, any thread.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "base/limits.h"
#include "engine/model.h"

namespace serval {

// Errors: invalid_argument when the bytes are no such table or a member is out of range.
Result<ModelSpec> parse_model_spec(std::span<const uint8_t> bytes);

// Appends ModelInfo bytes. False when memory is out.
bool write_model_info(const Model& model, ByteBuffer& out);

// Appends EngineStats bytes. False when memory is out.
bool write_engine_stats(const std::vector<std::shared_ptr<Model>>& models, uint64_t bodies_open,
                        uint64_t tickets_open, ByteBuffer& out);

}  // namespace serval
