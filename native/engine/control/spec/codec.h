// Converts engine.fbs tables to and from the engine's structs. Control plane, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/generated/engine_generated.h"
#include "base/limits.h"
#include "engine/model/model.h"
#include "engine/published/models_by_handle.h"

namespace serval {

// Limits of a model spec; those of its tensors and names are in base/limits.h.
inline constexpr uint32_t kPriorityLevelsMax = 1024;  // each level has a queue
inline constexpr size_t kLabelsMax = 1'000'000;       // labels of one output
inline constexpr size_t kDevicesMax = 256;            // each device has a session
inline constexpr size_t kGraphsMax = 1024;            // signatures; each has a session
inline constexpr size_t kWeightsMax = 1'000'000;
inline constexpr size_t kOperatorLibrariesMax = 64;
inline constexpr size_t kEnsembleStepsMax = 1024;
inline constexpr uint32_t kSequenceSlotsMax = 1u << 20;  // of an instance

// Reads a model spec. Errors: invalid_argument if the bytes are not such a table or a member is out
// of range; the text names the member, what was expected and what was found.
Result<ModelSpec> parse_model_spec(std::span<const uint8_t> bytes);

// The parts of parse_model_spec(). Reads graphs, weights, states and operator libraries of
// `from` (graphs.cc); checks that indices are within range.
Status read_graphs(const fb::ModelSpec& from, ModelSpec& spec);
// Reads batch inputs and batch outputs (ragged.cc). Call after the batch policy and the tensors.
Status read_ragged(const fb::ModelSpec& from, ModelSpec& spec);
// Errors: invalid_argument (a default that does not match its input's type).
Result<Signature> read_signature(const fb::Signature& from);

// Appends ModelInfo bytes. Returns false if out of memory.
bool write_model_info(Model& model, ByteBuffer& out);

// Appends EngineStats bytes. `handles`: the models whose statistics are written, empty = all; a
// model that is not loaded is left out. Returns false if out of memory.
bool write_engine_stats(const ModelsByHandle& models, std::span<const uint32_t> handles,
                        uint64_t bodies_open, uint64_t tickets_open, ByteBuffer& out);

}  // namespace serval
