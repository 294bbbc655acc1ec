// If every reader of an input transposes it, by a permute or by an attribute of the product, the input is
// stored transposed, and the permutes are removed or the attributes reset. Either with the same recipe, which
// draws other elements, or, where a permute is removed, with the bits that its readers received.
#include <algorithm>
#include <numeric>

#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

constexpr int64_t kMaxPinned = 1 << 16;  // elements

// How an input is read: the axes in the order in which all its readers see them, and the edits that make them
// read it as it is.
struct Reading {
  Shape dims;
  Edits readers;
};

Shape last_two_swapped(int rank) {
  Shape dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

// Nothing for a node that reads the input as it is.
std::optional<Reading> reading_of(const Node& node, ValueId input, int rank) {
  if (const auto* permute = std::get_if<Permute>(&node.op))
    return Reading{permute->dims, {Bypass{node.name, 0}}};
  auto matmul = std::get_if<Matmul>(&node.op);
  if (matmul == nullptr) return std::nullopt;
  Matmul untransposed = *matmul;
  for (const auto& [operand, transpose] : {std::pair(0, &Matmul::transpose_a), {1, &Matmul::transpose_b}}) {
    if (node.inputs[static_cast<size_t>(operand)] != input) continue;
    if (!(matmul->*transpose)) return std::nullopt;
    untransposed.*transpose = false;
  }
  return Reading{last_two_swapped(rank), {SetOp{node.name, untransposed, 2}}};
}

// Nothing unless all readers agree on another order of the axes.
std::optional<Reading> common_reading(const Graph& graph, ValueId input, std::vector<int> readers) {
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  const int rank = graph.type(input).rank();
  std::optional<Reading> common;
  for (const int n : readers) {
    auto reading = reading_of(graph.nodes()[static_cast<size_t>(n)], input, rank);
    if (!reading || (common && common->dims != reading->dims)) return std::nullopt;
    if (!common)
      common = std::move(reading);
    else
      common->readers.push_back(std::move(reading->readers[0]));
  }
  if (!common || graph.is_observed(input) || std::is_sorted(common->dims.begin(), common->dims.end()))
    return std::nullopt;
  return common;
}

TensorType transposed(const TensorType& type, const Shape& dims) {
  TensorType result{type.dtype, {}};
  for (const int64_t dim : dims) result.shape.push_back(type.shape[static_cast<size_t>(dim)]);
  return result;
}

Tensor transposed(const Tensor& tensor, const Shape& dims) {
  Tensor result(transposed(tensor.type, dims));
  const Shape &strides = strides_of(tensor.type.shape), &shape = result.type.shape;
  const auto size = static_cast<std::ptrdiff_t>(size_of(tensor.type.dtype));
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t from = 0, rest = i;
    for (size_t axis = dims.size(); axis-- > 0; rest /= shape[axis])
      from += rest % shape[axis] * strides[static_cast<size_t>(dims[axis])];
    std::copy_n(tensor.bytes.begin() + from * size, size, result.bytes.begin() + i * size);
  }
  return result;
}

// Bits are larger than a recipe, so that they pay only where a node is removed; and they make long files.
bool may_pin(const Situation& now, const Input& input, const Reading& reading) {
  return std::holds_alternative<Bypass>(reading.readers[0]) && now.test_case.steps == 1 &&
         !std::holds_alternative<Constant>(input.fill) && element_count(input.type) <= kMaxPinned;
}

std::vector<Edits> propose_transpose_input(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  const auto consumers = graph.consumers();
  std::vector<Edits> proposals;
  for (size_t v = 0; v < graph.inputs().size(); ++v) {
    const Input& input = graph.inputs()[v];
    const auto reading = common_reading(graph, static_cast<ValueId>(v), consumers[v]);
    if (!reading) continue;
    const auto give = [&](const Fill& fill) {
      proposals.push_back(reading->readers);
      proposals.back().push_back(SetFill{input.name, fill, transposed(input.type, reading->dims)});
    };
    if (!has_elements(input.fill)) give(input.fill);
    if (!may_pin(now, input, *reading)) continue;
    const Tensor data = data_of(now.test_case, input);
    give(literal_of(transposed(data, reading->dims)));
  }
  return proposals;
}

}  // namespace

const Reduction kTransposeInput{"transpose_input", "Store an input transposed if every reader transposes it.",
                                propose_transpose_input};

}  // namespace fusesmith::minimizer
