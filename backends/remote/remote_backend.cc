#include "backends/remote/remote_backend.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "backends/remote/remote_plan.h"
#include "backends/remote/worker_names.h"
#include "graph/expand.h"

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;
using Kind = WorkerError::Kind;

constexpr size_t kMostIdle = 64;

// The idle workers of one backend.
class IdleWorkers {
 public:
  explicit IdleWorkers(WorkerSpec spec) : spec_(std::move(spec)) {}

  const WorkerSpec& spec() const { return spec_; }

  std::unique_ptr<WorkerProcess> take(double seconds) {
    {
      const std::lock_guard guard(mutex_);
      if (!idle_.empty()) {
        auto worker = std::move(idle_.back());
        idle_.pop_back();
        return worker;
      }
    }
    auto worker = std::make_unique<WorkerProcess>(spec_, seconds);
    const std::lock_guard guard(mutex_);
    hello_ = worker->hello();
    return worker;
  }

  // What the last worker that was started said; null before the first.
  Json hello() {
    const std::lock_guard guard(mutex_);
    return hello_;
  }

  void end() {
    std::vector<std::unique_ptr<WorkerProcess>> ended;
    const std::lock_guard guard(mutex_);
    ended.swap(idle_);
  }

  void put_back(std::unique_ptr<WorkerProcess> worker) {
    const std::lock_guard guard(mutex_);
    if (worker->goes_on() && idle_.size() < kMostIdle) idle_.push_back(std::move(worker));
  }

 private:
  const WorkerSpec spec_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerProcess>> idle_;
  Json hello_;
};

// The elements in reverse order: other values, of which each is still allowed (an index stays in range).
Tensor reversed(const Tensor& tensor) {
  Tensor other(tensor.type);
  const auto width = static_cast<size_t>(size_of(tensor.type.dtype));
  const size_t count = tensor.bytes.size() / width;
  for (size_t i = 0; i < count; ++i)
    std::copy_n(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                other.bytes.begin() + static_cast<std::ptrdiff_t>((count - 1 - i) * width));
  return other;
}

std::optional<Disagreement::Kind> problem_kind(const Json& name) {
  if (name == "source_overwritten") return Disagreement::Kind::source;
  if (name == "guard_overwritten") return Disagreement::Kind::guard;
  if (name == "depends_on_unwritten_memory") return Disagreement::Kind::poison;
  return {};
}

// The element with this bit pattern, given as an integer that is not negative.
std::optional<double> element_of_bits(const Json& bits, Dtype dtype) {
  if (!bits.is_number_unsigned()) return {};
  Tensor element(TensorType{dtype, {}});
  const auto pattern = bits.get<uint64_t>();  // little-endian, as the protocol is
  std::memcpy(element.bytes.data(), &pattern, std::min(element.bytes.size(), sizeof pattern));
  return element.value(0);
}

class RemoteProgram : public Program {
 public:
  RemoteProgram(Graph graph, Plan plan, std::unique_ptr<WorkerProcess> worker,
                std::shared_ptr<IdleWorkers> pool, double run_seconds)
      : graph_(std::move(graph)),
        plan_(std::move(plan)),
        worker_(std::move(worker)),
        pool_(std::move(pool)),
        run_seconds_(run_seconds) {
    for (const Region& region : plan_.regions) {
      for (const ValueId v : region.outputs) {
        wanted_.push_back(v);
        payload_ += static_cast<uint64_t>(element_count(graph_.type(v)) * size_of(graph_.type(v).dtype));
      }
    }
  }
  RemoteProgram(const RemoteProgram&) = delete;
  RemoteProgram& operator=(const RemoteProgram&) = delete;
  ~RemoteProgram() override { pool_->put_back(std::move(worker_)); }

  const Plan& plan() const override { return plan_; }

  // First on other values in the same buffers: a program that returns what it computed before is then wrong.
  Trace run(std::span<const TensorPtr> inputs) override {
    others_.clear();
    for (const TensorPtr& input : inputs) others_.push_back(std::make_shared<const Tensor>(reversed(*input)));
    of_others_ = ask(others_, "new");
    return ask(inputs, "same");
  }

  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    if (noticed_) return noticed_;
    other_runs_.clear();
    for (const char* buffers : {"new", "same"}) {
      Trace again = ask(inputs, buffers);
      if (auto found = first_difference(Disagreement::Kind::repeat, plan_, trace, again)) return found;
      if (noticed_) return noticed_;
      const bool is_other =
          std::any_of(plan_.regions.begin(), plan_.regions.end(),
                      [&](const Region& region) { return oracle::differs(region, trace, again); });
      if (is_other) other_runs_.push_back(std::move(again));
    }
    // The run before the judged one, too: its bits were those of a program that had just been compiled.
    return first_difference(Disagreement::Kind::repeat, plan_, of_others_, ask(others_, "same"));
  }

  std::span<const Trace> other_runs() const override { return other_runs_; }

 private:
  Trace ask(std::span<const TensorPtr> inputs, const char* buffers) {
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i)
      tensors.push_back({graph_.name(static_cast<ValueId>(i)), inputs[i].get()});
    Reply reply =
        worker_->ask({{"type", "run"}, {"buffers", buffers}}, tensors, "results", payload_, run_seconds_);
    Trace trace;
    trace.values.assign(inputs.begin(), inputs.end());
    trace.values.resize(static_cast<size_t>(graph_.value_count()));
    for (const ValueId v : wanted_) trace.values[static_cast<size_t>(v)] = take(reply, v);
    if (!reply.tensors.empty()) refuse("'" + reply.tensors.begin()->first + "' is no output of a region");
    notice(reply.header, inputs);
    return trace;
  }

  TensorPtr take(Reply& reply, ValueId value) const {
    const std::string& name = graph_.name(value);
    const auto found = reply.tensors.find(name);
    if (found == reply.tensors.end()) refuse("'" + name + "' is missing");
    if (found->second.type != graph_.type(value)) {
      refuse("'" + name + "': expected " + to_string(graph_.type(value)) + ", got " +
             to_string(found->second.type));
    }
    auto tensor = std::make_shared<const Tensor>(std::move(found->second));
    reply.tensors.erase(found);
    return tensor;
  }

  // What the worker says that it noticed about the program.
  void notice(const Json& header, std::span<const TensorPtr> inputs) {
    const auto problems = header.find("problems");
    if (problems == header.end() || noticed_) return;
    if (!problems->is_array()) refuse("\"problems\" is no list");
    if (problems->empty()) return;
    const Json& first = (*problems)[0];
    const auto kind = first.is_object() ? problem_kind(first.value("kind", Json())) : std::nullopt;
    const auto value = first.is_object() && first.value("value", Json()).is_string()
                           ? graph_.find(first["value"].get<std::string>())
                           : std::nullopt;
    if (!kind || !value) refuse("\"problems\": expected known kinds and values of the graph");
    Disagreement found{*kind, region_of(*value), *value};
    if (first.value("element", Json()).is_number_integer()) found.element = first["element"].get<int64_t>();
    found.element = std::clamp<int64_t>(found.element, 0, element_count(graph_.type(*value)) - 1);
    if (const auto now = element_of_bits(first.value("bits", Json()), graph_.type(*value).dtype);
        now && static_cast<size_t>(*value) < inputs.size()) {
      found.first = inputs[static_cast<size_t>(*value)]->value(found.element);
      found.second = *now;
    }
    noticed_ = found;
  }

  // The region that computes the value, else the first that reads it.
  size_t region_of(ValueId value) const {
    const auto has = [&](const std::vector<ValueId>& list) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    for (size_t r = 0; r < plan_.regions.size(); ++r) {
      if (has(plan_.regions[r].outputs)) return r;
    }
    for (size_t r = 0; r < plan_.regions.size(); ++r) {
      if (has(plan_.regions[r].inputs)) return r;
    }
    return 0;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw WorkerError(Kind::bad_reply, pool_->spec().name, "results: " + what);
  }

  Graph graph_;
  Plan plan_;
  std::unique_ptr<WorkerProcess> worker_;
  std::shared_ptr<IdleWorkers> pool_;
  double run_seconds_;
  std::vector<ValueId> wanted_;
  uint64_t payload_ = 0;
  std::optional<Disagreement> noticed_;
  std::vector<TensorPtr> others_;  // the inputs of the run before the judged one, and what it gave
  Trace of_others_;
  std::vector<Trace> other_runs_;
};

// The graph of a case file, without the recipes for its data, which are the judge's business.
Json graph_json(const Graph& graph) {
  Case test_case;
  test_case.graph = graph;
  Json json = Json::parse(to_json(test_case))["graph"];
  for (const char* list : {"inputs", "states"}) {
    for (Json& source : json[list]) {
      for (const char* key : {"fill", "repeat", "layout"}) source.erase(key);
    }
  }
  return json;
}

// How the case asks inputs and states to lie in memory, as strides.
Json layouts_json(const Graph& graph) {
  Json layouts = Json::object();
  for (ValueId v = 0; v < graph.source_count(); ++v) {
    const auto& layout = graph.layout(v);
    if (!layout) continue;
    const Strides strides = strides_of(*layout, graph.type(v).shape);
    layouts[graph.name(v)] = {{"strides", strides.of_axes},
                              {"offset", layout->offset},
                              {"extent", strides.extent},
                              {"align", layout->align}};
  }
  return layouts;
}

Json types_json(const Graph& graph) {
  Json types = Json::object();
  for (ValueId v = 0; v < graph.value_count(); ++v) types[graph.name(v)] = to_string(graph.type(v));
  return types;
}

// Of nodes whose op a formula defines: that graph, for workers that do not have the op.
Json definitions_json(const Graph& graph) {
  Json definitions = Json::object();
  for (const Node& node : graph.nodes()) {
    if (!is_defined(node.op)) continue;
    Types types;
    for (const ValueId v : node.inputs) types.push_back(graph.type(v));
    const auto formula = expansion(node.op, types);
    definitions[node.name] = {{"graph", graph_json(*formula)}, {"types", types_json(*formula)}};
  }
  return definitions;
}

class RemoteBackend : public Backend {
 public:
  RemoteBackend(WorkerSpec spec, std::string_view doc)
      : pool_(std::make_shared<IdleWorkers>(std::move(spec))), doc_(doc) {}

  std::string_view name() const override { return pool_->spec().name; }
  std::string_view doc() const override { return doc_; }

  std::optional<std::string> unavailable() const override { return unavailable(Deadlines{}.compile); }

  std::optional<std::string> unavailable(double seconds) const {
    try {
      pool_->put_back(pool_->take(seconds));
      return {};
    } catch (const WorkerError& error) {
      return error.what();
    }
  }

  Versions versions() const override {
    Versions versions;
    const Json hello = pool_->hello();
    const Json listed = hello.is_object() ? hello.value("versions", Json()) : Json();
    if (!listed.is_object()) return versions;
    for (const auto& [library, version] : listed.items()) {
      if (version.is_string()) versions[library] = version.get<std::string>();
    }
    return versions;
  }

  std::string device() const override {
    const Json hello = pool_->hello();
    return hello.is_object() ? one_line(hello.value("device", "")) : "";
  }

  void end_idle() const { pool_->end(); }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    auto worker = pool_->take(options.deadlines.compile);
    Reply reply;
    try {
      reply = worker->ask(compile_request(graph, options), {}, "plan", 0, options.deadlines.compile);
    } catch (const WorkerError&) {
      pool_->put_back(std::move(worker));
      throw;
    }
    if (reply.header["type"] == "unsupported") {
      const Json why = reply.header.value("why", Json());
      pool_->put_back(std::move(worker));
      return Problem{why.is_string() ? one_line(why.get<std::string>()) : "the worker does not say why"};
    }
    auto plan = parse_plan(graph, reply.header);
    if (!plan) throw WorkerError(Kind::bad_reply, pool_->spec().name, plan.problem());
    // What the case does not allow no compiler can declare. A function of a user has no other mode.
    const WorkerKind* kind = worker_kind(pool_->spec().name);
    for (Region& region : plan->regions) {
      if (kind && !kind->compiles) break;
      region.contract.arithmetic.tf32 &= options.tf32;
      for (auto& [op, arithmetic] : region.contract.arithmetic_of) arithmetic.tf32 &= options.tf32;
    }
    return std::unique_ptr<Program>(std::make_unique<RemoteProgram>(
        graph, std::move(*plan), std::move(worker), pool_, options.deadlines.run));
  }

 private:
  std::shared_ptr<IdleWorkers> pool_;
  std::string_view doc_;
};

}  // namespace

Json compile_request(const Graph& graph, const CompileOptions& options) {
  Json request = {{"type", "compile"},
                  {"graph", graph_json(graph)},
                  {"types", types_json(graph)},
                  {"options", {{"tf32", options.tf32}}}};
  Json layouts = layouts_json(graph);
  if (!layouts.empty()) request["layouts"] = std::move(layouts);
  Json definitions = definitions_json(graph);
  if (!definitions.empty()) request["definitions"] = std::move(definitions);
  return request;
}

std::optional<std::string> why_unavailable(const Backend& backend, double seconds) {
  const auto* remote = dynamic_cast<const RemoteBackend*>(&backend);
  return remote ? remote->unavailable(seconds) : backend.unavailable();
}

void end_idle_workers(const Backend& backend) {
  if (const auto* remote = dynamic_cast<const RemoteBackend*>(&backend)) remote->end_idle();
}

std::unique_ptr<Backend> make_remote_backend(WorkerSpec spec, std::string_view doc) {
  return std::make_unique<RemoteBackend>(std::move(spec), doc);
}

}  // namespace fusesmith::backends
