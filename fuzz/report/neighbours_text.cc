#include "fuzz/report/neighbours_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

std::vector<int64_t> sizes_that(const SizeOutcomes& tried, bool fail) {
  std::vector<int64_t> sizes;
  for (const auto& [size, fails] : tried) {
    if (fails == fail) sizes.push_back(size);
  }
  return sizes;
}

// "1-5, 7, 8": three or more in a row as a range.
std::string sizes_text(const std::vector<int64_t>& sizes) {
  std::vector<std::string> words;
  for (size_t i = 0, end = 0; i < sizes.size(); i = end) {
    for (end = i + 1; end < sizes.size() && sizes[end] == sizes[end - 1] + 1; ++end) {
    }
    if (end - i < 3) end = i + 1;
    const std::string first = std::to_string(sizes[i]);
    words.push_back(end - i == 1 ? first : first + "-" + std::to_string(sizes[end - 1]));
  }
  return list_text(words);
}

// "x axis 0", "weight axis 0 = weight axis 1".
std::string axes_text(const SizeNeighbours& sizes) {
  std::string text;
  for (const std::string& axis : sizes.axes) text += (text.empty() ? "" : " = ") + axis;
  return text;
}

std::string size_line(const SizeNeighbours& sizes) {
  if (sizes.depends_on_data) return "";
  const auto passing = sizes_that(sizes.tried, false), failing = sizes_that(sizes.tried, true);
  if (passing.empty())
    return sizes.axes.size() == 1 ? "" : "Fails only while " + axes_text(sizes) + ", at every size tried.\n";
  const std::string where = ", where N is " + axes_text(sizes) + " (" + std::to_string(sizes.size) + " here)";
  const std::string tried = " all " + std::to_string(sizes.tried.size()) + " sizes tried, from " +
                            std::to_string(sizes.tried.begin()->first) + " to " +
                            std::to_string(sizes.tried.rbegin()->first) + ".\n";
  if (failing.size() == 1 && passing.size() > 1)
    return "Fails for N = " + sizes_text(failing) + " alone" + where + ", of" + tried;
  if (sizes.rule) return "Fails iff " + sizes.rule->text() + where + ": holds for" + tried;
  return "Fails for N in {" + sizes_text(failing) + "} and passes for N in {" + sizes_text(passing) + "}" +
         where + "; other sizes were not tried.\n";
}

// One line for all axes of which no rule can be stated.
std::string data_line(const Neighbours& neighbours) {
  std::vector<std::string> axes;
  for (const SizeNeighbours& sizes : neighbours.sizes) {
    if (sizes.depends_on_data) axes.push_back(axes_text(sizes));
  }
  return axes.empty() ? "" : "Which sizes of " + list_text(axes) + " fail depends on the data.\n";
}

std::string magnitude_line(const MagnitudeRule& rule) {
  return "Fails iff " + rule.text() + " (" + short_number(rule.here) + " here), where '" + rule.input +
         "' is scaled: holds for all " + std::to_string(rule.tried.size()) + " magnitudes tried, from " +
         short_number(rule.tried.begin()->first) + " to " + short_number(rule.tried.rbegin()->first) + ".\n";
}

// Than dtypes.
bool has_others(const Neighbours& neighbours) {
  return std::any_of(neighbours.choices.begin(), neighbours.choices.end(),
                     [](const ChoiceNeighbours& choices) { return !choices.what.starts_with("dtype"); });
}

bool some_not_applied(const Neighbours& neighbours) {
  const auto some = [](const auto& of) { return !of.not_applied.empty(); };
  return std::any_of(neighbours.sizes.begin(), neighbours.sizes.end(), some) ||
         std::any_of(neighbours.choices.begin(), neighbours.choices.end(), some);
}

// Where nothing passes.
std::string all_fail_line(const Neighbours& neighbours) {
  if (!neighbours.exhausted)
    return std::string("Fails with every size") +
           (has_others(neighbours) ? ", dtype, attribute and op" : " and dtype") + " that was tried" +
           (some_not_applied(neighbours) ? " and for which the failing rewrite is applied.\n" : ".\n");
  std::string tried;
  const auto add = [&](const std::string& what) { tried += (tried.empty() ? "" : "; ") + what; };
  std::map<std::string, std::vector<std::string>> axes;  // by the sizes tried
  for (const SizeNeighbours& sizes : neighbours.sizes)
    axes[sizes_text(sizes_that(sizes.tried, true))].push_back(axes_text(sizes));
  for (const auto& [tried_sizes, names] : axes) add("sizes " + tried_sizes + " of " + list_text(names));
  for (const ChoiceNeighbours& choices : neighbours.choices) {
    if (!choices.failing.empty()) add(choices.what + " " + list_text(choices.failing));
  }
  return tried.empty() ? "" : "Fails with all that was tried: " + tried + ".\n";
}

}  // namespace

std::string neighbours_summary(const Neighbours& neighbours) {
  std::string text;
  for (const SizeNeighbours& sizes : neighbours.sizes) text += size_line(sizes);
  text += data_line(neighbours);
  for (const MagnitudeRule& rule : neighbours.magnitudes) text += magnitude_line(rule);
  for (const ChoiceNeighbours& choices : neighbours.choices) {
    if (choices.passing.empty()) continue;
    text += "Passes with " + choices.what + " " + list_text(choices.passing) + " instead of " +
            choices.value + (choices.failing.empty() ? "" : ", fails with " + list_text(choices.failing)) +
            ".\n";
  }
  if (text.empty() && neighbours.queries > 0) text = all_fail_line(neighbours);
  if (neighbours.exhausted && (neighbours.queries > 0 || !neighbours.untried.empty()))
    text +=
        "Not all neighbours were tried: the limit on cases or time was reached" +
        (neighbours.untried.empty() ? "" : "; left out or not complete: " + list_text(neighbours.untried)) +
        ".\n";
  return text;
}

std::string neighbours_markdown(const Neighbours& neighbours) {
  Table table({"changed", "here", "fails", "passes", "rewrite not applied", "nearest that passes"});
  for (const SizeNeighbours& sizes : neighbours.sizes) {
    const auto nearest = sizes.nearest_passing();
    table.add({axes_text(sizes), std::to_string(sizes.size), sizes_text(sizes_that(sizes.tried, true)),
               sizes_text(sizes_that(sizes.tried, false)),
               sizes_text({sizes.not_applied.begin(), sizes.not_applied.end()}),
               nearest ? std::to_string(*nearest) : ""});
  }
  for (const MagnitudeRule& rule : neighbours.magnitudes)
    table.add({"max |" + rule.input + "|", short_number(rule.here), rule.text(), "others", "", ""});
  for (const ChoiceNeighbours& choices : neighbours.choices) {
    table.add({choices.what, choices.value, list_text(choices.failing), list_text(choices.passing),
               list_text(choices.not_applied), choices.passing.empty() ? "" : choices.passing.front()});
  }
  std::string text =
      "Each neighbour differs from the case in one size, dtype, attribute or op, or in the magnitude of an "
      "input (" +
      counted(neighbours.queries, "case") + " judged in " + short_number(neighbours.seconds) + " s).\n\n" +
      neighbours_summary(neighbours);
  return table.empty() ? text : text + "\n" + table.markdown();
}

Json to_json(const Neighbours& neighbours) {
  Json json = {{"sizes", Json::array()},
               {"magnitudes", Json::array()},
               {"choices", Json::array()},
               {"queries", neighbours.queries},
               {"exhausted", neighbours.exhausted},
               {"untried", neighbours.untried},
               {"summary", neighbours_summary(neighbours)}};
  for (const SizeNeighbours& sizes : neighbours.sizes) {
    const auto nearest = sizes.nearest_passing();
    json["sizes"].push_back({{"axes", sizes.axes},
                             {"size", sizes.size},
                             {"failing", sizes_that(sizes.tried, true)},
                             {"passing", sizes_that(sizes.tried, false)},
                             {"not_applied", sizes.not_applied},
                             {"nearest_passing", nearest ? Json(*nearest) : Json()},
                             {"fails_iff", sizes.rule ? sizes.rule->text() : ""},
                             {"depends_on_data", sizes.depends_on_data}});
  }
  for (const MagnitudeRule& rule : neighbours.magnitudes)
    json["magnitudes"].push_back({{"input", rule.input},
                                  {"here", rule.here},
                                  {"tried", rule.tried.size()},
                                  {"fails_iff", rule.text()}});
  for (const ChoiceNeighbours& choices : neighbours.choices) {
    json["choices"].push_back({{"what", choices.what},
                               {"value", choices.value},
                               {"failing", choices.failing},
                               {"passing", choices.passing},
                               {"not_applied", choices.not_applied}});
  }
  return json;
}

}  // namespace fusesmith::fuzz
