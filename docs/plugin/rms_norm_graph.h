// Which graphs the plug-ins of this folder compute: one node `rms_norm`, of f32 or bf16.
#pragma once

#include <fusesmith/plugin.h>

#include <nlohmann/json.hpp>
#include <string>

struct RmsNorm {
  size_t x = 0;     // index of the input
  int weight = -1;  // likewise; -1: none
  float eps = 0;
};

// NULL, or why the plug-in does not compute the graph.
inline const char* parse_rms_norm(const char* graph, RmsNorm& norm) {
  const nlohmann::json request = nlohmann::json::parse(graph);
  const auto& nodes = request["graph"]["nodes"];
  if (nodes.size() != 1 || nodes[0]["op"] != "rms_norm") return "computes a single rms_norm only";
  const auto& node = nodes[0];
  const std::string type = request["types"][node["inputs"][0].get<std::string>()];
  if (type.rfind("f32[", 0) != 0 && type.rfind("bf16[", 0) != 0) return "computes f32 and bf16 only";
  // The inputs of the graph are in any order, and one of them may be read twice.
  const auto index_of = [&](const nlohmann::json& name) {
    size_t i = 0;
    while (request["graph"]["inputs"][i]["name"] != name) ++i;
    return i;
  };
  norm.x = index_of(node["inputs"][0]);
  norm.weight = node["inputs"].size() > 1 ? static_cast<int>(index_of(node["inputs"][1])) : -1;
  norm.eps = node["eps"];
  return nullptr;
}

// The sizes of a tensor seen as rows of its last axis.
struct Rows {
  int64_t count = 1, length = 0;
};
inline Rows rows_of(const DLTensor& tensor) {
  Rows rows;
  for (int i = 0; i + 1 < tensor.ndim; ++i) rows.count *= tensor.shape[i];
  rows.length = tensor.shape[tensor.ndim - 1];
  return rows;
}
