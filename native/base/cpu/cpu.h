// Chooses the CPU's instructions at compile time. Each of the other files defines the same
// functions in its own namespace, and cpu_test compares them on the same bytes. Hot path; any
// thread.
//
// SERVAL_SCALAR (CMakeLists.txt: -DSERVAL_CPU=scalar) chooses the plain ones on every CPU.
#pragma once

#include "base/cpu/scalar.h"

#if defined(SERVAL_SCALAR)
namespace serval::cpu {
using namespace scalar;
}
#elif defined(__AVX2__)
#include "base/cpu/avx2.h"
namespace serval::cpu {
using namespace avx2;
}
#elif defined(__SSE4_2__)
#include "base/cpu/sse4.h"
namespace serval::cpu {
using namespace sse4;
}
#elif defined(__aarch64__)
#include "base/cpu/neon.h"
namespace serval::cpu {
using namespace neon;
}
#else
namespace serval::cpu {
using namespace scalar;
}
#endif
