#include "plan.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <utility>

namespace pyptx {
namespace {

using Problem = std::optional<std::string>;

// How many values an expression may hold at once, and what a launch takes of arguments.
constexpr size_t kMaxStack = 32;
constexpr size_t kMaxParameterBytes = 32764;
constexpr int kMaxParameterAlign = 128;

// The values of an expression while it is evaluated. It refuses what does not fit, so that an expression
// which nobody has checked is a problem and not a write past the end.
class Stack {
 public:
  bool Push(int64_t value) {
    if (depth_ == values_.size()) return false;
    values_[depth_++] = value;
    return true;
  }
  bool Pop(int64_t* value) {
    if (depth_ == 0) return false;
    *value = values_[--depth_];
    return true;
  }
  size_t depth() const { return depth_; }

 private:
  std::array<int64_t, kMaxStack> values_;
  size_t depth_ = 0;
};

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

constexpr std::pair<std::string_view, Token::Op> kOperators[] = {
    {"+", Token::Op::kAdd},       {"-", Token::Op::kSub},     {"*", Token::Op::kMul},
    {"//", Token::Op::kFloorDiv}, {"cdiv", Token::Op::kCeilDiv}, {"min", Token::Op::kMin},
    {"max", Token::Op::kMax},
};

// `a0.1` is dimension 1 of input 0, `r0.1` of output 0.
bool ParseDimension(std::string_view text, Token* token) {
  size_t dot = text.find('.');
  if (dot == std::string_view::npos || (text[0] != 'a' && text[0] != 'r')) return false;
  token->op = Token::Op::kDimension;
  token->output = text[0] == 'r';
  return ParseInteger(text.substr(1, dot - 1), &token->buffer) &&
         ParseInteger(text.substr(dot + 1), &token->axis) && token->buffer >= 0 && token->axis >= 0;
}

bool ParseToken(std::string_view text, Token* token, bool* binary) {
  for (const auto& [name, op] : kOperators) {
    if (text != name) continue;
    token->op = op;
    *binary = true;
    return true;
  }
  *binary = false;
  if (text.empty()) return false;
  if (ParseDimension(text, token)) return true;
  token->op = Token::Op::kConstant;
  return ParseInteger(text, &token->constant);
}

// The tokens leave exactly one value, and never more than kMaxStack on the way.
Problem ParseExpression(std::string_view text, Expression* expression) {
  Expression tokens;
  size_t depth = 0;
  for (std::string_view part : Split(text, ' ')) {
    Token token{};
    bool binary = false;
    if (!ParseToken(part, &token, &binary)) return "bad token " + Quoted(part) + " in its plan";
    if (binary && depth < 2) return "bad expression " + Quoted(text) + " in its plan";
    depth = binary ? depth - 1 : depth + 1;
    if (depth > kMaxStack) {
      return "the expression " + Quoted(text) + " in its plan is nested deeper than " + std::to_string(kMaxStack);
    }
    tokens.push_back(token);
  }
  if (depth != 1) return "bad expression " + Quoted(text) + " in its plan";
  *expression = std::move(tokens);
  return {};
}

// Three sizes from 1 up to a limit each.
Problem ParseTriple(std::string_view text, const std::array<uint32_t, 3>& limits, std::array<uint32_t, 3>* values) {
  auto parts = Split(text, ',');
  if (parts.size() != 3) return "bad triple " + Quoted(text) + " in its plan";
  for (size_t i = 0; i < 3; ++i) {
    if (!ParseInteger(parts[i], &(*values)[i]) || (*values)[i] == 0 || (*values)[i] > limits[i]) {
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

// A list of expressions, `a0.0|64`, from the last axis on.
template <size_t kSize>
Problem ParseAxes(std::string_view text, int count, Expression (&axes)[kSize]) {
  auto parts = Split(text, '|');
  if (parts.size() != size_t(count)) return "bad axes " + Quoted(text) + " in its plan";
  for (int axis = 0; axis < count; ++axis) {
    if (Problem problem = ParseExpression(parts[size_t(count - 1 - axis)], &axes[axis])) return problem;
  }
  return {};
}

template <typename T, size_t kSize>
bool ParseNumbers(std::string_view text, int count, T (&numbers)[kSize]) {
  auto parts = Split(text, '|');
  if (parts.size() != size_t(count)) return false;
  for (int axis = 0; axis < count; ++axis) {
    if (!ParseInteger(parts[size_t(count - 1 - axis)], &numbers[axis])) return false;
  }
  return true;
}

constexpr std::pair<std::string_view, MapType> kMapTypes[] = {
    {"u8", MapType::kU8},   {"s8", MapType::kU8},   {"e4m3", MapType::kU8}, {"e5m2", MapType::kU8},
    {"u16", MapType::kU16}, {"s16", MapType::kU16}, {"u32", MapType::kU32}, {"s32", MapType::kS32},
    {"u64", MapType::kU64}, {"s64", MapType::kS64}, {"f16", MapType::kF16}, {"f32", MapType::kF32},
    {"f64", MapType::kF64}, {"bf16", MapType::kBF16},
};

bool ParseMapType(std::string_view text, uint8_t* type) {
  for (const auto& [name, value] : kMapTypes) {
    if (text != name) continue;
    *type = static_cast<uint8_t>(value);
    return true;
  }
  return false;
}

// `a0:X:bf16:a0.0|64:128:8|64:1|1:0:3:0:0`: the buffer, the tensor's name and type, sizes, strides in bytes, box,
// element strides, and the driver's numbers for interleave, swizzle, L2 promotion and fill. A map of .im2col has pixels
// and channels for a box, and behind it all the corners of its bounding box: `-1|-1:-1|-1`.
Problem ParseMap(std::string_view text, Parameter* parameter) {
  const auto bad = [&] { return "bad tensor map " + Quoted(text) + " in its plan"; };
  auto fields = Split(text, ':');
  const bool im2col = fields.size() == 13;
  if ((fields.size() != 11 && !im2col) || fields[0].empty()) return bad();
  auto plan = std::make_shared<MapPlan>();
  TensorMap& map = plan->map;
  std::memcpy(map.magic, kMapMagic, sizeof map.magic);
  plan->name = std::string(fields[1]);
  plan->text = std::string(text);
  plan->before = std::string(text.substr(0, size_t(fields[3].data() - text.data())));
  plan->after = std::string(text.substr(size_t(fields[5].data() - text.data()) - 1));
  plan->output = fields[0][0] != 'a';
  const size_t rank = Split(fields[3], '|').size();
  if (fields[0].find_first_of("are") != 0 || !ParseInteger(fields[0].substr(1), &parameter->index) ||
      parameter->index < 0 || rank < 1 || rank > kMaxMapRank) {
    return bad();
  }
  map.rank = uint8_t(rank);
  if (Problem problem = ParseAxes(fields[3], map.rank, plan->sizes)) return problem;
  if (Problem problem = ParseAxes(fields[4], map.rank - 1, plan->strides)) return problem;
  if (!ParseMapType(fields[2], &map.type) || !ParseNumbers(fields[5], im2col ? 2 : map.rank, map.box) ||
      !ParseNumbers(fields[6], map.rank, map.element_strides) || !ParseInteger(fields[7], &map.interleave) ||
      !ParseInteger(fields[8], &map.swizzle) || !ParseInteger(fields[9], &map.l2_promotion) ||
      !ParseInteger(fields[10], &map.oob_fill)) {
    return bad();
  }
  if (im2col) {
    map.mode = MapMode::kIm2col;
    if (rank < 3 || !ParseNumbers(fields[11], map.spatial(), map.lower) ||
        !ParseNumbers(fields[12], map.spatial(), map.upper)) {
      return bad();
    }
  }
  // The driver counts the atomicities of 128-byte spans on from theirs.
  map.atomicity = map.swizzle > 3 && map.swizzle < 7 ? uint8_t(map.swizzle - 3) : uint8_t(0);
  map.swizzle = uint8_t(map.swizzle - map.atomicity);
  if (auto problem = CheckMapDescription(map)) return "the tensor map of " + plan->name + ": " + *problem;
  parameter->map = std::move(plan);
  return {};
}

// `i32:a0.0 4 *` is an integer of 32 bits.
Problem ParseIntegerParameter(std::string_view text, size_t colon, Parameter* parameter) {
  parameter->kind = Parameter::Kind::kInteger;
  int& bits = parameter->bits;
  if (!ParseInteger(text.substr(1, colon - 1), &bits) || (bits != 8 && bits != 16 && bits != 32 && bits != 64)) {
    return "bad parameter " + Quoted(text) + " in its plan";
  }
  return ParseExpression(text.substr(colon + 1), &parameter->expression);
}

bool ParseHexadecimal(std::string_view digits, std::string* bytes) {
  for (size_t i = 0; i < digits.size(); i += 2) {
    uint8_t byte = 0;
    if (digits.size() % 2 != 0) return false;
    auto [end, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    if (error != std::errc() || end != digits.data() + i + 2) return false;
    bytes->push_back(static_cast<char>(byte));
  }
  return true;
}

// `b4:0000803f` are four bytes at a multiple of four.
Problem ParseBytes(std::string_view text, size_t colon, Parameter* parameter) {
  parameter->kind = Parameter::Kind::kBytes;
  int& align = parameter->align;
  const std::string_view digits = text.substr(colon + 1);
  bool good = ParseInteger(text.substr(1, colon - 1), &align) && align > 0 && align <= kMaxParameterAlign &&
              (align & (align - 1)) == 0 && digits.size() / 2 <= kMaxParameterBytes &&
              ParseHexadecimal(digits, &parameter->bytes);
  if (!good) return "bad parameter " + Quoted(text) + " in its plan";
  return {};
}

Problem ParseParameter(std::string_view text, Parameter* parameter) {
  constexpr std::string_view kMap = "map:";
  if (text.substr(0, kMap.size()) == kMap) {
    parameter->kind = Parameter::Kind::kTensorMap;
    return ParseMap(text.substr(kMap.size()), parameter);
  }
  size_t colon = text.find(':');
  if (colon != std::string_view::npos && text[0] == 'i') return ParseIntegerParameter(text, colon, parameter);
  if (colon != std::string_view::npos && text[0] == 'b') return ParseBytes(text, colon, parameter);
  constexpr std::pair<char, Parameter::Kind> kKinds[] = {
      {'a', Parameter::Kind::kInputAddress},
      {'r', Parameter::Kind::kOutputAddress},
      {'e', Parameter::Kind::kEarlierResult},
      {'v', Parameter::Kind::kInputValue},
  };
  for (const auto& [letter, kind] : kKinds) {
    if (text.empty() || text[0] != letter) continue;
    parameter->kind = kind;
    if (ParseInteger(text.substr(1), &parameter->index) && parameter->index >= 0) return {};
  }
  return "bad parameter " + Quoted(text) + " in its plan";
}

// Bytes that a parameter takes at least: those of a value are known at the call.
size_t LeastBytes(const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::kTensorMap: return kMapBytes;
    case Parameter::Kind::kInteger: return size_t(parameter.bits) / 8;
    case Parameter::Kind::kBytes: return parameter.bytes.size();
    case Parameter::Kind::kInputValue: return 1;
    default: return sizeof(uint64_t);
  }
}

Problem ParseParameters(std::string_view text, std::vector<Parameter>* parameters) {
  size_t bytes = 0;
  for (std::string_view part : Split(text, ',')) {
    Parameter parameter{};
    if (Problem problem = ParseParameter(part, &parameter)) return problem;
    bytes += LeastBytes(parameter);
    if (bytes > kMaxParameterBytes) {
      return "its plan has more than the " + std::to_string(kMaxParameterBytes) + " bytes of arguments that a launch takes";
    }
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

bool ParseOutput(std::string_view text, int* index) {
  return !text.empty() && text[0] == 'r' && ParseInteger(text.substr(1), index) && *index >= 0;
}

Problem ParseOutputs(std::string_view text, std::vector<int>* outputs) {
  for (std::string_view part : Split(text, ',')) {
    int index = -1;
    if (!ParseOutput(part, &index)) return "bad output " + Quoted(part) + " in its plan";
    outputs->push_back(index);
  }
  return {};
}

// `r0:0000803f` says that output 0 is filled with these bytes.
Problem ParseFills(std::string_view text, std::vector<Fill>* fills) {
  for (std::string_view part : Split(text, ',')) {
    Fill fill;
    const size_t colon = std::min(part.find(':'), part.size());
    const bool good = colon < part.size() && ParseOutput(part.substr(0, colon), &fill.output) &&
                      ParseHexadecimal(part.substr(colon + 1), &fill.value);
    const size_t bytes = fill.value.size();
    if (!good || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
      return "bad initial value " + Quoted(part) + " in its plan";
    }
    fills->push_back(std::move(fill));
  }
  return {};
}

Problem ParseFlag(std::string_view text, bool* flag) {
  *flag = text == "1";
  if (!*flag && text != "0") return "bad flag " + Quoted(text) + " in its plan";
  return {};
}

Problem ParseBuffersField(std::string_view name, std::string_view value, Plan* plan) {
  if (name == "inputs") return ParseShapes(value, &plan->inputs);
  if (name == "outputs") return ParseShapes(value, &plan->outputs);
  return "unknown field " + Quoted(name) + " in its plan";
}

Problem ParseStepField(std::string_view name, std::string_view value, Step* step) {
  if (name == "kernel") {
    step->kernel = std::string(value);
    if (value.empty() || value.find('\0') != std::string_view::npos) return "its plan lacks the kernel's name";
    return {};
  }
  if (name == "grid") return ParseGrid(value, &step->grid);
  if (name == "block") return ParseTriple(value, {1024, 1024, 64}, &step->block);
  if (name == "cluster") return ParseTriple(value, {16, 16, 16}, &step->cluster);
  if (name == "shared") return ParseExpression(value, &step->shared);
  if (name == "params") return ParseParameters(value, &step->parameters);
  if (name == "zeros") return ParseOutputs(value, &step->zeros);
  if (name == "complete") return ParseOutputs(value, &step->complete);
  if (name == "init") return ParseFills(value, &step->fills);
  if (name == "cooperative") return ParseFlag(value, &step->cooperative);
  if (name == "programmatic_stream_serialization") {
    return ParseFlag(value, &step->programmatic_stream_serialization);
  }
  if (name == "when") return ParseExpression(value, &step->when);
  return "unknown field " + Quoted(name) + " in its plan";
}

// A line of `name=value` fields, none of them twice; `parse` takes each. `required` has to be there.
template <typename Parse>
Problem ParseLine(std::string_view line, std::initializer_list<std::string_view> required, Parse parse) {
  std::vector<std::string_view> seen;
  for (std::string_view field : Split(line, ';')) {
    size_t equals = field.find('=');
    if (equals == std::string_view::npos) return "bad field " + Quoted(field) + " in its plan";
    const std::string_view name = field.substr(0, equals);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return "its plan has the field " + Quoted(name) + " twice in one line";
    }
    // Fields that are not known end the line, so `seen` stays short.
    if (Problem problem = parse(name, field.substr(equals + 1))) return problem;
    seen.push_back(name);
  }
  for (std::string_view name : required) {
    if (std::find(seen.begin(), seen.end(), name) == seen.end()) return "its plan lacks the field " + Quoted(name);
  }
  return {};
}

Problem CheckExpression(const Plan& plan, const Expression& expression) {
  for (const Token& token : expression) {
    if (token.op != Token::Op::kDimension) continue;
    const auto& shapes = token.output ? plan.outputs : plan.inputs;
    if (size_t(token.buffer) >= shapes.size() || size_t(token.axis) >= shapes[token.buffer].size()) {
      return "its plan names a dimension that no buffer has";
    }
  }
  return {};
}

Problem CheckBuffer(const std::vector<Shape>& shapes, int index) {
  if (size_t(index) >= shapes.size()) return "its plan names a buffer that does not exist";
  return {};
}

Problem CheckScalar(const Plan& plan, int index) {
  if (Problem problem = CheckBuffer(plan.inputs, index)) return problem;
  if (plan.inputs[size_t(index)].empty()) return {};
  return "its plan passes input " + std::to_string(index) + " by value, which is no scalar";
}

Problem CheckMap(const Plan& plan, const Parameter& parameter) {
  const MapPlan& map = *parameter.map;
  for (const Expression& size : map.sizes) {
    if (Problem problem = CheckExpression(plan, size)) return problem;
  }
  for (const Expression& stride : map.strides) {
    if (Problem problem = CheckExpression(plan, stride)) return problem;
  }
  return CheckBuffer(map.output ? plan.outputs : plan.inputs, parameter.index);
}

Problem CheckParameter(const Plan& plan, const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::kTensorMap: return CheckMap(plan, parameter);
    case Parameter::Kind::kInteger: return CheckExpression(plan, parameter.expression);
    case Parameter::Kind::kBytes: return {};
    case Parameter::Kind::kInputValue: return CheckScalar(plan, parameter.index);
    case Parameter::Kind::kOutputAddress:
    case Parameter::Kind::kEarlierResult: return CheckBuffer(plan.outputs, parameter.index);
    default: return CheckBuffer(plan.inputs, parameter.index);
  }
}

// After this every index in the step is inside `inputs` and `outputs`, so that a call whose shapes
// pass CheckShapes can be evaluated without further bounds checks.
Problem CheckIndices(const Plan& plan, const Step& step) {
  for (const Expression& expression : step.grid) {
    if (Problem problem = CheckExpression(plan, expression)) return problem;
  }
  if (Problem problem = CheckExpression(plan, step.shared)) return problem;
  if (Problem problem = CheckExpression(plan, step.when)) return problem;
  for (const Parameter& parameter : step.parameters) {
    if (Problem problem = CheckParameter(plan, parameter)) return problem;
  }
  for (const auto& outputs : {step.zeros, step.complete}) {
    for (int index : outputs) {
      if (Problem problem = CheckBuffer(plan.outputs, index)) return problem;
    }
  }
  for (const Fill& fill : step.fills) {
    if (Problem problem = CheckBuffer(plan.outputs, fill.output)) return problem;
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

Arithmetic Apply(Token::Op op, int64_t a, int64_t b, int64_t* result) {
  auto checked = [](bool overflow) { return overflow ? Arithmetic::kOverflow : Arithmetic::kOk; };
  switch (op) {
    case Token::Op::kAdd: return checked(__builtin_add_overflow(a, b, result));
    case Token::Op::kSub: return checked(__builtin_sub_overflow(a, b, result));
    case Token::Op::kMul: return checked(__builtin_mul_overflow(a, b, result));
    case Token::Op::kFloorDiv: return Divide(false, a, b, result);
    case Token::Op::kCeilDiv: return Divide(true, a, b, result);
    case Token::Op::kMin: *result = std::min(a, b); return Arithmetic::kOk;
    default: *result = std::max(a, b); return Arithmetic::kOk;
  }
}

// The value of a dimension; nothing where no buffer of the call has it.
bool DimensionOf(const Token& token, const Buffers& buffers, int64_t* value) {
  const int count = token.output ? buffers.output_count : buffers.input_count;
  if (token.buffer < 0 || token.buffer >= count) return false;
  const BufferView& buffer = (token.output ? buffers.outputs : buffers.inputs)[token.buffer];
  if (token.axis < 0 || token.axis >= buffer.rank) return false;
  *value = buffer.dims[token.axis];
  return true;
}

Problem Evaluate(const Expression& expression, const Buffers& buffers, const char* what, int64_t* out) {
  Stack stack;
  bool good = true;
  for (const Token& token : expression) {
    int64_t value = token.constant, left = 0, right = 0;
    if (token.op == Token::Op::kDimension) {
      good = DimensionOf(token, buffers, &value);
    } else if (token.op != Token::Op::kConstant) {
      good = stack.Pop(&right) && stack.Pop(&left);
      switch (good ? Apply(token.op, left, right, &value) : Arithmetic::kOk) {
        case Arithmetic::kOk: break;
        case Arithmetic::kOverflow: return std::string(what) + " does not fit 64 bits";
        case Arithmetic::kDivisionByZero: return std::string(what) + " divides by zero";
      }
    }
    if (!good || !stack.Push(value)) return std::string(what) + " is a bad expression in its plan";
  }
  if (stack.depth() != 1 || !stack.Pop(out)) return std::string(what) + " is a bad expression in its plan";
  return {};
}

// The map of a tensor for the buffers of a call. Numbers beyond what a map takes stay beyond it as unsigned ones.
Problem EvaluateMap(const Parameter& parameter, const Buffers& buffers, TensorMap* map) {
  const MapPlan& plan = *parameter.map;
  *map = plan.map;
  int64_t value = 0;
  for (int axis = 0; axis < map->rank; ++axis) {
    if (Problem problem = Evaluate(plan.sizes[axis], buffers, "a size", &value)) return problem;
    map->sizes[axis] = uint64_t(value);
    if (axis == 0) continue;
    if (Problem problem = Evaluate(plan.strides[axis - 1], buffers, "a stride", &value)) return problem;
    map->strides[axis - 1] = uint64_t(value);
  }
  const BufferView& tensor = (plan.output ? buffers.outputs : buffers.inputs)[parameter.index];
  map->address = reinterpret_cast<uintptr_t>(tensor.data);
  if (auto problem = CheckMapTensor(*map)) return "the tensor map of " + plan.name + ": " + *problem;
  return {};
}

// Whether so many bits hold a value, signed or unsigned.
bool Fits(int64_t value, int bits) {
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << bits);
}

Problem CheckGrid(const Step& step, const std::array<int64_t, 3>& grid) {
  constexpr int64_t kLimits[] = {0x7fffffff, 65535, 65535};
  for (size_t i = 0; i < 3; ++i) {
    if (grid[i] < 0 || grid[i] > kLimits[i]) {
      return std::string("grid dimension ") + "xyz"[i] + " is " + std::to_string(grid[i]) +
             "; the range is 0 to " + std::to_string(kLimits[i]);
    }
    if (grid[i] % step.cluster[i] != 0) {
      return std::string("grid dimension ") + "xyz"[i] + " is " + std::to_string(grid[i]) +
             ", not a multiple of the cluster's " + std::to_string(step.cluster[i]);
    }
  }
  return {};
}

// An empty grid writes nothing, so an output that the kernel writes all of must have no elements then.
Problem CheckEmpty(const Step& step, const Buffers& buffers, const Launch& launch) {
  for (int index : step.complete) {
    const BufferView& output = buffers.outputs[index];
    const bool zeroed = std::find(step.zeros.begin(), step.zeros.end(), index) != step.zeros.end();
    if (zeroed || std::find(output.dims, output.dims + output.rank, 0) != output.dims + output.rank) continue;
    return "the grid " + ShapeText(launch.grid.data(), 3) + " launches nothing, and output " + std::to_string(index) +
           " of shape " + ShapeText(output.dims, size_t(output.rank)) + " would never be written";
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

std::string Plan::Kernels() const {
  std::string names;
  for (const Step& step : steps) {
    if (!step.kernel.empty()) names += (names.empty() ? "" : ", ") + step.kernel;
  }
  return names.empty() ? "?" : names;
}

std::optional<std::string> ParsePlan(std::string_view text, Plan* plan) {
  std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.size() < 2) return "its plan has no steps";
  // The steps come first, so that a problem anywhere is one of a kernel with a name.
  for (size_t i = 1; i < lines.size(); ++i) {
    Step& step = plan->steps.emplace_back();
    Problem problem = ParseLine(lines[i], {"kernel", "grid", "block", "cluster", "shared", "params"},
                                [&](std::string_view name, std::string_view value) {
                                  return ParseStepField(name, value, &step);
                                });
    if (problem) return problem;
  }
  Problem problem = ParseLine(lines[0], {"inputs", "outputs"}, [&](std::string_view name, std::string_view value) {
    return ParseBuffersField(name, value, plan);
  });
  if (problem) return problem;
  for (const Step& step : plan->steps) {
    if ((problem = CheckIndices(*plan, step))) return problem;
  }
  return {};
}

std::optional<std::string> CheckShapes(const Plan& plan, const Buffers& buffers) {
  Problem problem = CheckShapesOf(plan.inputs, buffers.inputs, buffers.input_count, "input");
  if (problem) return problem;
  return CheckShapesOf(plan.outputs, buffers.outputs, buffers.output_count, "output");
}

std::optional<std::string> EvaluateLaunch(const Step& step, const Buffers& buffers, Launch* launch) {
  launch->skipped = false;
  if (!step.when.empty()) {
    int64_t when = 0;
    if (Problem problem = Evaluate(step.when, buffers, "the condition", &when)) return problem;
    launch->skipped = when <= 0;
    if (launch->skipped) return {};
  }
  for (size_t i = 0; i < 3; ++i) {
    if (Problem problem = Evaluate(step.grid[i], buffers, "the grid", &launch->grid[i])) return problem;
  }
  if (Problem problem = CheckGrid(step, launch->grid)) return problem;
  if (launch->empty()) {
    if (Problem problem = CheckEmpty(step, buffers, *launch)) return problem;
  }
  if (Problem problem = Evaluate(step.shared, buffers, "the shared memory", &launch->shared)) {
    return problem;
  }
  if (launch->shared < 0 || launch->shared > 0x7fffffff) {
    return "the dynamic shared memory is " + std::to_string(launch->shared) + " bytes";
  }
  launch->integers.assign(step.parameters.size(), 0);
  launch->maps.clear();
  for (size_t i = 0; i < step.parameters.size(); ++i) {
    const Parameter& parameter = step.parameters[i];
    Problem problem;
    if (parameter.kind == Parameter::Kind::kInteger) {
      problem = Evaluate(parameter.expression, buffers, "an integer argument", &launch->integers[i]);
    } else if (parameter.kind == Parameter::Kind::kTensorMap && !launch->empty()) {
      problem = EvaluateMap(parameter, buffers, &launch->maps.emplace_back());
    }
    if (problem) return problem;
    if (!Fits(launch->integers[i], step.parameters[i].bits)) {
      return "an integer argument of " + std::to_string(step.parameters[i].bits) + " bits is " +
             std::to_string(launch->integers[i]);
    }
  }
  return {};
}

}  // namespace pyptx
