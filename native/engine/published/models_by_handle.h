// Models by handle, as listeners see them: an immutable list in pieces, so that a load or an unload
// copies one piece and not all models. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace serval {

class Model;

class ModelsByHandle {
 public:
  // Hot path: route. Null where no model has the handle. Borrowed from the list.
  const std::shared_ptr<Model>* find(uint32_t handle) const {
    const size_t piece = handle / kPieceModels;
    if (piece >= pieces_.size() || pieces_[piece] == nullptr) return nullptr;
    const std::shared_ptr<Model>& model = (*pieces_[piece])[handle % kPieceModels];
    return model == nullptr ? nullptr : &model;
  }

  // Returns this list with the model at the handle; null removes the current one. Control plane.
  ModelsByHandle with(uint32_t handle, std::shared_ptr<Model> model) const {
    ModelsByHandle next = *this;
    const size_t at = handle / kPieceModels;
    if (at >= next.pieces_.size()) next.pieces_.resize(at + 1);
    const std::shared_ptr<const Piece>& before = next.pieces_[at];
    auto piece = before == nullptr ? std::make_shared<Piece>() : std::make_shared<Piece>(*before);
    (*piece)[handle % kPieceModels] = std::move(model);
    bool used = false;
    for (const std::shared_ptr<Model>& one : *piece) used |= one != nullptr;
    next.pieces_[at] = used ? std::move(piece) : nullptr;  // handles are not used again
    return next;
  }

  // Visits the models by handle, ascending.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const std::shared_ptr<const Piece>& piece : pieces_) {
      if (piece == nullptr) continue;
      for (const std::shared_ptr<Model>& model : *piece) {
        if (model != nullptr) visit(*model);
      }
    }
  }

 private:
  static constexpr size_t kPieceModels = 64;
  using Piece = std::array<std::shared_ptr<Model>, kPieceModels>;
  std::vector<std::shared_ptr<const Piece>> pieces_;
};

}  // namespace serval
