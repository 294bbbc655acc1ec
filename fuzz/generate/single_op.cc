#include "fuzz/generate/single_op.h"

#include "fuzz/generate/layouts.h"
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// Tries with the data that was asked for, and tries in all: an op declines operands that do not suit it.
constexpr int kOwnData = 50, kTries = 400;

// Something to read for the op, of rank 1 to 4, with rows of up to some thousand elements.
void add_operand(Scene& s) {
  Shape shape = {s.choices.between(1, 2), s.batch, s.tokens, s.flip(0.3) ? s.wide_dim() : s.width};
  shape.erase(shape.begin(), shape.begin() + s.choices.below(4));
  s.keep(s.activation({s.dtype, shape}));
}

}  // namespace

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for_each_op([&]<class T>(std::type_identity<T>) { names.emplace_back(T::info.name); });
  return names;
}

Case generate_single_op(Choices& choices, const GeneratorOptions& options, CaseParts* parts) {
  Case result;
  result.seed = static_cast<uint64_t>(choices.below(int64_t{1} << 32));
  for (int i = 0;; ++i) {
    GeneratorOptions tried = options;
    if (i >= kOwnData && tried.data == DataMix::lattice) tried.data = DataMix::natural;
    Scene scene(choices, tried);
    const auto add = [&](Scene& s) {
      add_operand(s);
      return add_op_of(s, options.ops);
    };
    // The last try takes an op that accepts everything: choices that come from a file may end.
    const bool added = i < kTries ? scene.attempt(add)
                                  : scene.op(Relu{}, {scene.activation({scene.dtype, {scene.batch}})}) >= 0;
    if (!added) continue;
    result.graph = scene.finish();
    scene.parts.style = kDataStyles[static_cast<size_t>(scene.style)];
    if (parts) *parts = std::move(scene.parts);
    break;
  }
  result.policy.tf32 = choices.flip(0.1);
  const bool exact = options.data == DataMix::lattice;
  if (choices.flip(kLayoutShare)) result.graph = with_layouts(choices, std::move(result.graph), exact);
  return result;
}

}  // namespace fusesmith::fuzz
