#include "backends/cuda/emit/program_builder.h"

#include <algorithm>

#include "backends/cuda/emit/emit_node.h"

namespace fusesmith::backends {
namespace {

int64_t bytes_of(const TensorType& type) { return element_count(type) * size_of(type.dtype); }

std::vector<int> unique(std::vector<int> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const Graph& graph, const Plan& plan, bool tf32)
    : graph_(graph), plan_(plan), emitter_(*this, tf32) {
  table_.sources = graph.source_count();
  table_.values = graph.value_count();
  table_.bytes.assign(static_cast<size_t>(table_.values), 0);
  for (ValueId v = 0; v < graph.value_count(); ++v) values_.push_back({{v}, graph.type(v)});
  const auto stands = [&](ValueId v) { table_.bytes[static_cast<size_t>(v)] = bytes_of(graph.type(v)); };
  for (ValueId v = 0; v < graph.source_count(); ++v) stands(v);
  for (const Region& region : plan.regions)
    std::for_each(region.outputs.begin(), region.outputs.end(), stands);
}

Buffer ProgramBuilder::RegionEmitter::temporary(int64_t bytes) {
  const int id = static_cast<int>(builder_.table_.bytes.size());
  builder_.table_.bytes.push_back(bytes);
  builder_.regions_.back().temporaries.push_back(id);
  return {id};
}

void ProgramBuilder::emit_nodes(const Region& region) {
  std::vector<DeviceTensor> values(values_);
  for (int n : region.nodes) {
    const Node& node = graph_.nodes()[static_cast<size_t>(n)];
    std::vector<DeviceTensor> in;
    for (ValueId v : node.inputs) in.push_back(values[static_cast<size_t>(v)]);
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
      const auto i = static_cast<size_t>(v);
      if (table_.bytes[i] == 0) values[i] = emitter_.temporary(graph_.type(v));
    }
    const auto first = static_cast<size_t>(node.first_output);
    emit_node(node.op, in, std::span(values).subspan(first, static_cast<size_t>(node.output_count)),
              emitter_);
  }
}

void ProgramBuilder::check_in_place() const {
  const auto has = [](const std::vector<int>& ids, int id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const auto& [value, source] : table_.in_place) {
    check(has(table_.kept, value) && !has(table_.kept, source), "device program: a state is still wanted");
    bool written = false;
    for (const RegionBuffers& region : table_.regions) {
      check(!written || !has(region.reads, source), "device program: a state is read when it is gone");
      written = written || has(region.writes, value);
    }
  }
}

std::unique_ptr<Program> ProgramBuilder::build() {
  check(regions_.size() == plan_.regions.size(), "device program: a region was not emitted");
  for (size_t r = 0; r < regions_.size(); ++r) {
    const Region& region = plan_.regions[r];
    std::vector<int> writes = region.outputs;
    writes.insert(writes.end(), regions_[r].temporaries.begin(), regions_[r].temporaries.end());
    table_.regions.push_back({unique(region.inputs), unique(std::move(writes))});
  }
  std::vector<int> kept = graph_.outputs();
  for (const State& state : graph_.states()) kept.push_back(state.next);
  table_.kept = unique(std::move(kept));
  check_in_place();
  return make_device_program(graph_, plan_, std::move(regions_), table_);
}

}  // namespace fusesmith::backends
