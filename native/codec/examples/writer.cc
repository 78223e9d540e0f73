// Writes JSON objects as tensorflow.Example. Hot path, any thread. Allocates nothing: the sizes of
// a feature are computed again when it is written, from nodes that are in memory.
#include "codec/examples/writer.h"

#include "base/bytes/generated/map_entry.h"
#include "base/bytes/generated/tensorflow.h"
#include "codec/json/echo.h"
#include "codec/json/text.h"
#include "codec/serving/json_request.h"

namespace serval {

namespace {

namespace Feature = proto::tensorflow::Feature;
namespace MapEntry = proto::MapEntry;

// Every kind of list has its values in the same field.
constexpr uint32_t kListValue = proto::tensorflow::BytesList::kValue;
static_assert(kListValue == proto::tensorflow::FloatList::kValue &&
              kListValue == proto::tensorflow::Int64List::kValue);

// The field of Feature that holds the list.
enum class FeatureKind : uint32_t {
  None = 0,
  ByteStrings = Feature::kBytesList,
  Float = Feature::kFloatList,
  Int64 = Feature::kInt64List
};

const char* kind_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::ByteStrings: return "bytes";
    case FeatureKind::Float: return "float";
    case FeatureKind::Int64: return "int64";
    case FeatureKind::None: break;
  }
  return "UNKNOWN";
}

// Returns None for a value that cannot be an element. A checked b64 object counts as bytes.
FeatureKind element_kind(const JsonNode& value) {
  switch (value.kind) {
    case JsonKind::True:
    case JsonKind::False: return FeatureKind::Int64;
    case JsonKind::Number:
      return value.number.form == JsonNumber::Form::Double ? FeatureKind::Float
                                                           : FeatureKind::Int64;
    case JsonKind::String:
    case JsonKind::Object: return FeatureKind::ByteStrings;
    case JsonKind::Null:
    case JsonKind::Array: break;
  }
  return FeatureKind::None;
}

// The elements of a feature: those of a list, or the value itself.
struct Elements {
  const JsonDocument& document;
  const JsonNode* first;
  bool list;

  Elements(const JsonDocument& all, const JsonNode& value)
      : document(all), first(&value), list(value.kind == JsonKind::Array) {
    if (list) first = all.child(value);
  }
  const JsonNode* next(const JsonNode& element) const {
    return list ? document.sibling(element) : nullptr;
  }
  FeatureKind kind() const { return first == nullptr ? FeatureKind::None : element_kind(*first); }
};

uint64_t int64_bits(const JsonNode& element) {
  if (element.kind != JsonKind::Number) return element.kind == JsonKind::True;
  return static_cast<uint64_t>(element.number.i64);
}

// Bytes of the list's message, and of the packed run inside it.
struct ListBytes {
  uint64_t run = 0;
  uint64_t list = 0;
};

ListBytes list_bytes(const Elements& elements, FeatureKind kind) {
  ListBytes bytes;
  for (const JsonNode* at = elements.first; at != nullptr; at = elements.next(*at)) {
    if (kind == FeatureKind::ByteStrings) bytes.list += wire_field_bytes(at->text.size());
    if (kind == FeatureKind::Float) bytes.run += sizeof(float);
    if (kind == FeatureKind::Int64) bytes.run += varint_bytes(int64_bits(*at));
  }
  if (kind != FeatureKind::ByteStrings) bytes.list = wire_field_bytes(bytes.run);
  return bytes;
}

// Bytes of a map entry that holds the feature.
uint64_t entry_bytes(const JsonNode& member, FeatureKind kind, const ListBytes& bytes) {
  const uint64_t feature = kind == FeatureKind::None ? 0 : wire_field_bytes(bytes.list);
  return wire_field_bytes(member.key.size()) + wire_field_bytes(feature);
}

uint64_t features_bytes(const JsonDocument& document, const JsonNode& value) {
  uint64_t total = 0;
  for (const JsonNode* at = document.child(value); at != nullptr; at = document.sibling(*at)) {
    const Elements elements(document, *at);
    const FeatureKind kind = elements.kind();
    total += wire_field_bytes(entry_bytes(*at, kind, list_bytes(elements, kind)));
  }
  return total;
}

void write_list(WireWriter& writer, const Elements& elements, FeatureKind kind,
                const ListBytes& bytes) {
  writer.head(static_cast<uint32_t>(kind), bytes.list);
  if (kind != FeatureKind::ByteStrings) writer.head(kListValue, bytes.run);
  for (const JsonNode* at = elements.first; at != nullptr; at = elements.next(*at)) {
    if (kind == FeatureKind::ByteStrings) writer.bytes(kListValue, at->text);
    if (kind == FeatureKind::Int64) writer.varint(int64_bits(*at));
    if (kind == FeatureKind::Float) {
      const auto number = static_cast<float>(at->number.f64);
      writer.raw(&number, sizeof number);
    }
  }
}

Error element_error(const JsonNode& member, const JsonNode& element) {
  return invalid_argument(
      "Feature: " + echo_text(member.key) +
      " has element with unexpected JSON type: " + std::string(json_kind_name(element.kind)));
}

// Checks one element of the feature `member`; `kind` is the kind of the elements before it.
Status check_element(const PlainBody& body, JsonNode& element, const JsonNode& member,
                     FeatureKind& kind) {
  const FeatureKind own = element_kind(element);
  const bool object = element.kind == JsonKind::Object;
  if (own == FeatureKind::None || (object && !is_base64_object(body.document, element))) {
    return element_error(member, element);
  }
  if (kind != FeatureKind::None && own != kind) {
    return invalid_argument("Unexpected element type in feature: " + echo_text(member.key) +
                            " expecting type: " + kind_name(kind));
  }
  kind = own;
  if (element.kind == JsonKind::Number && element.number.form == JsonNumber::Form::Uint64) {
    return invalid_argument("Feature: " + echo_text(member.key) +
                            " has uint64_t element. Only int64_t is supported.");
  }
  if (!object) return {};
  const Base64Result decoded = decode_base64(body.document.child(element)->text, body.arena);
  if (!decoded.ok) return invalid_argument("Unable to base64 decode");
  element.text = decoded.bytes;
  return {};
}

Status check_feature(PlainBody& body, JsonNode& member) {
  JsonDocument& document = body.document;
  FeatureKind kind = FeatureKind::None;
  if (member.kind != JsonKind::Array) return check_element(body, member, member, kind);
  for (uint32_t at = member.first_child; at != 0; at = document.nodes[at].next) {
    Status status = check_element(body, document.nodes[at], member, kind);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Status check_example(PlainBody& body, const JsonNode& value) {
  JsonDocument& document = body.document;
  if (value.kind != JsonKind::Object) {
    return invalid_argument("Example must be JSON object but got JSON " +
                            std::string(json_kind_name(value.kind)));
  }
  for (uint32_t at = value.first_child; at != 0; at = document.nodes[at].next) {
    Status status = check_feature(body, document.nodes[at]);
    if (!status.ok()) return status;
  }
  return {};
}

uint64_t example_bytes(const JsonDocument& document, const JsonNode& value) {
  // Without features the Features message is omitted too.
  return value.children == 0 ? 0 : wire_field_bytes(features_bytes(document, value));
}

void write_example(WireWriter& writer, const JsonDocument& document, const JsonNode& value) {
  if (value.children == 0) return;
  writer.head(proto::tensorflow::Example::kFeatures, features_bytes(document, value));
  for (const JsonNode* at = document.child(value); at != nullptr; at = document.sibling(*at)) {
    const Elements elements(document, *at);
    const FeatureKind kind = elements.kind();
    const ListBytes bytes = list_bytes(elements, kind);
    writer.head(proto::tensorflow::Features::kFeature, entry_bytes(*at, kind, bytes));
    writer.bytes(MapEntry::kKey, at->key);
    writer.head(MapEntry::kValue, kind == FeatureKind::None ? 0 : wire_field_bytes(bytes.list));
    if (kind != FeatureKind::None) write_list(writer, elements, kind, bytes);
  }
}

}  // namespace serval
