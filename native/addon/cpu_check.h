// Checks the CPU's features. Control plane, module start, any thread. Compiled for the plain x86-64
// baseline, so that it runs on CPUs that the rest does not support.
#pragma once

namespace serval {

// Returns the name of the CPU feature that is missing, or nullptr. Thread: any.
const char* missing_cpu_feature();

}  // namespace serval
