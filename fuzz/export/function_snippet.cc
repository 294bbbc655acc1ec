#include "fuzz/export/function_snippet.h"

#include <algorithm>
#include <filesystem>

#include "fuzz/export/snippet_parts.h"
#include "fuzz/export/torch_ops.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

// A library of tensors: `make`(list, dtype) makes one, and the dtypes are attributes of `dtypes`.
struct Library {
  std::string imports, make, dtype_prefix;
};

Library library_of(const std::string& libraries) {
  const auto has = [&](const char* name) { return libraries.find(name) != std::string::npos; };
  if (has("torch ")) return {"import torch\n", "torch.tensor", "torch."};
  if (has("jax ")) return {"import jax.numpy as jnp\n", "jnp.array", "jnp."};
  return {"import numpy as np\n", "np.array", "np."};
}

// A dtype in jax.numpy, and in numpy with ml_dtypes.
std::string dtype_text(const Library& library, Dtype dtype) {
  if (library.dtype_prefix == "torch.") return std::string(torch_dtype(dtype));
  const std::string lacked_by_numpy = library.dtype_prefix == "np." ? "ml_dtypes." : library.dtype_prefix;
  switch (dtype) {
    case Dtype::f32:
      return library.dtype_prefix + "float32";
    case Dtype::f16:
      return library.dtype_prefix + "float16";
    case Dtype::bf16:
      return lacked_by_numpy + "bfloat16";
    case Dtype::i32:
      return library.dtype_prefix + "int32";
    case Dtype::boolean:
      return library.dtype_prefix + "bool_";
    case Dtype::f8e4m3:
      return lacked_by_numpy + "float8_e4m3fn";
    case Dtype::f8e5m2:
      return lacked_by_numpy + "float8_e5m2";
    case Dtype::f8e8m0:
      return lacked_by_numpy + "float8_e8m0fnu";
    case Dtype::f4e2m1:
      return lacked_by_numpy + "float4_e2m1fn";
    case Dtype::s8:
      return library.dtype_prefix + "int8";
    case Dtype::s4:
      return lacked_by_numpy + "int4";
  }
  return "";
}

bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !is_letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// "from my_softmax import softmax"; of a dotted name, its first part. Empty where that is no identifier.
std::string import_text(const std::string& file, const std::string& name) {
  const std::string stem = std::filesystem::path(file).stem().string();
  const std::string first = name.substr(0, name.find('.'));
  return is_identifier(stem) && is_identifier(first) ? "from " + stem + " import " + first + "\n" : "";
}

std::string literal_text(const Library& library, const std::string& name, const Tensor& tensor) {
  const bool reshaped = tensor.type.shape.size() != 1 || tensor.size() == 0;
  return name + " = " + library.make + "(" + elements_list(tensor) + ", " +
         (library.dtype_prefix == "torch." ? "dtype=" : "") + dtype_text(library, tensor.type.dtype) + ")" +
         (reshaped ? ".reshape(" + python_shape(tensor.type.shape) + ")" : "") + "\n";
}

}  // namespace

std::string function_snippet(const Case& test_case, const std::string& function, const SnippetFacts& facts) {
  constexpr std::string_view kTaken[] = {"torch", "jnp", "np", "ml_dtypes", "inf", "nan"};
  for (ValueId source = 0; source < test_case.graph.source_count(); ++source)
    if (test_case.graph.layout(source)) return "";
  const size_t colon = function.rfind(':');
  if (colon == std::string::npos) return "";
  const std::string name = function.substr(colon + 1), import = import_text(function.substr(0, colon), name);
  std::vector<std::string_view> taken(std::begin(kTaken), std::end(kTaken));
  const std::string first = name.substr(0, name.find('.'));
  taken.emplace_back(first);
  const Identifiers names(test_case.graph, taken_in_script(taken));
  const auto sources = snippet_sources(test_case, names);
  if (import.empty() || !sources) return "";
  const Library library = library_of(facts.libraries);
  const auto literals = [&](const SnippetSources& of) {
    std::string text;
    for (size_t i = 0; i < of.tensors.size(); ++i) text += literal_text(library, of.names[i], of.tensors[i]);
    return text;
  };
  const std::string call = "print(" + name + "(" + comma_separated(sources->names) + "))\n";
  const auto replaced = replaced_sources(test_case, *sources);
  std::string lines = literals(*sources) + call;
  if (replaced) lines += "# " + replaced->change + ":\n" + literals(replaced->sources) + call;
  const bool needs_bf16 = lines.find("ml_dtypes.") != std::string::npos;
  std::string imports = snippet_imports(*sources, facts);
  if (imports.empty() && replaced) imports = snippet_imports(replaced->sources, facts);
  std::string text =
      imports + (needs_bf16 ? "import ml_dtypes\n" : "") + library.imports + import + "\n" + lines;
  if (facts.element)
    text += "# " + names.of(facts.element->value) + place_of(test_case.graph, *facts.element) + " is " +
            number_text(facts.element->got) + "; " + lawful_text(*facts.element) + "\n";
  return text;
}

}  // namespace fusesmith::fuzz
