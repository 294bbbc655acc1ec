// Times the kernels of `cpu`: single nodes, and a small transformer block as campaigns run it.
#include <benchmark/benchmark.h>

#include "backends/common/run_node.h"
#include "backends/cpu/cpu_backend.h"

namespace fusesmith::backends {
namespace {

TensorPtr normal(const TensorType& type, const std::string& name) {
  return std::make_shared<const Tensor>(materialize(Normal{}, type, 1, name, 0));
}

void run_one(benchmark::State& state, const Op& op, const Types& types) {
  std::vector<TensorPtr> data;
  std::vector<const Tensor*> inputs;
  for (const TensorType& type : types) {
    data.push_back(normal(type, std::to_string(data.size())));
    inputs.push_back(data.back().get());
  }
  const Types outputs = *infer(op, types);
  for (auto _ : state) benchmark::DoNotOptimize(run_node(op, inputs, outputs));
  state.SetItemsProcessed(state.iterations() * element_count(outputs.front()));
}

constexpr Dtype kArgument[] = {Dtype::f32, Dtype::bf16, Dtype::f16};
TensorType square(Dtype dtype) { return {dtype, {128, 128}}; }

template <class MakeOp>
void bench_square(const char* name, int inputs, MakeOp op) {
  for (Dtype dtype : kArgument) {
    benchmark::RegisterBenchmark((std::string(name) + "/" + std::string(graph::name(dtype))).c_str(),
                                 [=](benchmark::State& state) {
                                   run_one(state, op(), Types(static_cast<size_t>(inputs), square(dtype)));
                                 });
  }
}

// Pre-norm attention and feed-forward, 20 nodes, [4, 16, 64] with 4 heads of 16.
Graph block(Dtype dtype) {
  Builder b;
  const auto weight = [&](const char* name, int64_t out, int64_t in) {
    return b.input(name, {dtype, {out, in}}, Normal{0, 0.1});
  };
  const ValueId x = b.input("x", {dtype, {4, 16, 64}}, Normal{});
  const ValueId wq = weight("wq", 64, 64), wk = weight("wk", 64, 64), wv = weight("wv", 64, 64),
                wo = weight("wo", 64, 64);
  const ValueId up = weight("up", 128, 64), down = weight("down", 64, 128);
  const auto heads = [&](ValueId h, ValueId w) {
    return b.node(Permute{{0, 2, 1, 3}}, {b.node(Reshape{{4, 16, 4, 16}}, {b.node(Linear{}, {h, w})})});
  };
  const ValueId h = b.node(LayerNorm{}, {x});
  const ValueId q = heads(h, wq), k = heads(h, wk), v = heads(h, wv);
  const ValueId p = b.node(Softmax{}, {b.node(Scale{0.25}, {b.node(Matmul{false, true}, {q, k})})});
  const ValueId mixed = b.node(Permute{{0, 2, 1, 3}}, {b.node(Matmul{}, {p, v})});
  const ValueId y = b.node(Add{}, {x, b.node(Linear{}, {b.node(Reshape{{4, 16, 64}}, {mixed}), wo})});
  const ValueId ffn =
      b.node(Linear{}, {b.node(Gelu{}, {b.node(Linear{}, {b.node(LayerNorm{}, {y}), up})}), down});
  b.output(b.node(Add{}, {y, ffn}));
  return *b.build();
}

void bench_block(benchmark::State& state, Dtype dtype) {
  const Graph graph = block(dtype);
  std::vector<TensorPtr> inputs;
  for (const Input& input : graph.inputs()) inputs.push_back(normal(input.type, input.name));
  const auto program = std::move(*cpu_backend().compile(graph, {}));
  for (auto _ : state) benchmark::DoNotOptimize(program->run(inputs));
}

void bench_compile(benchmark::State& state) {
  const Graph graph = block(Dtype::f32);
  for (auto _ : state) benchmark::DoNotOptimize(cpu_backend().compile(graph, {}));
}

const bool kRegistered = [] {
  bench_square("matmul", 2, [] { return Matmul{}; });
  bench_square("einsum_packed", 2, [] { return Einsum{"ki,jk->ji"}; });
  bench_square("rowwise_dot", 2, [] { return Einsum{"ij,ij->i"}; });
  bench_square("add", 2, [] { return Add{}; });
  bench_square("gelu_erf", 1, [] { return Gelu{}; });
  bench_square("gelu_tanh", 1, [] { return Gelu{Gelu::Form::tanh}; });
  bench_square("silu", 1, [] { return Silu{}; });
  bench_square("softmax", 1, [] { return Softmax{}; });
  bench_square("softmax_columns", 1, [] { return Softmax{0}; });
  bench_square("layer_norm", 1, [] { return LayerNorm{}; });
  bench_square("transpose", 1, [] { return Permute{{1, 0}}; });
  bench_square("to_bf16", 1, [] { return Cast{Dtype::bf16}; });
  bench_square("to_f32", 1, [] { return Cast{Dtype::f32}; });
  for (Dtype dtype : kArgument) {
    benchmark::RegisterBenchmark(("block/" + std::string(name(dtype))).c_str(),
                                 [=](benchmark::State& state) { bench_block(state, dtype); });
  }
  benchmark::RegisterBenchmark("compile_block", bench_compile);
  return true;
}();

}  // namespace
}  // namespace fusesmith::backends
