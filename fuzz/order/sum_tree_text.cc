// A summation tree as a sentence.
#include <algorithm>
#include <map>

#include "fuzz/order/sum_tree.h"

namespace fusesmith::fuzz {
namespace {

std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_join(const SumNode& node) { return node.terms.empty(); }

std::string chain_text(const SumNode& node) {
  const int64_t count = node.term_count();
  if (count == 1) return "single term";
  if (node.group == 1) return "chain of " + counted(count, "term");
  const int64_t groups = (count + node.group - 1) / node.group, rest = count % node.group;
  if (groups == 1) return "group of " + counted(count, "term");
  return "chain of " + counted(groups, "group") + " of " + std::to_string(node.group) + " terms" +
         (rest == 0 ? "" : ", the last of " + std::to_string(rest));
}

class Describing {
 public:
  explicit Describing(const SumTree& tree) : tree_(tree), shapes_(tree.nodes.size()) {
    std::vector<bool> named(tree.nodes.size(), true);  // joins of joins are described with them
    for (const SumNode& node : tree.nodes) {
      for (const int child : node.children)
        named[static_cast<size_t>(child)] = !is_join(node) || !is_join(at(child));
    }
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      if (named[i]) shapes_[i] = shortened(shape(tree.nodes[i]));
    }
  }
  std::string text() const { return shapes_.back(); }

 private:
  const SumNode& at(int node) const { return tree_.nodes[static_cast<size_t>(node)]; }

  // The parts below the joins that end with this one, from left to right.
  std::vector<int> parts_of(int node) const {
    std::vector<int> parts, stack = {node};
    while (!stack.empty()) {
      const int top = stack.back();
      stack.pop_back();
      if (!is_join(at(top)))
        parts.push_back(top);
      else
        stack.insert(stack.end(), at(top).children.rbegin(), at(top).children.rend());
    }
    return parts;
  }

  // How the joins add `count` parts.
  std::string joining(const SumNode& root, size_t count) const {
    if (count == 2 || root.children.size() == count) return count == 2 ? "added" : "added at once";
    const SumNode* node = &root;
    size_t steps = 1;
    for (; node->children.size() == 2 && is_join(at(node->children[0])) && !is_join(at(node->children[1]));
         node = &at(node->children[0]))
      ++steps;
    if (steps + 1 == count) return "added one after the other";
    const size_t height = join_height(root);
    if ((size_t{1} << height) == count) return "added pairwise";
    return "added in a tree of height " + std::to_string(height);
  }

  size_t join_height(const SumNode& root) const {
    std::map<const SumNode*, size_t> heights;
    std::vector<const SumNode*> order = {&root};
    for (size_t i = 0; i < order.size(); ++i) {
      for (const int child : order[i]->children) {
        if (is_join(at(child))) order.push_back(&at(child));
      }
    }
    for (size_t i = order.size(); i-- > 0;) {
      size_t height = 0;
      for (const int child : order[i]->children) height = std::max(height, heights[&at(child)]);
      heights[order[i]] = height + 1;
    }
    return heights[&root];
  }

  // Whether the parts are leaf chains whose terms lie `parts` apart.
  bool interleaved(const std::vector<int>& parts) const {
    return parts.size() > 1 && std::all_of(parts.begin(), parts.end(), [&](int part) {
             const SumNode& node = at(part);
             return node.children.empty() && node.group == 1 && node.terms.size() == 1 &&
                    (node.terms[0].count == 1 || node.terms[0].step >= static_cast<int64_t>(parts.size()));
           });
  }

  std::string shape(const SumNode& node) const {
    if (!is_join(node)) {
      std::string text = chain_text(node);
      if (node.children.empty()) return text;
      text += ", added to ";
      for (size_t i = 0; i < node.children.size(); ++i)
        text += (i == 0 ? "(" : " and (") + shapes_[static_cast<size_t>(node.children[i])] + ")";
      return text;
    }
    std::vector<int> parts;
    for (const int child : node.children) {
      const std::vector<int> more = parts_of(child);
      parts.insert(parts.end(), more.begin(), more.end());
    }
    return kinds(parts) + ", " + joining(node, parts.size());
  }

  std::string kinds(const std::vector<int>& parts) const {
    std::map<std::string, int64_t> count;
    std::vector<std::string> order;
    for (const int part : parts) {
      const std::string& text = shapes_[static_cast<size_t>(part)];
      if (count[text]++ == 0) order.push_back(text);
    }
    const std::string how = interleaved(parts) ? "interleaved " : "";
    std::string text;
    for (size_t i = 0; i < order.size() && i < kMostKinds; ++i) {
      const int64_t n = count[order[i]];
      text += (i == 0 ? "" : " and ") + std::to_string(n) + " " + (n > 1 ? how + plural(order[i]) : order[i]);
    }
    if (order.size() > kMostKinds)
      text += " and parts of " + counted(static_cast<int64_t>(order.size() - kMostKinds), "other shape");
    return text;
  }

  static std::string plural(std::string text) {
    for (const char* word : {"chain", "single term", "group"}) {
      if (!text.starts_with(word)) continue;
      const std::string_view noun = word;
      return text.insert(noun.size(), "s");
    }
    return text;
  }

  static std::string shortened(std::string text) {
    if (text.size() > kLongest) text.replace(kLongest, text.size() - kLongest, "...");
    return text;
  }

  static constexpr size_t kMostKinds = 3, kLongest = 300;
  const SumTree& tree_;
  std::vector<std::string> shapes_;
};

}  // namespace

std::string to_string(const SumTree& tree) {
  if (tree.nodes.empty()) return "no terms";
  const std::string text = Describing(tree).text();
  return is_join(tree.nodes.back()) ? text : "a " + text;
}

}  // namespace fusesmith::fuzz
