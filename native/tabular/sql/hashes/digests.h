// Digests of bytes. Pure; any thread.
// Source: RFC 1321 (MD5), FIPS 180-4 (SHA), the CRC of gzip (RFC 1952).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace serval::tabular::sql {

// Lower-case hexadecimal digits.
std::string md5_text(std::string_view bytes);
std::string sha1_text(std::string_view bytes);
// `bits`: 224, 256, 384 or 512.
std::string sha2_text(std::string_view bytes, int bits);
uint32_t crc32_of(std::string_view bytes);

// "00ff" of two bytes; in upper case where asked.
std::string hex_text(std::string_view bytes, bool upper);

}  // namespace serval::tabular::sql
