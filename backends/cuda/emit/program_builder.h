// Builds the program of a graph: assigns a buffer to every value and collects the launches of each region.
#pragma once

#include <memory>

#include "backends/cuda/runtime/program_runs.h"

namespace fusesmith::backends {

// Buffers are numbered by ValueId; temporaries follow.
class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, const Plan& plan, bool tf32);

  const Graph& graph() const { return graph_; }
  // By ValueId.
  std::span<const DeviceTensor> values() const { return values_; }
  // Starts the next region of the plan.
  void next_region() { regions_.emplace_back(); }
  Emitter& emitter() { return emitter_; }
  // Emits the region node by node; values that only this region uses are stored in temporaries.
  void emit_nodes(const Region& region);

  // Production runs write this region's value into the memory of the state; no later region may read the
  // state.
  void update_in_place(ValueId value, ValueId state) { table_.in_place.push_back({value, state}); }

  std::unique_ptr<Program> build();

 private:
  void check_in_place() const;

  class RegionEmitter final : public Emitter {
   public:
    RegionEmitter(ProgramBuilder& builder, bool tf32) : Emitter(tf32), builder_(builder) {}
    Buffer temporary(int64_t bytes) override;
    using Emitter::temporary;
    void launch(Launch launch) override { builder_.regions_.back().launches.push_back(std::move(launch)); }

   private:
    ProgramBuilder& builder_;
  };

  const Graph& graph_;
  const Plan& plan_;
  std::vector<DeviceTensor> values_;
  BufferTable table_;
  std::vector<DeviceRegion> regions_;
  RegionEmitter emitter_;
};

}  // namespace fusesmith::backends
