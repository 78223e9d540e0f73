// The one place that includes N-API. Hot calls use the C functions, set-up uses the C++ wrapper.
#pragma once

#include <napi.h>
