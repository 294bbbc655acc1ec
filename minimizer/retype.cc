#include "minimizer/retype.h"

#include <algorithm>
#include <numeric>

#include "graph/with_sizes.h"
#include "minimizer/dimensions.h"

namespace fusesmith::minimizer {
namespace {

constexpr size_t kMostLiteral = 1 << 16;  // bytes of a tensor from a file that becomes a literal

// Of a fill that has_elements.
Tensor elements_of(const Fill& fill, const TensorType& type) { return materialize(fill, type, 0, "", 0); }

// These elements in place of those of `before`, which has_elements.
Fill with_elements(const Fill& before, const Tensor& tensor) {
  const bool in_file = std::holds_alternative<FileData>(before) && tensor.bytes.size() > kMostLiteral;
  return in_file ? Fill(file_of(tensor)) : Fill(literal_of(tensor));
}

// Row-major index in `from` of the element of `to` at this index: coordinates wrap around.
int64_t wrapped_index(int64_t index, const Shape& from, const Shape& to) {
  const Shape strides = strides_of(from);
  int64_t result = 0;
  for (size_t axis = to.size(); axis-- > 0;) {
    result += index % to[axis] % from[axis] * strides[axis];
    index /= to[axis];
  }
  return result;
}

Fill resized_fill(const Fill& fill, const TensorType& from, const TensorType& to) {
  if (has_elements(fill)) {
    const Tensor old = elements_of(fill, from);
    Tensor tensor(to);
    const auto size = static_cast<size_t>(size_of(to.dtype));
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const auto at = static_cast<size_t>(wrapped_index(i, from.shape, to.shape));
      std::copy_n(old.bytes.begin() + static_cast<std::ptrdiff_t>(at * size), size,
                  tensor.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(i) * size));
    }
    return with_elements(fill, tensor);
  }
  if (auto one_hot = std::get_if<OneHot>(&fill)) {
    return OneHot{wrapped_index(one_hot->index, to.shape, from.shape), one_hot->value};
  }
  return fill;
}

Fill limited_indices(const Fill& fill, const TensorType& type, int64_t rows) {
  if (integer_range(fill, type).hi < rows) return fill;
  if (std::holds_alternative<Tokens>(fill)) return Tokens{rows};
  if (!has_elements(fill)) return Constant{static_cast<double>(rows - 1)};
  Tensor tensor = elements_of(fill, type);
  for (int32_t& index : tensor.as<int32_t>()) index = std::min(index, static_cast<int32_t>(rows - 1));
  return with_elements(fill, tensor);
}

// Different ones stay different: too large ones make all of them their ranks.
Fill limited_distinct_indices(const Fill& fill, const TensorType& type, int64_t rows) {
  if (!has_elements(fill) || integer_range(fill, type).hi < rows) return limited_indices(fill, type, rows);
  Tensor tensor = elements_of(fill, type);
  const auto elements = tensor.as<int32_t>();
  std::vector<int32_t> sorted(elements.begin(), elements.end());
  std::sort(sorted.begin(), sorted.end());
  for (int32_t& index : elements)
    index = static_cast<int32_t>(std::lower_bound(sorted.begin(), sorted.end(), index) - sorted.begin());
  return with_elements(fill, tensor);
}

// The input whose elements are the indices of a gather or index_copy, if they only moved.
std::optional<size_t> index_source(const Graph& graph, ValueId indices) {
  while (const auto producer = graph.producer(indices)) {
    const Node& node = graph.nodes()[static_cast<size_t>(*producer)];
    if (info(node.op).op_class != OpClass::movement) return std::nullopt;
    indices = node.inputs[0];
  }
  if (!graph.is_input(indices)) return std::nullopt;
  return static_cast<size_t>(indices);
}

template <class Source>
void set_shape(Source& source, const Shape& shape) {
  const TensorType from = source.type;
  if (from.shape == shape) return;
  source.type.shape = shape;
  source.fill = resized_fill(source.fill, from, source.type);
}

template <class Source>
void set_dtype(Source& source, Dtype dtype) {
  if (has_elements(source.fill) && dtype != source.type.dtype) {
    const std::vector<float> values = to_f32(elements_of(source.fill, source.type));
    source.fill = with_elements(source.fill, from_f32(values, {dtype, source.type.shape}));
  }
  source.type.dtype = dtype;
  if (source.layout) source.layout->align = std::max<int64_t>(source.layout->align, size_of(dtype));
}

}  // namespace

std::optional<Draft> resize(const Graph& graph, const Resize& edit) {
  const auto value = graph.find(edit.value);
  if (!value || edit.axis < 0 || edit.axis >= graph.type(*value).rank()) return std::nullopt;
  const auto shapes = Dimensions(graph).resized(*value, edit.axis, edit.size);
  if (!shapes) return std::nullopt;
  const auto shape = [&](ValueId v) -> const Shape& { return (*shapes)[static_cast<size_t>(v)]; };
  Draft draft = draft_of(graph);
  for (size_t i = 0; i < draft.inputs.size(); ++i) set_shape(draft.inputs[i], shape(static_cast<ValueId>(i)));
  for (size_t s = 0; s < draft.states.size(); ++s) {
    set_shape(draft.states[s], shape(static_cast<ValueId>(draft.inputs.size() + s)));
  }
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const Node& node = graph.nodes()[n];
    draft.nodes[n].op =
        with_sizes(node.op, node.inputs.empty() ? Shape{} : shape(node.inputs[0]), shape(node.first_output));
    const auto* copy = std::get_if<IndexCopy>(&node.op);
    if (copy == nullptr && !std::holds_alternative<Gather>(node.op)) continue;
    const auto source = index_source(graph, node.inputs[1]);
    if (!source) continue;
    Input& indices = draft.inputs[*source];
    const Shape& into = shape(node.inputs[0]);
    const size_t axis =
        copy ? static_cast<size_t>(*resolve_axis(copy->axis, static_cast<int>(into.size()))) : 0;
    const auto limited = copy ? limited_distinct_indices : limited_indices;
    indices.fill = limited(indices.fill, indices.type, into[axis]);
  }
  return draft;
}

std::vector<bool> dtype_group(const Graph& graph, ValueId value) {
  std::vector<bool> group(static_cast<size_t>(graph.value_count()), false);
  group[static_cast<size_t>(value)] = true;
  for (bool grew = true; grew;) {
    grew = false;
    const auto join = [&](std::vector<ValueId> values) {
      const auto is_float_value = [&](ValueId v) { return is_float(graph.type(v).dtype); };
      const auto in_group = [&](ValueId v) { return is_float_value(v) && group[static_cast<size_t>(v)]; };
      if (std::none_of(values.begin(), values.end(), in_group)) return;
      for (ValueId v : values) {
        if (!is_float_value(v) || group[static_cast<size_t>(v)]) continue;
        group[static_cast<size_t>(v)] = true;
        grew = true;
      }
    };
    for (const Node& node : graph.nodes()) {
      if (std::holds_alternative<Cast>(node.op)) continue;
      std::vector<ValueId> values = node.inputs;
      for (int i = 0; i < node.output_count; ++i) values.push_back(node.first_output + i);
      join(values);
    }
    for (size_t s = 0; s < graph.states().size(); ++s) {
      join({static_cast<ValueId>(graph.inputs().size() + s), graph.states()[s].next});
    }
  }
  return group;
}

std::optional<Draft> change_dtype(const Graph& graph, const ChangeDtype& edit) {
  std::vector<bool> group(static_cast<size_t>(graph.value_count()), true);
  if (!edit.value.empty()) {
    const auto value = graph.find(edit.value);
    if (!value || !is_float(graph.type(*value).dtype)) return std::nullopt;
    group = dtype_group(graph, *value);
  }
  const auto changes = [&](ValueId v) {
    return group[static_cast<size_t>(v)] && is_float(graph.type(v).dtype);
  };
  Draft draft = draft_of(graph);
  for (size_t i = 0; i < draft.inputs.size(); ++i) {
    if (changes(static_cast<ValueId>(i))) set_dtype(draft.inputs[i], edit.to);
  }
  for (size_t s = 0; s < draft.states.size(); ++s) {
    if (changes(static_cast<ValueId>(draft.inputs.size() + s))) set_dtype(draft.states[s], edit.to);
  }
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    auto* cast = std::get_if<Cast>(&draft.nodes[n].op);
    if (cast != nullptr && changes(graph.nodes()[n].first_output)) cast->dtype = edit.to;
  }
  return draft;
}

}  // namespace fusesmith::minimizer
