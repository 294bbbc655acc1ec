// A region as a graph of its own in which as many axes as possible are independent, so that a part of their
// places can be judged alone (oracle/sampling.h). Each use of a region input is an input of its own. Masks
// and positions that the region makes from attributes are inputs, causal attention has its mask as an
// input, and keys and values that a group of heads shares are repeated. The bounds of each element are those
// of the region.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/axis_classes.h"
#include "oracle/plan.h"

namespace fusesmith::oracle {

// By axis of a tensor: which places are kept; null where all are. By value of the part.
using Kept = std::vector<const std::vector<int64_t>*>;
using KeptIndices = std::vector<Kept>;

class RegionPart {
 public:
  // Nothing where the region cannot be a graph of its own. The arguments must outlive it.
  static std::optional<RegionPart> make(const Graph& graph, const Region& region, const Trace& trace);

  // The graph at its whole size. In place of a causal mask, it has none.
  const Graph& graph() const { return graph_; }
  // Its value for a value that the region computes; -1 if there is none.
  ValueId id_of(ValueId whole) const { return ids_[static_cast<size_t>(whole)]; }

  struct Cut {
    Graph graph;
    Region region;
    Trace trace;
  };
  // The part with these places alone, and what the region got and stored there. Nothing if the ops do not
  // accept these sizes.
  std::optional<Cut> cut(const KeptIndices& kept) const;

 private:
  struct Source {
    std::string name;
    TensorType type;
    TensorPtr data = nullptr;     // null: `made`
    std::optional<Op> made = {};  // a CausalMask or an Arange
    int attention_step = -1;      // whose visible keys it holds: the opposite of `made`
    int64_t readers = 1;  // times that each head of `data` is repeated, where groups of heads share one
  };
  struct Step {
    int node;
    std::vector<ValueId> inputs;  // of the part
    ValueId mask = -1;            // of causal attention
    ValueId output = -1;          // the first one
    bool ungroups = false;        // an attention whose k and v have a head for each one of q here
  };

  RegionPart(const Graph& whole, const Region& region, const Trace& trace)
      : whole_(&whole),
        region_(&region),
        trace_(&trace),
        ids_(static_cast<size_t>(whole.value_count()), -1) {}

  bool collect();
  bool is_plain_input(ValueId v) const;
  Op op_of(const Step& step) const;
  bool add_sources(const Node& node, Step& step);
  ValueId add_source(Source source);
  std::string unused_name() const;
  bool build();
  Tensor kept_data(const Source& source, const Kept& kept) const;

  const Graph* whole_;
  const Region* region_;
  const Trace* trace_;
  std::vector<Source> sources_;
  std::vector<Step> steps_;
  std::vector<ValueId> ids_;  // by ValueId of the whole graph: values that the region computes
  Graph graph_;
};

}  // namespace fusesmith::oracle
