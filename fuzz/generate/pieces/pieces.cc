#include "fuzz/generate/pieces/pieces.h"

#include <array>

namespace fusesmith::fuzz {

std::span<const Piece> all_pieces() {
  constexpr auto kSteps = Piece::Needs::steps, kExact = Piece::Needs::exact;
  static constexpr std::array kPieces = {
      Piece{"pointwise", 12, add_pointwise},
      Piece{"projection", 12, add_projection},
      Piece{"merged_projection", 3, add_merged_projection},
      Piece{"batched_product", 6, add_batched_product},
      Piece{"attention", 10, add_attention},
      Piece{"sdpa", 6, add_sdpa},
      Piece{"norm", 8, add_norm},
      Piece{"ffn", 6, add_ffn},
      Piece{"gate", 6, add_gate},
      Piece{"embedding", 4, add_embedding},
      Piece{"residual", 5, add_residual},
      Piece{"cast", 5, add_cast},
      Piece{"movement", 8, add_movement},
      Piece{"select", 4, add_select},
      Piece{"softmax", 4, add_softmax},
      Piece{"reduction", 6, add_reduction},
      Piece{"cache_update", 4, add_cache_update},
      Piece{"rope", 3, add_rope},
      Piece{"decoding", 8, add_decoding, kSteps},
      Piece{"recurrence", 4, add_recurrence, kSteps},
      Piece{"ring", 4, add_ring, kSteps},
      Piece{"wide", 2, add_wide},
      Piece{"block", 2, add_block},
      Piece{"triangle", 2, add_triangle},
      Piece{"free_op", 30, add_free_op},
      Piece{"pattern", 14, add_pattern},
      Piece{"near_miss", 10, add_near_miss},
      Piece{"exact_attention", 20, add_exact_attention, kExact},
      Piece{"flat_rows", 16, add_flat_rows, kExact},
      Piece{"spread_rows", 8, add_spread_rows, kExact},
      Piece{"saturation", 24, add_saturation, kExact},
      Piece{"roots", 6, add_roots, kExact},
  };
  return kPieces;
}

}  // namespace fusesmith::fuzz
