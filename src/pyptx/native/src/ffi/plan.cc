#include "plan.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace pyptx {
namespace {

using Problem = std::optional<std::string>;

constexpr int kMaxStack = 32;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  for (;;) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <typename T>
bool ParseInteger(std::string_view text, T* value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

constexpr std::pair<std::string_view, Step::Op> kOperators[] = {
    {"+", Step::Op::kAdd},       {"-", Step::Op::kSub},     {"*", Step::Op::kMul},
    {"//", Step::Op::kFloorDiv}, {"cdiv", Step::Op::kCeilDiv}, {"min", Step::Op::kMin},
    {"max", Step::Op::kMax},
};

// `a0.1` is dimension 1 of input 0, `r0.1` of output 0.
bool ParseDimension(std::string_view token, Step* step) {
  size_t dot = token.find('.');
  if (dot == std::string_view::npos || (token[0] != 'a' && token[0] != 'r')) return false;
  step->op = Step::Op::kDimension;
  step->output = token[0] == 'r';
  return ParseInteger(token.substr(1, dot - 1), &step->buffer) &&
         ParseInteger(token.substr(dot + 1), &step->axis) && step->buffer >= 0 && step->axis >= 0;
}

bool ParseStep(std::string_view token, Step* step, bool* binary) {
  for (const auto& [name, op] : kOperators) {
    if (token != name) continue;
    step->op = op;
    *binary = true;
    return true;
  }
  *binary = false;
  if (token.empty()) return false;
  if (ParseDimension(token, step)) return true;
  step->op = Step::Op::kConstant;
  return ParseInteger(token, &step->constant);
}

Problem ParseExpression(std::string_view text, Expression* expression) {
  int depth = 0;
  for (std::string_view token : Split(text, ' ')) {
    Step step{};
    bool binary = false;
    if (!ParseStep(token, &step, &binary)) return "bad token " + Quoted(token) + " in its plan";
    depth += binary ? -1 : 1;
    if (depth < 1 || depth > kMaxStack) break;
    expression->push_back(step);
  }
  if (depth != 1) return "bad expression " + Quoted(text) + " in its plan";
  return {};
}

Problem ParseTriple(std::string_view text, std::array<uint32_t, 3>* values) {
  auto parts = Split(text, ',');
  if (parts.size() != 3) return "bad triple " + Quoted(text) + " in its plan";
  for (size_t i = 0; i < 3; ++i) {
    if (!ParseInteger(parts[i], &(*values)[i]) || (*values)[i] == 0) {
      return "bad triple " + Quoted(text) + " in its plan";
    }
  }
  return {};
}

Problem ParseGrid(std::string_view text, std::array<Expression, 3>* grid) {
  auto parts = Split(text, ',');
  if (parts.size() != 3) return "bad grid " + Quoted(text) + " in its plan";
  for (size_t i = 0; i < 3; ++i) {
    if (Problem problem = ParseExpression(parts[i], &(*grid)[i])) return problem;
  }
  return {};
}

Problem ParseParameter(std::string_view text, Parameter* parameter) {
  constexpr std::string_view kInteger = "i64:";
  if (text.substr(0, kInteger.size()) == kInteger) {
    parameter->kind = Parameter::Kind::kInteger;
    return ParseExpression(text.substr(kInteger.size()), &parameter->expression);
  }
  constexpr std::pair<char, Parameter::Kind> kKinds[] = {
      {'a', Parameter::Kind::kInputAddress},
      {'r', Parameter::Kind::kOutputAddress},
      {'v', Parameter::Kind::kInputValue},
  };
  for (const auto& [letter, kind] : kKinds) {
    if (text.empty() || text[0] != letter) continue;
    parameter->kind = kind;
    if (ParseInteger(text.substr(1), &parameter->index) && parameter->index >= 0) return {};
  }
  return "bad parameter " + Quoted(text) + " in its plan";
}

Problem ParseParameters(std::string_view text, std::vector<Parameter>* parameters) {
  for (std::string_view part : Split(text, ',')) {
    Parameter parameter{};
    if (Problem problem = ParseParameter(part, &parameter)) return problem;
    parameters->push_back(std::move(parameter));
  }
  return {};
}

// Shapes are `[16 512],[? 512],[]`.
Problem ParseShapes(std::string_view text, std::vector<Shape>* shapes) {
  for (std::string_view part : Split(text, ',')) {
    if (part.size() < 2 || part.front() != '[' || part.back() != ']') {
      return "bad shape " + Quoted(part) + " in its plan";
    }
    Shape shape;
    for (std::string_view extent : Split(part.substr(1, part.size() - 2), ' ')) {
      int64_t value = kAnyExtent;
      if (extent != "?" && (!ParseInteger(extent, &value) || value < 0)) {
        return "bad shape " + Quoted(part) + " in its plan";
      }
      shape.push_back(value);
    }
    shapes->push_back(std::move(shape));
  }
  return {};
}

Problem ParseField(std::string_view name, std::string_view value, Plan* plan) {
  if (name == "kernel") {
    plan->kernel = std::string(value);
    return {};
  }
  if (name == "grid") return ParseGrid(value, &plan->grid);
  if (name == "block") return ParseTriple(value, &plan->block);
  if (name == "cluster") return ParseTriple(value, &plan->cluster);
  if (name == "shared") return ParseExpression(value, &plan->shared);
  if (name == "params") return ParseParameters(value, &plan->parameters);
  if (name == "inputs") return ParseShapes(value, &plan->inputs);
  if (name == "outputs") return ParseShapes(value, &plan->outputs);
  return "unknown field " + Quoted(name) + " in its plan";
}

Problem CheckExpression(const Plan& plan, const Expression& expression) {
  for (const Step& step : expression) {
    if (step.op != Step::Op::kDimension) continue;
    const auto& shapes = step.output ? plan.outputs : plan.inputs;
    if (size_t(step.buffer) >= shapes.size() || size_t(step.axis) >= shapes[step.buffer].size()) {
      return "its plan names a dimension that no buffer has";
    }
  }
  return {};
}

Problem CheckParameter(const Plan& plan, const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kInteger) {
    return CheckExpression(plan, parameter.expression);
  }
  const auto& shapes =
      parameter.kind == Parameter::Kind::kOutputAddress ? plan.outputs : plan.inputs;
  if (size_t(parameter.index) >= shapes.size()) return "its plan names a buffer that does not exist";
  return {};
}

// After this every index in the plan is inside `inputs` and `outputs`, so that a call whose shapes
// pass CheckShapes can be evaluated without further bounds checks.
Problem CheckIndices(const Plan& plan) {
  for (const Expression& expression : plan.grid) {
    if (Problem problem = CheckExpression(plan, expression)) return problem;
  }
  if (Problem problem = CheckExpression(plan, plan.shared)) return problem;
  for (const Parameter& parameter : plan.parameters) {
    if (Problem problem = CheckParameter(plan, parameter)) return problem;
  }
  return {};
}

enum class Arithmetic { kOk, kOverflow, kDivisionByZero };

Arithmetic Divide(bool up, int64_t a, int64_t b, int64_t* result) {
  if (b == 0) return Arithmetic::kDivisionByZero;
  if (b == -1 && a == std::numeric_limits<int64_t>::min()) return Arithmetic::kOverflow;
  // C++ rounds towards zero; a remainder says that the exact quotient lies on one side of it.
  bool negative = (a < 0) != (b < 0);
  int64_t away = a % b == 0 ? 0 : negative ? (up ? 0 : -1) : (up ? 1 : 0);
  *result = a / b + away;
  return Arithmetic::kOk;
}

Arithmetic Apply(Step::Op op, int64_t a, int64_t b, int64_t* result) {
  auto checked = [](bool overflow) { return overflow ? Arithmetic::kOverflow : Arithmetic::kOk; };
  switch (op) {
    case Step::Op::kAdd: return checked(__builtin_add_overflow(a, b, result));
    case Step::Op::kSub: return checked(__builtin_sub_overflow(a, b, result));
    case Step::Op::kMul: return checked(__builtin_mul_overflow(a, b, result));
    case Step::Op::kFloorDiv: return Divide(false, a, b, result);
    case Step::Op::kCeilDiv: return Divide(true, a, b, result);
    case Step::Op::kMin: *result = std::min(a, b); return Arithmetic::kOk;
    default: *result = std::max(a, b); return Arithmetic::kOk;
  }
}

Problem Evaluate(const Expression& expression, const Buffers& buffers, const char* what, int64_t* out) {
  int64_t stack[kMaxStack];
  int depth = 0;
  for (const Step& step : expression) {
    if (step.op == Step::Op::kConstant) {
      stack[depth++] = step.constant;
    } else if (step.op == Step::Op::kDimension) {
      stack[depth++] = (step.output ? buffers.outputs : buffers.inputs)[step.buffer].dims[step.axis];
    } else {
      int64_t b = stack[--depth];
      switch (Apply(step.op, stack[depth - 1], b, &stack[depth - 1])) {
        case Arithmetic::kOk: break;
        case Arithmetic::kOverflow: return std::string(what) + " does not fit 64 bits";
        case Arithmetic::kDivisionByZero: return std::string(what) + " divides by zero";
      }
    }
  }
  *out = stack[0];
  return {};
}

Problem CheckGrid(const Plan& plan, const std::array<int64_t, 3>& grid) {
  constexpr int64_t kLimits[] = {0x7fffffff, 65535, 65535};
  for (size_t i = 0; i < 3; ++i) {
    if (grid[i] < 0 || grid[i] > kLimits[i]) {
      return std::string("grid dimension ") + "xyz"[i] + " is " + std::to_string(grid[i]) +
             "; the range is 0 to " + std::to_string(kLimits[i]);
    }
    if (grid[i] % plan.cluster[i] != 0) {
      return std::string("grid dimension ") + "xyz"[i] + " is " + std::to_string(grid[i]) +
             ", not a multiple of the cluster's " + std::to_string(plan.cluster[i]);
    }
  }
  return {};
}

Problem CheckShapesOf(const std::vector<Shape>& expected, const BufferView* buffers, int count,
                      const char* what) {
  if (size_t(count) != expected.size()) {
    return "it takes " + std::to_string(expected.size()) + " " + what + "s and got " +
           std::to_string(count);
  }
  for (int i = 0; i < count; ++i) {
    const Shape& shape = expected[i];
    bool same = size_t(buffers[i].rank) == shape.size();
    for (size_t axis = 0; same && axis < shape.size(); ++axis) {
      same = shape[axis] == kAnyExtent || shape[axis] == buffers[i].dims[axis];
    }
    if (same) continue;
    return std::string(what) + " " + std::to_string(i) + " has shape " +
           ShapeText(buffers[i].dims, buffers[i].rank) + "; the kernel was made for " +
           ShapeText(shape.data(), shape.size());
  }
  return {};
}

}  // namespace

std::string ShapeText(const int64_t* dims, size_t rank) {
  std::string text = "(";
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0) text += ", ";
    text += dims[i] == kAnyExtent ? "?" : std::to_string(dims[i]);
  }
  return text + (rank == 1 ? ",)" : ")");
}

std::optional<std::string> ParsePlan(std::string_view text, Plan* plan) {
  for (std::string_view field : Split(text, ';')) {
    size_t equals = field.find('=');
    if (equals == std::string_view::npos) return "bad field " + Quoted(field) + " in its plan";
    Problem problem = ParseField(field.substr(0, equals), field.substr(equals + 1), plan);
    if (problem) return problem;
  }
  if (plan->kernel.empty() || plan->grid[0].empty() || plan->shared.empty()) {
    return "its plan lacks the kernel's name, the grid or the shared memory";
  }
  return CheckIndices(*plan);
}

std::optional<std::string> CheckShapes(const Plan& plan, const Buffers& buffers) {
  Problem problem = CheckShapesOf(plan.inputs, buffers.inputs, buffers.input_count, "input");
  if (problem) return problem;
  return CheckShapesOf(plan.outputs, buffers.outputs, buffers.output_count, "output");
}

std::optional<std::string> EvaluateLaunch(const Plan& plan, const Buffers& buffers, Launch* launch) {
  for (size_t i = 0; i < 3; ++i) {
    if (Problem problem = Evaluate(plan.grid[i], buffers, "the grid", &launch->grid[i])) return problem;
  }
  if (Problem problem = CheckGrid(plan, launch->grid)) return problem;
  if (Problem problem = Evaluate(plan.shared, buffers, "the shared memory", &launch->shared)) {
    return problem;
  }
  if (launch->shared < 0 || launch->shared > 0x7fffffff) {
    return "the dynamic shared memory is " + std::to_string(launch->shared) + " bytes";
  }
  launch->integers.assign(plan.parameters.size(), 0);
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    if (plan.parameters[i].kind != Parameter::Kind::kInteger) continue;
    Problem problem = Evaluate(plan.parameters[i].expression, buffers, "an integer argument",
                               &launch->integers[i]);
    if (problem) return problem;
  }
  return {};
}

}  // namespace pyptx
