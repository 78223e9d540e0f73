// Control plane, module start, any thread. Compiled for the plain x86-64 baseline, so that it runs
// where the rest would not.
#pragma once

namespace serval {

// The name of the CPU feature that is missing, or nullptr. Thread: any.
const char* missing_cpu_feature();

}  // namespace serval
