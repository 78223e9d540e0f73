// Bytes waiting to be written: small parts are copied into one string, large ones are referenced.
// The load's thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/socket/channel.h"

namespace serval::load {

class Output {
 public:
  bool empty() const { return next_ == parts_.size(); }
  void copy(std::string_view bytes);
  // Copies small parts; larger `bytes` must not change until they are written.
  void borrow(std::string_view bytes);
  // Writes as much as the channel accepts.
  Moved::State write_to(Channel& channel);

 private:
  struct Part {
    const char* borrowed;  // null: the next bytes are in copied_
    size_t size;
  };
  void drop(size_t written);

  std::vector<Part> parts_;
  size_t next_ = 0;
  std::string copied_;
  size_t copied_from_ = 0;
};

}  // namespace serval::load
