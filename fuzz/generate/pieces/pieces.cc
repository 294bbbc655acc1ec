#include "fuzz/generate/pieces/pieces.h"

#include <array>

namespace fusesmith::fuzz {

std::span<const Piece> all_pieces() {
#define FUSESMITH_PIECE(name, weight, needs) Piece{#name, weight, add_##name, Piece::Needs::needs},
  static constexpr std::array kPieces = {FUSESMITH_FOR_EACH_PIECE(FUSESMITH_PIECE)};
#undef FUSESMITH_PIECE
  return kPieces;
}

}  // namespace fusesmith::fuzz
