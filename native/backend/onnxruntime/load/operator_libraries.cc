// Checks, opens and registers libraries with custom operators; see operator_libraries.h. Control
// plane, the thread that loads.
#include "backend/onnxruntime/load/operator_libraries.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backend/onnxruntime/error.h"

namespace serval::ort {
namespace {

// Source: ONNX Runtime's RegisterCustomOpsLibrary_V2.
constexpr const char* kEntry = "RegisterCustomOps";
#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr const char* kMachineName = "arm64";
#else
constexpr uint16_t kMachine = EM_X86_64;
constexpr const char* kMachineName = "x86-64";
#endif

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "arm64";
    case EM_386: return "x86 of 32 bits";
    case EM_ARM: return "arm of 32 bits";
    case EM_RISCV: return "RISC-V";
    default: return "ELF machine " + std::to_string(machine);
  }
}

Error wrong_library(const std::string& path, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, "operator library " + path + ": " + what);
}

// Whether the file can be a library for this machine: the loader's own words are less clear. The
// server has followed the links and checked the folders; a link since then may lead elsewhere.
Status check_library(const std::string& path) {
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) return wrong_library(path, std::strerror(errno));
  if (path != real) {
    return wrong_library(
        path,
        "expected the path of the file itself, got one with a link, made since the "
        "model was loaded: load the model again");
  }
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return wrong_library(path, std::strerror(errno));
  Elf64_Ehdr head{};
  const ssize_t got = read(file, &head, sizeof head);
  const int failed = errno;
  close(file);
  if (got < 0) return wrong_library(path, std::strerror(failed));
  if (got < EI_NIDENT || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return wrong_library(path, "expected a shared library (an ELF file), got another file");
  }
  // The machine has the same place in 32-bit and 64-bit headers.
  const bool whole = got == static_cast<ssize_t>(sizeof head);
  if (!whole || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != kMachine) {
    return wrong_library(path, std::string("expected a library for ") + kMachineName +
                                   ", got one for " + machine_name(head.e_machine) +
                                   ": compile it for this machine");
  }
  return {};
}

Status add_library(const OrtApi& api, const std::string& path, OrtSessionOptions* options) {
  if (Status fits = check_library(path); !fits.ok()) return fits;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return wrong_library(
        path, std::string("cannot be opened: ") + (reason == nullptr ? "no reason given" : reason));
  }
  if (dlsym(library, kEntry) == nullptr) {
    return wrong_library(path, std::string("expected a library of ONNX Runtime's custom "
                                           "operators, got one without the function ") +
                                   kEntry);
  }
  OrtStatus* const failed = api.RegisterCustomOpsLibrary_V2(options, path.c_str());
  if (failed == nullptr) return {};
  return take_error(api, failed, ErrorCode::ModelInvalid,
                    "operator library " + path + ": " + kEntry + " returned an error");
}

}  // namespace

Status add_operator_libraries(const OrtRuntime& runtime, const ModelSpec& spec,
                              OrtSessionOptions* options) {
  for (const std::string& path : spec.operator_libraries) {
    if (Status added = add_library(*runtime.api, path, options); !added.ok()) return added;
  }
  return {};
}

Error about_operators(Error error, const ModelSpec& spec) {
  if (error.message.find("is not a registered function/op") == std::string::npos) return error;
  error.message += spec.operator_libraries.empty()
                       ? "; the library of a custom operator is named by model_operations { "
                         "op_library_filename } of config.pbtxt"
                       : "; none of the libraries of model_operations has this operator in this "
                         "version and for these types";
  return error;
}

}  // namespace serval::ort
