// Copies engine.fbs tables to the structs of base/generated/engine_structs.h. Does not check the
// values; the callers do. Control plane, any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/generated/engine_generated.h"
#include "base/generated/engine_structs.h"

namespace serval {

// Copies a member of a table to that of its struct, and recursively a member that is a table. Keeps
// the struct's default if the table does not have the member.
struct Unpack {
  template <typename T>
  void operator()(T from, T& to) const {
    to = from;
  }
  void operator()(const flatbuffers::String* from, std::string& to) const {
    if (from != nullptr) to = from->str();
  }
  void operator()(const fb::KeyValue* from, std::pair<std::string, std::string>& to) const {
    to = {from->key()->str(), from->value()->str()};
  }
  template <typename Table, typename T>
  void operator()(const Table* from, T& to) const {
    if (from != nullptr) each_member(*from, to, *this);
  }
  template <typename T>
  void operator()(const flatbuffers::Vector<T>* from, std::vector<T>& to) const {
    if (from != nullptr) to.assign(from->begin(), from->end());
  }
  template <typename Table, typename T>
  void operator()(const flatbuffers::Vector<flatbuffers::Offset<Table>>* from,
                  std::vector<T>& to) const {
    if (from == nullptr) return;
    for (const Table* one : *from) (*this)(one, to.emplace_back());
  }
};
inline constexpr Unpack unpack;

}  // namespace serval
