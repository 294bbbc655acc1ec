// The format `npz`: the data of a case, and on demand what both backends made of it.
#include <nlohmann/json.hpp>

#include "fuzz/export/format.h"
#include "fuzz/export/npz.h"
#include "fuzz/render/code.h"
#include "fuzz/report/verdict_json.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxBytes = int64_t{1} << 30;

// Adds arrays, and says in the manifest what each is.
class NpzExport {
 public:
  explicit NpzExport(const Graph& graph) : graph_(graph), names_(graph) {}

  void add(const std::string& prefix, ValueId value, const Tensor& tensor, const std::string& role) {
    const std::string key = prefix + names_.of(value);
    npz_.add(key, tensor);
    describe(key, value, role);
    if (tensor.type.dtype != Dtype::bf16 && !is_quantized(tensor.type.dtype)) return;
    Tensor copy({Dtype::f32, tensor.type.shape});
    for (int64_t i = 0; i < tensor.size(); ++i) copy.set(i, tensor.value(i));
    npz_.add(key + ".f32", copy);
  }

  void add(const std::string& role, const BackendResults& backend) {
    for (ValueId value = 0; value < graph_.source_count(); ++value)
      add(role + ".got.", value, *backend.trace.values[static_cast<size_t>(value)], role + " source");
    for (const auto& [value, result] : backend.values) {
      add(role + ".got.", value, *result.got, role);
      const Shape& shape = graph_.type(value).shape;
      npz_.add(role + ".exact." + names_.of(value), shape, result.exact);
      npz_.add(role + ".low." + names_.of(value), shape, result.low);
      npz_.add(role + ".high." + names_.of(value), shape, result.high);
    }
  }

  std::string archive(Json manifest) {
    manifest["arrays"] = std::move(arrays_);
    npz_.add_text("manifest.json", manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return npz_.archive();
  }

 private:
  void describe(const std::string& key, ValueId value, const std::string& role) {
    const TensorType& type = graph_.type(value);
    arrays_.push_back(
        {{"key", key}, {"value", graph_.name(value)}, {"type", to_string(type)}, {"role", role}});
  }

  const Graph& graph_;
  const Identifiers names_;
  NpzWriter npz_;
  Json arrays_ = Json::array();
};

std::optional<Problem> size_problem(const Case& test_case) {
  int64_t bytes = 0;
  for (const Input& input : test_case.graph.inputs())
    bytes += element_count(input.type) * size_of(input.type.dtype);
  if (bytes <= kMaxBytes / test_case.steps) return {};
  return Problem{"its inputs of " + std::to_string(test_case.steps) + " steps are larger than " +
                 std::to_string(kMaxBytes >> 20) + " MiB; minimize the case first"};
}

}  // namespace

Result<Exported> export_npz(const ExportSource& source) {
  const Case& test_case = source.test_case;
  if (const auto problem = size_problem(test_case)) return *problem;
  NpzExport arrays(test_case.graph);
  for (int64_t step = 0; step < test_case.steps; ++step) {
    const std::string prefix = test_case.steps > 1 ? "step" + std::to_string(step) + ".input." : "input.";
    const std::vector<Tensor> inputs = make_inputs(test_case, step);
    for (size_t i = 0; i < inputs.size(); ++i)
      arrays.add(prefix, static_cast<ValueId>(i), inputs[i], "input");
  }
  for (size_t i = 0; i < test_case.graph.states().size(); ++i) {
    const State& s = test_case.graph.states()[i];
    arrays.add("state.", static_cast<ValueId>(test_case.graph.inputs().size() + i), data_of(test_case, s),
               "state");
  }
  Json manifest = {{"fusesmith", FUSESMITH_VERSION}, {"steps", test_case.steps}};
  if (!source.note.empty()) manifest["note"] = source.note;
  if (source.results) {
    const Verdict& verdict = source.results->run.verdict;
    manifest["verdict"] = to_json(verdict);
    arrays.add("baseline", source.results->baseline);
    arrays.add("candidate", source.results->candidate);
  }
  Exported exported{arrays.archive(std::move(manifest))};
  if (exported.text.empty()) return Problem{"its arrays are larger than 2 GiB; minimize the case first"};
  return exported;
}

}  // namespace fusesmith::fuzz
