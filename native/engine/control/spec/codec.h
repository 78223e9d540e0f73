// engine.fbs tables to and from the engine's structs. Control plane, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/generated/engine_generated.h"
#include "base/limits.h"
#include "engine/model/model.h"
#include "engine/tables/model_table.h"

namespace serval {

// Limits of a model spec; those of its tensors and names are in base/limits.h.
inline constexpr uint32_t kPriorityLevelsMax = 1024;  // a queue each
inline constexpr size_t kLabelsMax = 1'000'000;       // of one output
inline constexpr size_t kDevicesMax = 256;            // a session each
inline constexpr size_t kGraphsMax = 1024;            // signatures, a session each
inline constexpr size_t kWeightsMax = 1'000'000;

// Errors: invalid_argument when the bytes are no such table or a member is out of range; the text
// names the member, what is expected and what is there.
Result<ModelSpec> parse_model_spec(std::span<const uint8_t> bytes);

// The pieces of parse_model_spec(). Graphs, weights and states of `from` (graphs.cc); indices
// are checked against each other.
Status read_graphs(const fb::ModelSpec& from, ModelSpec& spec);
// Errors: invalid_argument (a default that is no tensor of its input's type).
Result<Signature> read_signature(const fb::Signature& from);

// Appends ModelInfo bytes. False when memory is out.
bool write_model_info(Model& model, ByteBuffer& out);

// Appends EngineStats bytes. `handles`: whose statistics are written, empty = of all; one that is
// not loaded is left out. False when memory is out.
bool write_engine_stats(const ModelTable& models, std::span<const uint32_t> handles,
                        uint64_t bodies_open, uint64_t tickets_open, ByteBuffer& out);

}  // namespace serval
