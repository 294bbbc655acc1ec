// Makes a program of a graph's regions: gives every value its buffer and collects the launches of each
// region.
#pragma once

#include <memory>

#include "backends/cuda/runtime/program_runs.h"

namespace fusesmith::backends {

// Collects the regions of a program. Buffers are numbered by ValueId, then temporaries.
class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, const Plan& plan, bool tf32);

  const Graph& graph() const { return graph_; }
  // By ValueId.
  std::span<const DeviceTensor> values() const { return values_; }
  // Goes on with the next region of the plan.
  void next_region() { regions_.emplace_back(); }
  Emitter& emitter() { return emitter_; }
  // Emits the region node by node; values that do not leave it stand in temporaries.
  void emit_nodes(const Region& region);

  // Production runs make this region's value in the memory of the state; no later region may read that.
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
