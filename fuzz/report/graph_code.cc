#include "fuzz/report/graph_code.h"

#include "fuzz/render/code.h"

namespace fusesmith::fuzz {

std::string graph_code(const Graph& graph, const std::vector<int>& marked, size_t most) {
  std::vector<CodeLine> lines = code_lines(graph);
  const auto first_node = static_cast<size_t>(graph.source_count());
  for (const int node : marked)
    lines.at(first_node + static_cast<size_t>(node)).comment += " <- failing region";
  if (lines.size() > most) {
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(most / 2);
    const auto end = begin + static_cast<std::ptrdiff_t>(lines.size() - most);
    const std::string note = "# ... " + std::to_string(end - begin) + " lines";
    lines.erase(begin, end);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(most / 2), CodeLine{note, ""});
  }
  return code_text(lines);
}

}  // namespace fusesmith::fuzz
