#include "fuzz/cli/imported_model.h"

#include <memory>
#include <system_error>

#include "backends/remote/script_call.h"

namespace fusesmith::fuzz {

namespace {

// Data files of the cases, which follow the texts in a payload. They are known to the cases that are read
// while the payload exists.
std::optional<Problem> share_payload(const nlohmann::json& files,
                                     const std::shared_ptr<std::vector<std::byte>>& payload, size_t at) {
  for (const auto& entry : files) {
    const auto size = entry.at("bytes").get<size_t>();
    if (size > payload->size() - at) return Problem{"the script's reply is too short"};
    graph::share_data(entry.at("sha256").get<std::string>(), {{payload, payload->data() + at}, size});
    at += size;
  }
  return {};
}

// The cases of a reply, from the text that its payload holds of each.
Result<std::vector<ImportedCase>> cases_of(backends::ScriptReply& reply) {
  std::vector<ImportedCase> cases;
  const auto payload = std::make_shared<std::vector<std::byte>>(std::move(reply.payload));
  std::string_view rest(reinterpret_cast<const char*>(payload->data()), payload->size());
  size_t texts = 0;
  for (const auto& entry : reply.header.at("cases")) texts += entry.at("bytes").get<size_t>();
  if (texts > rest.size()) return Problem{"the script's reply is too short"};
  if (auto problem = share_payload(reply.header.value("data", nlohmann::json::array()), payload, texts))
    return *problem;
  for (const auto& entry : reply.header.at("cases")) {
    const auto name = entry.at("name").get<std::string>();
    const std::string_view text = rest.substr(0, entry.at("bytes").get<size_t>());
    rest.remove_prefix(text.size());
    auto imported = parse_case(text);
    if (!imported) return Problem{name + ": the imported case is not valid: " + imported.problem()};
    cases.push_back({name, std::move(*imported)});
  }
  return cases;
}

ImportedModel model_of(backends::ScriptReply& reply) {
  auto cases = cases_of(reply);
  if (!cases) return {{}, {}, CannotRun{cases.problem(), kUsage}};
  nlohmann::json facts = {{"unmapped", reply.header.at("unmapped")},
                          {"approximated", reply.header.at("approximated")}};
  for (const auto& entry : facts["unmapped"]) {
    entry.at("op").get<std::string>();
    entry.at("why").get<std::string>();
    entry.at("count").get<int64_t>();
  }
  if (const auto summary = reply.header.find("summary"); summary != reply.header.end()) {
    for (const char* key : {"nodes", "mapped", "folded", "made_inputs"}) summary->at(key).get<int64_t>();
    facts["summary"] = *summary;
  }
  return {std::move(*cases), std::move(facts)};
}

// "transformer_h_0_mlp_act_pow (transformer.h.0.mlp.act, activations.py:47)"
std::string first_node(const nlohmann::json& entry) {
  const auto nodes = entry.find("nodes");
  if (nodes == entry.end() || !nodes->is_array() || nodes->empty()) return "";
  const auto text = [&](const char* key) {
    const auto found = nodes->front().find(key);
    return found != nodes->front().end() && found->is_string() ? found->get<std::string>() : "";
  };
  std::vector<std::string> where;
  for (const char* key : {"module", "line"}) {
    if (!text(key).empty()) where.push_back(text(key));
  }
  return text("node") + (where.empty() ? "" : " (" + list_text(where) + ")");
}

}  // namespace

void ModelFlags::add_to(std::vector<Flag>& flags, std::string_view time) {
  flags.push_back({.name = "dim",
                   .target = &dim,
                   .value = "NAME=SIZE,..",
                   .doc = "Sizes that the model leaves open, by the model's names for them; a size "
                          "without a name is INPUT.AXIS."});
  flags.push_back({.name = "split",
                   .target = &split,
                   .value = "N",
                   .doc = "Several cases of about N nodes each; the values between them are inputs.",
                   .default_text = "one case",
                   .hi = 4096});
  flags.push_back({.name = "data",
                   .target = &data,
                   .value = "FILE.npz|drawn",
                   .doc = "Data of the model's inputs, by their names (numpy.savez). `drawn`: weights that a "
                          "case file has no room for are random, and not in files beside it.",
                   .default_text = "what the model's file has; else random"});
  flags.push_back({.name = time,
                   .target = &timeout,
                   .value = "SECONDS",
                   .doc = "How long the script that reads a model may take.",
                   .unit = Flag::Unit::seconds,
                   .lo = 0.01,
                   .hi = 1e6});
  flags.push_back({.name = "rss_limit_mb",
                   .target = &rss_limit_mb,
                   .value = "N",
                   .doc = "How much memory the script may use, in MiB, beside eight times the size of the "
                          "model's files; 0: no limit.",
                   .hi = 1e9});
}

int64_t ImportedModel::nodes() const {
  int64_t count = 0;
  for (const ImportedCase& one : cases) count += static_cast<int64_t>(one.test_case.graph.nodes().size());
  return count;
}

ImportedModel import_model(const std::string& file, const ModelFlags& flags) {
  backends::ScriptRequest request{"import/import_model.py"};
  for (const std::string& size : flags.dim) request.arguments.push_back("--dim=" + size);
  request.arguments.push_back("--split=" + std::to_string(flags.split));
  request.arguments.push_back("--data=" + flags.data);
  request.arguments.push_back("--rss_limit_mb=" + std::to_string(flags.rss_limit_mb));
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  request.arguments.insert(request.arguments.end(), {"--binary=" + program.string(), "--", file});
  request.seconds = flags.timeout;
  backends::ScriptReply reply = backends::call_script(request);
  if (!reply.problem.empty())
    return {{},
            {},
            CannotRun{reply.problem, reply.timed_out       ? kTimeout
                                     : reply.out_of_memory ? kOutOfMemory
                                                           : kUsage}};
  try {
    return model_of(reply);
  } catch (const nlohmann::json::exception& wrong) {
    return {{}, {}, CannotRun{std::string("the script's reply cannot be read: ") + wrong.what(), kUsage}};
  }
}

std::string operators_text(const ImportedModel& model) {
  const auto summary = model.facts.find("summary");
  if (summary == model.facts.end()) return "";
  const auto count = [&](const char* key) { return summary->at(key).get<int64_t>(); };
  const int64_t inputs = count("made_inputs"), depend = count("mapped") + inputs;
  std::string text = counted(count("nodes"), "operator") + ": " + std::to_string(count("mapped")) +
                     " mapped, " + std::to_string(count("folded")) + " computed by the import, " +
                     std::to_string(inputs) + " without counterpart";
  if (inputs > 0)
    text += " (" + percent(static_cast<double>(inputs) / static_cast<double>(depend)) +
            " of those that are not constant)";
  return text;
}

Table unmapped_table(const ImportedModel& model) {
  Table table({"no counterpart", "nodes", "why", "first"});
  for (const auto& entry : model.facts.at("unmapped"))
    table.add({entry.at("op").get<std::string>(), std::to_string(entry.at("count").get<int64_t>()),
               entry.at("why").get<std::string>(), first_node(entry)});
  return table;
}

std::string approximated_text(const ImportedModel& model) {
  const auto& constants = model.facts.at("approximated");
  if (constants.empty()) return "";
  return "random data in place of " + counted(static_cast<int64_t>(constants.size()), "value") +
         " of the model";
}

}  // namespace fusesmith::fuzz
