// libFuzzer target for gRPC's texts and compressed messages: arbitrary bytes as a timeout, a status
// message, base64, a compressed message. Parsed values are checked against a plain implementation,
// and written values are read back. Seeds: corpus/grpc_text.
#include <cstdlib>
#include <regex>
#include <string>

#include "base/bytes/inflate.h"
#include "base/bytes/utf8.h"
#include "transport/grpc/packing.h"
#include "transport/grpc/text.h"

namespace {

using namespace serval;

void check(bool holds) {
  if (!holds) std::abort();
}

void try_timeout(const std::string& text) {
  static const std::regex kForm("[0-9]{1,8}[HMSmun]");
  const std::optional<uint64_t> got = parse_timeout_ns(text);
  check(got.has_value() == std::regex_match(text, kForm));
  if (!got.has_value()) return;
  constexpr std::pair<char, double> kUnits[] = {{'H', 3.6e12}, {'M', 6e10}, {'S', 1e9},
                                                {'m', 1e6},    {'u', 1e3},  {'n', 1}};
  for (const auto& [unit, ns] : kUnits) {
    if (text.back() != unit) continue;
    const double exact = std::atof(text.c_str()) * ns;
    const double most = static_cast<double>(UINT64_MAX / 2);
    const double expected = exact < most ? exact : most;
    const double difference = static_cast<double>(*got) - expected;
    check(difference <= expected * 1e-12 && -difference <= expected * 1e-12);
  }
}

std::string percent_decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    check(text[i] >= ' ' && text[i] <= '~');
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    check(i + 2 < text.size());
    out.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
    i += 2;
  }
  return out;
}

void try_message(const std::string& text, size_t bytes_max, size_t encoded_max) {
  std::string encoded;
  append_percent_encoded(text, encoded);
  check(percent_decoded(encoded) == text);
  check(encoded.empty() || (encoded.front() != ' ' && encoded.back() != ' '));
  const std::string cut = cut_status_message(text, bytes_max, encoded_max);
  check(is_valid_utf8(cut) && cut.size() <= bytes_max);
  check(cut_status_message(cut, bytes_max, encoded_max) == cut);
  encoded.clear();
  append_percent_encoded(cut, encoded);
  check(encoded.size() <= encoded_max);
  const std::string whole = cut_status_message(text, SIZE_MAX, SIZE_MAX);
  if (is_valid_utf8(text)) check(whole == text);
  check(cut == whole || (cut.ends_with("...") && whole.starts_with(cut.substr(0, cut.size() - 3))));
}

void try_base64(const std::string& text) {
  std::string encoded, decoded;
  append_base64(text, encoded);
  check(decode_base64(encoded, decoded) && decoded == text);
  if (!decode_base64(text, decoded)) return check(decoded.empty());
  // The text is the shortest form of its value, except for padding and the unused bits at its end.
  encoded.clear();
  append_base64(decoded, encoded);
  const std::string bare = text.substr(0, text.find('='));
  check(encoded.size() == bare.size());
  check(bare.empty() || encoded.substr(0, encoded.size() - 1) == bare.substr(0, bare.size() - 1));
}

// True if it decompresses to at most `bytes_max` bytes.
bool unpack(Coding coding, std::span<const uint8_t> packed, uint64_t bytes_max, size_t step,
            ByteBuffer& out) {
  Inflater inflater(coding, packed, bytes_max);
  while (!inflater.done()) {
    if (!inflater.step(out, step).ok()) return false;
  }
  check(out.size() <= bytes_max);
  return true;
}

void try_packing(const std::string& text, uint8_t choice) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const bool gzip = (choice & 1) != 0;
  const Coding coding = gzip ? Coding::Gzip : Coding::Deflate;
  const size_t step = 1 + choice;
  ByteBuffer any;
  unpack(coding, bytes, 100'000, step, any);
  ByteBuffer packed;
  if (pack_message(gzip ? MessageCoding::Gzip : MessageCoding::Deflate, choice % 11, bytes,
                   packed)) {
    check(packed.size() < bytes.size());
    ByteBuffer back;
    check(unpack(coding, packed.bytes(), bytes.size(), step, back));
    check(back.size() == bytes.size() && std::memcmp(back.data(), bytes.data(), back.size()) == 0);
  }
  best_coding(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 2), size - 2);
  try_timeout(text);
  try_message(text, 3 + data[0], 3 + data[1]);
  try_base64(text);
  try_packing(text, data[0]);
  return 0;
}
