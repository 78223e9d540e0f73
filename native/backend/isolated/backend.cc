// Chooses the process for each isolated model; see isolated.h. Control plane: the threads that
// load.
#include <algorithm>
#include <charconv>
#include <mutex>

#include "backend/isolated/isolated.h"
#include "backend/isolated/model.h"
#include "backend/isolated/process.h"
#include "gpu/shared_memory.h"

namespace serval {

namespace {

// The attribute of a spec that carries the bytes for this backend only.
constexpr const char* kBytes = "isolated.spec";
constexpr const char* kGroup = "isolated.group";
constexpr const char* kArgument = "isolated.argument";
constexpr const char* kLibrary = "isolated.library";

bool is_gpu(const Provider& provider) {
  return provider.name == "cuda" || provider.name == "tensorrt";
}

// The device + 1 of the first GPU provider: set by the engine for the replica, or by the
// configuration; 0 = left to the runtime. Returns 0 if there is no GPU.
uint64_t device_of(const ModelSpec& spec) {
  const auto provider = std::find_if(spec.providers.begin(), spec.providers.end(), is_gpu);
  if (provider == spec.providers.end()) return 0;
  uint64_t named = 1;
  for (const auto& [key, value] : provider->options) {
    uint32_t device = 0;
    const char* const end = value.data() + value.size();
    if (key != "device_id" || std::from_chars(value.data(), end, device).ptr != end) continue;
    named = uint64_t{device} + 1;
  }
  return named;
}

class IsolatedBackend final : public Backend {
 public:
  explicit IsolatedBackend(MemoryBudget* budget) : budget_(budget) {}

  Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) override {
    std::string group;
    std::string_view bytes;
    std::vector<std::string> command;
    std::vector<isolated::LibraryFile> libraries;
    for (const auto& [key, value] : spec.session_config) {
      if (key == kBytes) bytes = value;
      else if (key == kGroup) group = value;
      else if (key == kArgument) command.push_back(value);
      else if (key == kLibrary) libraries.push_back(isolated::library_file(value));
    }
    if (bytes.empty() || command.empty()) {
      return make_error(ErrorCode::Internal, "an isolated model without its spec or its command");
    }
    Result<isolated::Descriptor> blob =
        isolated::blob_of({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    if (!blob.ok()) return std::move(blob.error());
    // A group has one process per device, so that a fault of one does not affect the others.
    const uint64_t device = device_of(spec);
    if (!group.empty() && device != 0) group += '\0' + std::to_string(device);
    return isolated::load_isolated(
        process_for(group, command),
        {spec.name, std::move(blob.value()), device, spec.version, std::move(libraries)}, budget_);
  }

 private:
  std::shared_ptr<isolated::ModelProcess> process_for(const std::string& group,
                                                      std::vector<std::string>& command) {
    std::lock_guard lock(mutex_);
    std::erase_if(groups_, [](const auto& one) { return one.second.expired(); });
    if (!group.empty()) {
      if (const auto found = groups_.find(group); found != groups_.end()) {
        if (std::shared_ptr<isolated::ModelProcess> process = found->second.lock()) return process;
      }
    }
    auto process = std::make_shared<isolated::ModelProcess>(
        isolated::make_process_launcher(std::move(command)), budget_);
    isolated::note_process(process);
    if (!group.empty()) groups_[group] = process;
    return process;
  }

  MemoryBudget* const budget_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<isolated::ModelProcess>> groups_;  // guarded by mutex_
};

}  // namespace

void isolate(ModelSpec& spec, const Isolation& isolation, std::span<const uint8_t> bytes) {
  spec.backend = kIsolatedBackend;
  spec.graphs.clear();
  spec.weights.clear();
  spec.weight_files.clear();
  spec.states.clear();
  spec.session_config.clear();
  spec.session_config.emplace_back(
      kBytes, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  spec.session_config.emplace_back(kGroup, isolation.group);
  for (const std::string& one : isolation.command) spec.session_config.emplace_back(kArgument, one);
  for (const std::string& one : spec.operator_libraries) {
    spec.session_config.emplace_back(kLibrary, one);
  }
  spec.operator_libraries.clear();  // the process opens them
}

std::unique_ptr<Backend> make_isolated_backend(MemoryBudget* budget) {
  gpu::on_shared_memory_closed(isolated::forget_memory);
  return std::make_unique<IsolatedBackend>(budget);
}

}  // namespace serval
