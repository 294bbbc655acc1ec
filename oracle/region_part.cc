#include "oracle/region_part.h"

#include <algorithm>

#include "graph/with_sizes.h"

namespace fusesmith::oracle {
namespace {

bool is_made_from_attributes(const Op& op) {
  return std::holds_alternative<CausalMask>(op) || std::holds_alternative<Arange>(op);
}

// An element of what such an op makes.
double made_element(const Op& op, std::span<const int64_t> at) {
  if (const auto* mask = std::get_if<CausalMask>(&op)) return mask->hides(at[0], at[1]);
  const Arange& positions = std::get<Arange>(op);
  return static_cast<double>(positions.start + at[0] * positions.step);
}

bool hides_by_position(const Op& op) {
  const auto* sdpa = std::get_if<Sdpa>(&op);
  return sdpa && (sdpa->mask == Sdpa::Mask::causal || sdpa->window > 0);
}

// What an attention that hides keys by their positions hides, as graph/expand.cc has it.
CausalMask mask_of(const Sdpa& op, const Shape& queries, const Shape& keys) {
  return {queries.end()[-2], keys.end()[-2], op.alignment, op.window, op.mask == Sdpa::Mask::none};
}

Shape shape_of(const CausalMask& mask) { return {mask.rows, mask.cols}; }

// The same attention without its mask, or with one that is an input.
Sdpa with_mask(Sdpa op, Sdpa::Mask mask) {
  op.mask = mask;
  op.window = 0;
  return op;
}

Sdpa without_groups(Sdpa op) {
  op.grouped_heads = false;
  return op;
}

// Of how many heads of q each head of k and of v is read. Nothing without groups.
std::optional<int64_t> group_size(const Graph& graph, const Node& node) {
  const auto* sdpa = std::get_if<Sdpa>(&node.op);
  if (!sdpa || !sdpa->grouped_heads) return std::nullopt;
  return graph.type(node.inputs[0]).shape.end()[-3] / graph.type(node.inputs[1]).shape.end()[-3];
}

// Only indices need their data: a graph refuses those of which nothing is known.
Fill fill_of(const Tensor& data) {
  if (data.type.dtype == Dtype::i32) return literal_of(data);
  return Constant{0};
}

bool all_move(const Graph& graph, const std::vector<int>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](int n) {
    return info(graph.nodes()[static_cast<size_t>(n)].op).op_class == OpClass::movement;
  });
}

// Calls f with each index of `shape`, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F f) {
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t left = element_count(shape); left > 0; --left) {
    f(at);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
}

Shape kept_shape(Shape shape, const Kept& kept) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (kept[axis]) shape[axis] = static_cast<int64_t>(kept[axis]->size());
  }
  return shape;
}

// `shape` is that of the kept places.
Tensor kept_elements(const Tensor& whole, const Shape& shape, const Kept& kept) {
  Tensor part(TensorType{whole.type.dtype, shape});
  size_t cut_axes = shape.size();  // behind these, elements stay together
  while (cut_axes > 0 && !kept[cut_axes - 1]) --cut_axes;
  const Shape outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(cut_axes));
  const Shape strides = strides_of(whole.type.shape);
  const int64_t block = cut_axes == 0 ? whole.size() : strides[cut_axes - 1];
  const auto bytes = static_cast<size_t>(block * size_of(whole.type.dtype));
  std::byte* to = part.bytes.data();
  for_each_index(outer, [&](const std::vector<int64_t>& at) {
    int64_t from = 0;
    for (size_t axis = 0; axis < at.size(); ++axis)
      from += strides[axis] * (kept[axis] ? (*kept[axis])[static_cast<size_t>(at[axis])] : at[axis]);
    const auto* source = whole.bytes.data() + from * size_of(whole.type.dtype);
    to = std::copy(source, source + bytes, to);
  });
  return part;
}

}  // namespace

std::optional<RegionPart> RegionPart::make(const Graph& graph, const Region& region, const Trace& trace) {
  RegionPart part(graph, region, trace);
  if (!part.collect() || !part.build()) return std::nullopt;
  return part;
}

// Lists sources and steps. Nodes become steps when all sources are known, since values are numbered so.
bool RegionPart::collect() {
  std::vector<int> kept;
  for (const int n : region_->nodes) {
    const Node& node = whole_->nodes()[static_cast<size_t>(n)];
    if (!is_made_from_attributes(node.op)) {
      kept.push_back(n);
      continue;
    }
    if (std::find(region_->outputs.begin(), region_->outputs.end(), node.first_output) !=
        region_->outputs.end())
      return false;
  }
  // Such a region preserves the signs of zeros (RegionOutput::copied), and the part must do what it does.
  if (kept.empty() || all_move(*whole_, kept) != all_move(*whole_, region_->nodes)) return false;
  for (const int n : kept) {
    Step step{n, {}};
    if (!add_sources(whole_->nodes()[static_cast<size_t>(n)], step)) return false;
    steps_.push_back(std::move(step));
  }
  auto next = static_cast<ValueId>(sources_.size());
  for (Step& step : steps_) {
    const Node& node = whole_->nodes()[static_cast<size_t>(step.node)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (step.inputs[i] < 0) step.inputs[i] = id_of(node.inputs[i]);
    }
    step.output = next;
    for (int k = 0; k < node.output_count; ++k) ids_[static_cast<size_t>(node.first_output + k)] = next++;
  }
  return true;
}

// Whether the region has the value as an input that no deviation names.
bool RegionPart::is_plain_input(ValueId v) const {
  const auto producer = whole_->producer(v);
  const auto& deviations = region_->contract.deviations;
  return !(producer && std::binary_search(region_->nodes.begin(), region_->nodes.end(), *producer)) &&
         std::none_of(deviations.begin(), deviations.end(),
                      [&](const Deviation& d) { return d.value == whole_->name(v); });
}

// The inputs of the step, -1 where another step computes one.
bool RegionPart::add_sources(const Node& node, Step& step) {
  const auto group = group_size(*whole_, node);
  step.ungroups = group && is_plain_input(node.inputs[1]) && is_plain_input(node.inputs[2]);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId v = node.inputs[i];
    const auto producer = whole_->producer(v);
    const bool inside =
        producer && std::binary_search(region_->nodes.begin(), region_->nodes.end(), *producer);
    const Op* made = inside ? &whole_->nodes()[static_cast<size_t>(*producer)].op : nullptr;
    if (inside && !is_made_from_attributes(*made)) {
      step.inputs.push_back(-1);
      continue;
    }
    const auto& deviations = region_->contract.deviations;
    const bool named = std::any_of(deviations.begin(), deviations.end(),
                                   [&](const Deviation& d) { return d.value == whole_->name(v); });
    const auto known = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const Source& s) { return s.name == whole_->name(v); });
    if (named && known != sources_.end()) {  // its rounding is one for all uses
      step.inputs.push_back(static_cast<ValueId>(known - sources_.begin()));
      continue;
    }
    Source source{known == sources_.end() ? whole_->name(v) : unused_name(), whole_->type(v)};
    if (made) source.made = *made;
    if (!made) source.data = trace_->values[static_cast<size_t>(v)];
    if (!made && !source.data) return false;
    if (step.ungroups && (i == 1 || i == 2)) {
      source.readers = *group;
      source.type.shape.end()[-3] *= *group;
    }
    step.inputs.push_back(add_source(std::move(source)));
  }
  if (!hides_by_position(node.op)) return true;
  const Sdpa& sdpa = std::get<Sdpa>(node.op);
  Source mask{unused_name(), {Dtype::boolean, {1}}};
  mask.made = mask_of(sdpa, whole_->type(node.inputs[0]).shape, whole_->type(node.inputs[1]).shape);
  mask.attention_step = static_cast<int>(steps_.size());
  step.mask = add_source(std::move(mask));
  return true;
}

ValueId RegionPart::add_source(Source source) {
  sources_.push_back(std::move(source));
  return static_cast<ValueId>(sources_.size()) - 1;
}

std::string RegionPart::unused_name() const {
  for (size_t number = sources_.size();; ++number) {
    std::string name = "use_" + std::to_string(number);
    const bool taken = whole_->find(name) || std::any_of(sources_.begin(), sources_.end(),
                                                         [&](const Source& s) { return s.name == name; });
    if (!taken) return name;
  }
}

bool RegionPart::build() {
  Builder builder;
  for (const Source& source : sources_) {
    const Kept whole(source.type.shape.size(), nullptr);
    const bool is_index = source.type.dtype == Dtype::i32;
    builder.input(source.name, source.type, is_index ? fill_of(kept_data(source, whole)) : Fill(Constant{0}));
  }
  for (const Step& step : steps_) {
    if (builder.failed()) return false;
    Op op = op_of(step);
    if (step.mask >= 0) op = with_mask(std::get<Sdpa>(op), Sdpa::Mask::none);
    builder.node(std::move(op), step.inputs, whole_->nodes()[static_cast<size_t>(step.node)].name);
  }
  if (builder.failed()) return false;
  for (const ValueId v : region_->outputs) builder.output(id_of(v));
  auto built = builder.build();
  if (!built) return false;
  graph_ = std::move(*built);
  return true;
}

Op RegionPart::op_of(const Step& step) const {
  const Op& op = whole_->nodes()[static_cast<size_t>(step.node)].op;
  return step.ungroups ? without_groups(std::get<Sdpa>(op)) : op;
}

Tensor RegionPart::kept_data(const Source& source, const Kept& kept) const {
  if (source.data && source.readers > 1) {
    const size_t axis = source.type.shape.size() - 3;
    std::vector<int64_t> heads;
    for (int64_t h = 0; h < source.type.shape[axis]; ++h) heads.push_back(h);
    if (kept[axis]) heads = *kept[axis];
    for (int64_t& h : heads) h /= source.readers;
    Kept repeated = kept;
    repeated[axis] = &heads;
    return kept_elements(*source.data, kept_shape(source.type.shape, repeated), repeated);
  }
  if (source.data) return kept_elements(*source.data, kept_shape(source.type.shape, kept), kept);
  const bool is_mask = source.attention_step >= 0;
  const Shape whole = is_mask ? shape_of(std::get<CausalMask>(*source.made)) : source.type.shape;
  Tensor made(TensorType{source.type.dtype, kept_shape(whole, kept)});
  std::vector<int64_t> place(whole.size());
  int64_t element = 0;
  for_each_index(made.type.shape, [&](const std::vector<int64_t>& at) {
    for (size_t axis = 0; axis < at.size(); ++axis)
      place[axis] = kept[axis] ? (*kept[axis])[static_cast<size_t>(at[axis])] : at[axis];
    const double x = made_element(*source.made, place);
    made.set(element++, is_mask ? 1 - x : x);
  });
  return made;
}

std::optional<RegionPart::Cut> RegionPart::cut(const KeptIndices& kept) const {
  Cut cut;
  Builder builder;
  for (size_t s = 0; s < sources_.size(); ++s) {
    const Source& source = sources_[s];
    Kept places = kept[s];
    if (source.attention_step >= 0) {  // a row for each query
      const Step& step = steps_[static_cast<size_t>(source.attention_step)];
      places = {kept[static_cast<size_t>(step.output)].end()[-2], nullptr};
    }
    cut.trace.values.push_back(std::make_shared<const Tensor>(kept_data(source, places)));
    const Tensor& data = *cut.trace.values.back();
    builder.input(source.name, data.type, fill_of(data));
    cut.region.inputs.push_back(static_cast<ValueId>(s));
  }
  const auto shape = [&](ValueId v) {
    return kept_shape(graph_.type(v).shape, kept[static_cast<size_t>(v)]);
  };
  for (const Step& step : steps_) {
    if (builder.failed()) return std::nullopt;
    const Node& node = whole_->nodes()[static_cast<size_t>(step.node)];
    std::vector<ValueId> inputs = step.inputs;
    Op op = with_sizes(op_of(step), inputs.empty() ? Shape{} : shape(inputs[0]), shape(step.output));
    if (step.mask >= 0) {
      op = with_mask(std::get<Sdpa>(op), Sdpa::Mask::boolean);
      inputs.push_back(step.mask);
    }
    builder.node(std::move(op), inputs, node.name);
    if (builder.failed()) return std::nullopt;
    for (int k = 0; k < node.output_count; ++k) {
      if (builder.type(step.output + k).shape != shape(step.output + k)) return std::nullopt;
    }
    cut.region.nodes.push_back(static_cast<int>(cut.region.nodes.size()));
  }
  for (const ValueId v : region_->outputs) builder.output(id_of(v));
  auto built = builder.build();
  if (!built) return std::nullopt;
  cut.graph = std::move(*built);
  cut.region.patterns = region_->patterns;
  cut.region.contract = region_->contract;
  cut.trace.values.resize(static_cast<size_t>(cut.graph.value_count()));
  for (const ValueId v : region_->outputs) {
    const auto own = static_cast<size_t>(id_of(v));
    cut.region.outputs.push_back(id_of(v));
    const Tensor& stored = *trace_->values[static_cast<size_t>(v)];
    cut.trace.values[own] = std::make_shared<const Tensor>(kept_elements(stored, shape(id_of(v)), kept[own]));
  }
  return cut;
}

}  // namespace fusesmith::oracle
