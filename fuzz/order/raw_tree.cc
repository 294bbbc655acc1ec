#include "fuzz/order/raw_tree.h"

#include <algorithm>

namespace fusesmith::fuzz {
namespace {

struct Chain {
  std::vector<int> children;
  std::vector<int64_t> terms;
  int64_t group = 1;
  bool rounds_products = false;
  bool closed = false;  // its last operation has fewer terms
  int64_t smallest = 0;
};

std::vector<TermRun> runs_of(const std::vector<int64_t>& terms) {
  std::vector<TermRun> runs;
  for (size_t i = 0; i < terms.size();) {
    TermRun run{terms[i], 1, 1};
    if (i + 1 < terms.size()) run.step = terms[i + 1] - terms[i];
    while (i + static_cast<size_t>(run.count) < terms.size() &&
           terms[i + static_cast<size_t>(run.count)] == run.first + run.count * run.step)
      ++run.count;
    if (run.count == 1) run.step = 1;
    i += static_cast<size_t>(run.count);
    runs.push_back(run);
  }
  return runs;
}

class Compression {
 public:
  explicit Compression(const std::vector<ProductUse>& uses) : uses_(uses) {}

  // The chain that ends with this operation.
  int add(const RawTree::Node& node, const std::vector<int>& children) {
    std::vector<int64_t> terms = node.terms;
    std::sort(terms.begin(), terms.end());
    if (children.size() == 1 && !terms.empty() && extend(children[0], terms)) return children[0];
    return begin(children, std::move(terms));
  }

  SumTree tree(int root) const {
    SumTree tree;
    std::vector<int> place(chains_.size(), -1);
    std::vector<std::pair<int, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      const auto [at, visited] = stack.back();
      stack.pop_back();
      const Chain& chain = chains_[static_cast<size_t>(at)];
      if (!visited) {
        stack.emplace_back(at, true);
        for (size_t i = chain.children.size(); i-- > 0;) stack.emplace_back(chain.children[i], false);
        continue;
      }
      SumNode node{{}, runs_of(chain.terms), chain.group, chain.rounds_products};
      for (const int child : chain.children) node.children.push_back(place[static_cast<size_t>(child)]);
      place[static_cast<size_t>(at)] = static_cast<int>(tree.nodes.size());
      tree.nodes.push_back(std::move(node));
    }
    return tree;
  }

 private:
  bool rounded(int64_t term) const { return uses_[static_cast<size_t>(term)].rounded; }

  bool extend(int child, const std::vector<int64_t>& terms) {
    Chain& chain = chains_[static_cast<size_t>(child)];
    const auto count = static_cast<int64_t>(terms.size());
    if (chain.closed || chain.terms.empty() || chain.rounds_products != (count == 1 && rounded(terms[0])))
      return false;
    const bool is_pair = chain.children.empty() && chain.group == 1 && chain.terms.size() == 2;
    if (is_pair && count == 2) chain.group = 2;
    if (count > chain.group) return false;
    chain.closed = count < chain.group;
    chain.terms.insert(chain.terms.end(), terms.begin(), terms.end());
    chain.smallest = std::min(chain.smallest, terms[0]);
    return true;
  }

  int begin(const std::vector<int>& children, std::vector<int64_t> terms) {
    Chain chain;
    chain.children = children;
    std::sort(chain.children.begin(), chain.children.end(), [&](int a, int b) {
      return chains_[static_cast<size_t>(a)].smallest < chains_[static_cast<size_t>(b)].smallest;
    });
    chain.smallest = terms.empty() ? chains_[static_cast<size_t>(chain.children[0])].smallest : terms[0];
    for (const int child : children)
      chain.smallest = std::min(chain.smallest, chains_[static_cast<size_t>(child)].smallest);
    const size_t operands = children.size() + terms.size();
    chain.group = operands <= 2 ? 1 : std::max<int64_t>(1, static_cast<int64_t>(terms.size()));
    if (operands == 2 && !terms.empty()) chain.rounds_products = rounded(terms.back());
    // A product that is rounded although the other one is not was there first.
    if (terms.size() == 2 && operands == 2 && rounded(terms[1]) && !rounded(terms[0])) {
      std::swap(terms[0], terms[1]);
      chain.rounds_products = false;
    }
    chain.terms = std::move(terms);
    chains_.push_back(std::move(chain));
    return static_cast<int>(chains_.size()) - 1;
  }

  const std::vector<ProductUse>& uses_;
  std::vector<Chain> chains_;
};

}  // namespace

std::vector<int> bottom_up(const RawTree& tree) {
  std::vector<int> order, stack = {tree.root};
  while (!stack.empty()) {
    order.push_back(stack.back());
    stack.pop_back();
    for (const int child : tree.nodes[static_cast<size_t>(order.back())].nodes) stack.push_back(child);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

SumTree compress(const RawTree& tree, const std::vector<ProductUse>& uses) {
  Compression compression(uses);
  std::vector<int> chain_of(tree.nodes.size(), -1);
  for (const int at : bottom_up(tree)) {
    const RawTree::Node& node = tree.nodes[static_cast<size_t>(at)];
    std::vector<int> children;
    for (const int child : node.nodes) children.push_back(chain_of[static_cast<size_t>(child)]);
    chain_of[static_cast<size_t>(at)] = compression.add(node, children);
  }
  return compression.tree(chain_of[static_cast<size_t>(tree.root)]);
}

RawTree expand(const SumTree& tree) {
  RawTree raw;
  std::vector<int> last(tree.nodes.size());  // the last operation of each node
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const SumNode& node = tree.nodes[i];
    const std::vector<int64_t> terms = node.term_list();
    RawTree::Node operation;
    for (const int child : node.children) operation.nodes.push_back(last[static_cast<size_t>(child)]);
    auto at = static_cast<size_t>(node.first_terms());
    operation.terms.assign(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(at));
    raw.nodes.push_back(std::move(operation));
    while (at < terms.size()) {
      const size_t end = std::min(terms.size(), at + static_cast<size_t>(node.group));
      RawTree::Node next;
      next.nodes = {static_cast<int>(raw.nodes.size()) - 1};
      next.terms.assign(terms.begin() + static_cast<std::ptrdiff_t>(at),
                        terms.begin() + static_cast<std::ptrdiff_t>(end));
      raw.nodes.push_back(std::move(next));
      at = end;
    }
    last[i] = static_cast<int>(raw.nodes.size()) - 1;
  }
  raw.root = static_cast<int>(raw.nodes.size()) - 1;
  return raw;
}

}  // namespace fusesmith::fuzz
