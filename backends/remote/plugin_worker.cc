#include "backends/remote/plugin_worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "backends/device_error.h"
#include "backends/remote/plugin_library.h"
#include "backends/remote/plugin_tensors.h"
#include "backends/remote/remote_plan.h"
#include "backends/remote/request_stream.h"
#include "backends/remote/worker_process.h"

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;
using Bytes = std::vector<std::byte>;

Json error(const char* kind, const std::string& what) {
  return {{"type", "error"}, {"kind", kind}, {"what", one_line(what)}};
}

// What the plug-in itself says or throws: a verdict on it.
struct Failed {
  std::string what;
};

class PluginWorker {
 public:
  PluginWorker(std::string path, const MakePluginMemory& make_cuda_memory)
      : path_(std::move(path)), make_cuda_memory_(make_cuda_memory) {}

  void answer(RequestStream& stream, const Request& request) {
    Bytes payload;
    Json reply;
    try {
      reply = reply_to(request, payload);
    } catch (const DeviceError& stopped) {
      // After most errors of a GPU nothing runs on it in this process.
      if (stopped.kind() == DeviceError::Kind::unhealthy) throw;
      reply = error("out_of_memory", stopped.what());
    } catch (const std::bad_alloc&) {
      reply = error("out_of_memory", FUSESMITH_PLUGIN_OUT_OF_MEMORY);
    } catch (const Failed& failed) {
      const bool memory = failed.what.starts_with(FUSESMITH_PLUGIN_OUT_OF_MEMORY);
      reply = error(memory ? "out_of_memory" : "failed", failed.what);
    }
    stream.reply(std::move(reply), payload);
  }

 private:
  Json reply_to(const Request& request, Bytes& payload) {
    const std::string type = request.header.value("type", "");
    if (type == "hello") return hello();
    if (type == "compile" && memory_) return compile(request.header);
    if (type == "run" && tensors_) return run(request, payload);
    return error("failed", "unexpected request '" + type + "'");
  }

  Json hello() {
    if (const auto problem = load()) return error("unavailable", problem->what);
    return {{"type", "hello"},
            {"protocol", 1},
            {"name", "plugin:" + path_},
            {"versions", {{"plugin_abi", std::to_string(FUSESMITH_PLUGIN_ABI_VERSION)}}},
            {"device", plugin_.device_type == kDLCUDA ? "cuda" : "cpu"},
            {"files", true}};
  }

  std::optional<Problem> load() {
    if (memory_) return {};
    auto plugin = load_plugin(path_);
    if (!plugin) return Problem{plugin.problem()};
    plugin_ = *plugin;
    if (plugin_.device_type == kDLCPU) {
      memory_ = make_host_memory();
      return {};
    }
    auto memory = make_cuda_memory_();
    if (!memory) return Problem{path_ + " computes on a GPU: " + memory.problem()};
    memory_ = std::move(*memory);
    return {};
  }

  Json compile(const Json& request) {
    tensors_.reset();
    // The text of the graph before stays where it is until the plug-in has got this one.
    std::string graph = Json{{"graph", request.at("graph")},
                             {"types", request.at("types")},
                             {"options", request.at("options")}}
                            .dump();
    const std::string before = std::exchange(graph_, std::move(graph));
    if (const char* why = guarded([&] { return plugin_.supports(graph_.c_str()); }))
      return {{"type", "unsupported"}, {"why", one_line(why)}};
    const char* text = plugin_.contract ? guarded([&] { return plugin_.contract(graph_.c_str()); }) : nullptr;
    Json contract = text ? Json::parse(text, nullptr, false) : contract_of_functions();
    if (!contract.is_object())
      throw Failed{"fusesmith_plugin_contract returned no JSON object: " + std::string(text)};
    tensors_ = std::make_unique<PluginTensors>(*memory_, sources(request), results(request));
    // Runs that differ by themselves say nothing about memory; each is judged on other bytes in it.
    checked_ = order_varies(contract);
    return {{"type", "plan"}, {"regions", "whole_graph"}, {"contract", std::move(contract)}};
  }

  static bool order_varies(const Json& contract) {
    const auto varies = [](const Json& arithmetic) {
      return arithmetic.is_object() && arithmetic.value("order_varies", Json()) == true;
    };
    const Json of_ops = contract.value("arithmetic_of", Json::object());
    return varies(contract.value("arithmetic", Json())) || std::any_of(of_ops.begin(), of_ops.end(), varies);
  }

  static NamedType named(const Json& request, const std::string& name) {
    return {name, *parse_tensor_type(request.at("types").at(name).get<std::string>())};
  }

  static std::vector<NamedType> sources(const Json& request) {
    std::vector<NamedType> sources;
    for (const char* list : {"inputs", "states"}) {
      for (const Json& value : request.at("graph").value(list, Json::array()))
        sources.push_back(named(request, value.at("name")));
    }
    return sources;
  }

  // The graph's outputs, then the next states, each once, without those that are sources themselves.
  static std::vector<NamedType> results(const Json& request) {
    std::vector<NamedType> known = sources(request), results;
    const auto add = [&](const std::string& name) {
      if (std::any_of(known.begin(), known.end(), [&](const NamedType& k) { return k.name == name; })) return;
      results.push_back(named(request, name));
      known.push_back(results.back());
    };
    const Json& graph = request.at("graph");
    for (const Json& name : graph.at("outputs")) add(name);
    for (const Json& state : graph.value("states", Json::array())) add(state.at("next"));
    return results;
  }

  Json run(const Request& request, Bytes& payload) {
    if (request.payload.size() != tensors_->input_bytes())
      return error("failed", "a payload of another size than the graph's inputs");
    if (request.header.value("buffers", "") != "same") tensors_->renew();
    std::vector<NoticedProblem> problems;
    const std::byte fill = next_fill();
    payload = run_once(request.payload, fill, problems);
    if (!std::exchange(checked_, true)) check_fill(request.payload, payload, fill, problems);
    Json reply = {{"type", "results"}, {"tensors", Json::array()}, {"problems", Json::array()}};
    for (const NamedType& output : tensors_->outputs())
      reply["tensors"].push_back({{"name", output.name}, {"type", to_string(output.type)}});
    for (const NoticedProblem& problem : problems) {
      reply["problems"].push_back(
          {{"kind", problem.kind}, {"value", problem.value}, {"element", problem.element}});
      if (problem.bits) reply["problems"].back()["bits"] = *problem.bits;
    }
    return reply;
  }

  Bytes run_once(std::span<const std::byte> data, std::byte fill, std::vector<NoticedProblem>& problems) {
    tensors_->load(data, fill);
    const auto inputs = tensors_->input_tensors(), outputs = tensors_->output_tensors();
    const char* failed = guarded([&] {
      return plugin_.run(graph_.c_str(), inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                         memory_->stream());
    });
    const std::string what = failed ? failed : "";  // the text need not outlive what follows
    memory_->synchronize();
    if (failed) throw Failed{what};
    return tensors_->unload(problems);
  }

  // Whether results depend on what was in memory before: they change with it, and change back.
  void check_fill(std::span<const std::byte> data, const Bytes& first, std::byte fill,
                  std::vector<NoticedProblem>& problems) {
    std::vector<NoticedProblem> again;
    const Bytes other = run_once(data, next_fill(), again);
    if (other == first || run_once(data, fill, again) != first) return;  // another difference is the judge's
    auto at = std::mismatch(first.begin(), first.end(), other.begin()).first - first.begin();
    for (const NamedType& output : tensors_->outputs()) {
      const auto width = static_cast<std::ptrdiff_t>(size_of(output.type.dtype));
      const auto bytes = static_cast<std::ptrdiff_t>(element_count(output.type)) * width;
      if (at < bytes) return problems.push_back({"depends_on_unwritten_memory", output.name, at / width});
      at -= bytes;
    }
  }

  // Bytes that as f32 are a NaN, 0 and a large number.
  std::byte next_fill() {
    constexpr std::array<std::byte, 3> kFills = {std::byte{0xFF}, std::byte{0x00}, std::byte{0x7B}};
    return kFills[runs_++ % kFills.size()];
  }

  // Calls the plug-in, whose exceptions are its failures.
  template <class Call>
  static const char* guarded(Call call) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& thrown) {
      throw Failed{std::string("the plug-in threw an exception: ") + thrown.what()};
    } catch (...) {
      throw Failed{"the plug-in threw an exception"};
    }
  }

  const std::string path_;
  const MakePluginMemory& make_cuda_memory_;
  PluginLibrary plugin_;
  std::unique_ptr<PluginMemory> memory_;  // once the plug-in is loaded
  std::string graph_;
  std::unique_ptr<PluginTensors> tensors_;  // of the graph, if the plug-in supports it
  bool checked_ = false;                    // whether check_fill() has run for the graph
  size_t runs_ = 0;
};

}  // namespace

void serve_plugin(const std::string& path, const MakePluginMemory& make_cuda_memory) {
  // A campaign starts one worker for each of its jobs: each computes with one thread, unless the user says
  // otherwise.
  for (const char* variable : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
    setenv(variable, "1", 0);
  try {
    RequestStream stream;
    PluginWorker worker(path, make_cuda_memory);
    while (const auto request = stream.next()) worker.answer(stream, *request);
    std::fflush(nullptr);
    _exit(0);  // threads of the plug-in may still run, and what it would do at exit is not needed
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fusesmith %s: %s\n", std::string(kPluginWorker).c_str(), error.what());
  }
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace fusesmith::backends
