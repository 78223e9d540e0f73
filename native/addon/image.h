// The addon's call for image files (`serval predict`). Control plane; JavaScript's thread.
#pragma once

#include "addon/export.h"

namespace serval {

// decodeImage(file: Buffer, pixelsMax) -> {width, height, channels, data: Uint8Array, or
// Uint16Array for 16-bit PNGs}, or a text: why it can't be decoded. The data is new memory that
// JavaScript owns. Runs on the calling thread: a command has nothing else to do. Needs no attach.
napi_value DecodeImage(Arguments<2>& arguments);

}  // namespace serval
