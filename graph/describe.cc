#include "graph/describe.h"

#include <nlohmann/json.hpp>

#include "graph/attribute_info.h"
#include "graph/case.h"
#include "graph/formula.h"
#include "graph/json_fields.h"

namespace fusesmith::graph {
namespace {

using nlohmann::ordered_json;

std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string attribute_cell(const AttributeInfo& a) {
  std::string text = "`" + a.name + "` " + a.type;
  if (!a.range_text.empty()) text += " " + a.range_text;
  for (size_t i = 0; i < a.values.size(); ++i) text += (i ? ", `" : " `") + a.values[i] + "`";
  if (!a.meaning.empty()) text += ", " + a.meaning;
  return text + (a.required ? "; required" : "; default `" + a.default_value + "`");
}

std::string attributes_cell(const std::vector<AttributeInfo>& attributes) {
  std::string text;
  for (const AttributeInfo& a : attributes) text += (text.empty() ? "" : "<br>") + attribute_cell(a);
  return cell(text);
}

std::string count_text(int min, int max) {
  return std::to_string(min) + (max == min ? "" : " to " + std::to_string(max));
}

ordered_json op_json(const OpInfo& about, const std::vector<AttributeInfo>& attributes) {
  ordered_json op = {{"name", about.name},
                     {"doc", about.doc},
                     {"inputs", {about.min_inputs, about.max_inputs}},
                     {"class", kOpClasses[static_cast<size_t>(about.op_class)]},
                     {"attributes", ordered_json::array()}};
  for (const AttributeInfo& a : attributes) {
    ordered_json attribute = {{"name", a.name}, {"type", a.type}};
    if (!a.lo.empty()) attribute["range"] = {ordered_json::parse(a.lo), ordered_json::parse(a.hi)};
    if (!a.values.empty()) attribute["choices"] = a.values;
    if (!a.meaning.empty()) attribute["meaning"] = a.meaning;
    if (!a.required) attribute["default"] = ordered_json::parse(a.default_value);
    attribute["required"] = a.required;
    op["attributes"].push_back(attribute);
  }
  return op;
}

}  // namespace

std::string op_table_markdown() {
  std::string text =
      "# Ops\n\nThis file is written by graph_test with `FUSESMITH_UPDATE_GOLDEN=1` from the declarations "
      "in\n"
      "`graph/ops/`. Every op computes in f32 from its stored inputs and rounds once to the dtype of its "
      "output.\n"
      "Ops of the classes movement and select do not round.\n\n"
      "Unless the table says otherwise, the result is NaN if an input element is NaN, and an infinity if the "
      "rounded\n"
      "result is beyond the range of the dtype. Ops of class movement preserve every bit, including NaN, "
      "subnormals\n"
      "and the sign of zero. Ops of class select preserve values, including subnormals. In all other ops, "
      "results\n"
      "that underflow may have an error of 2^-126, and zeros may have either sign.\n\n"
      "| op | inputs | class | attributes | what it computes |\n|---|---|---|---|---|\n";
  for_each_op([&]<class T>(std::type_identity<T>) {
    const OpInfo& about = T::info;
    text += "| `" + std::string(about.name) + "` | " + count_text(about.min_inputs, about.max_inputs) +
            " | " + std::string(kOpClasses[static_cast<size_t>(about.op_class)]) + " | " +
            attributes_cell(attribute_infos<T>()) + " | " + cell(std::string(about.doc)) + " |\n";
  });
  return text;
}

std::string fill_table_markdown() {
  std::string text = "| fill | dtypes | attributes | data |\n|---|---|---|---|\n";
  for_each_alternative<Fill>([&]<class F>(std::type_identity<F>) {
    std::string dtypes;
    for (Dtype dtype : kDtypes) {
      if (serves(Fill{F{}}, dtype)) dtypes += (dtypes.empty() ? "" : ", ") + std::string(name(dtype));
    }
    text += "| `" + std::string(F::name) + "` | " + dtypes + " | " + attributes_cell(attribute_infos<F>()) +
            " | " + cell(std::string(F::doc)) + " |\n";
  });
  return text;
}

namespace {

// The number of outputs of an op, or the name of the attribute that says it.
template <class T>
ordered_json outputs_json() {
  if constexpr (T::outputs == OutputCount::one) {
    return 1;
  } else if constexpr (DefinedOp<T>) {
    Types types;
    for (const Operand& operand : T::operands) types.push_back(operand_type(operand, {Dtype::f32, {2, 2}}));
    return infer(Op(T{}), types)->size();
  } else if constexpr (T::several.attribute.empty()) {
    return T::several.count;
  } else {
    return T::several.attribute;
  }
}

ordered_json spelling_json(const Spelling& spelling) {
  ordered_json names = ordered_json::object();
  if (!spelling.torch.empty()) names["torch"] = spelling.torch;
  if (!spelling.onnx.empty()) names["onnx"] = spelling.onnx;
  if (!spelling.jax.empty()) names["jax"] = spelling.jax;
  return names;
}

ordered_json dtype_rows() {
  ordered_json rows = ordered_json::array();
  for (const Dtype dtype : kDtypes) {
    const DtypeInfo& about = info(dtype);
    rows.push_back({{"name", about.name},
                    {"kind", kDtypeKinds[static_cast<size_t>(about.kind)]},
                    {"bytes", about.bytes},
                    {"precision", about.precision},
                    {"min_exponent", about.min_exponent},
                    {"lowest", about.lowest},
                    {"max_finite", about.max_finite}});
  }
  return rows;
}

}  // namespace

std::string dtypes_json() { return dtype_rows().dump(); }

std::string vocabulary_json() {
  ordered_json spellings = ordered_json::object();
  for_each_op([&]<class T>(std::type_identity<T>) {
    ordered_json names = spelling_json(spelling_of<T>());
    if (!names.empty()) spellings[std::string(T::info.name)] = std::move(names);
  });
  return ordered_json{{"dtypes", dtype_rows()}, {"spellings", spellings}}.dump(1) + "\n";
}

std::string ops_json() {
  ordered_json ops = ordered_json::array();
  for_each_op([&]<class T>(std::type_identity<T>) {
    ops.push_back(op_json(T::info, attribute_infos<T>()));
    if constexpr (DefinedOp<T>) {
      for (const Operand& operand : T::operands)
        ops.back()["operands"].push_back({{"name", operand.name}, {"is_row", operand.is_row}});
    }
    ops.back()["outputs"] = outputs_json<T>();
    ordered_json names = spelling_json(spelling_of<T>());
    if (!names.empty()) ops.back()["spelling"] = std::move(names);
  });
  return ops.dump();
}

}  // namespace fusesmith::graph
