// A plan: what a call launches, with grids, shared memory and integer arguments as expressions of the
// buffers' dimensions at run time. Python (pyptx/_launch/plan.py) writes the text that is read here.
#ifndef PYPTX_LAUNCH_PLAN_H_
#define PYPTX_LAUNCH_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../tensor_map.h"

namespace pyptx {

// A tensor as the runtime hands it over; `dims` is borrowed from the call.
struct BufferView {
  void* data;
  const int64_t* dims;
  int rank;
  size_t bytes;
};

// The buffers of one call, inputs before outputs; scratch buffers are the last outputs.
struct Buffers {
  const BufferView* inputs;
  int input_count;
  const BufferView* outputs;
  int output_count;
};

// One token of an expression in reverse Polish notation.
struct Token {
  enum class Op : uint8_t { kConstant, kDimension, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMin, kMax };
  Op op;
  bool output = false;   // kDimension: of an output
  int buffer = 0;        // kDimension
  int axis = 0;          // kDimension
  int64_t constant = 0;  // kConstant
};

using Expression = std::vector<Token>;

// A tensor map, encoded at each launch. Axes count from the one whose elements lie next to each other.
struct MapPlan {
  std::string name;  // the tensor's
  std::string text, before, after;  // what the plan says: all of it, before the sizes, behind the strides
  TensorMap map{};   // all that is known before a launch
  bool output = false;  // the tensor is an output, and an input otherwise
  Expression sizes[kMaxMapRank];
  Expression strides[kMaxMapRank - 1];
};

// A shape that the kernel was made for; kAnyExtent stands for a dimension known only at run time.
constexpr int64_t kAnyExtent = -1;
using Shape = std::vector<int64_t>;

struct Parameter {
  // An earlier result is an output that a step before this one wrote and this one only reads.
  enum class Kind : uint8_t {
    kInputAddress, kOutputAddress, kEarlierResult, kInputValue, kInteger, kTensorMap, kBytes
  };
  Kind kind;
  int index = 0;          // of the input or output
  Expression expression;  // kInteger
  int bits = 64;          // kInteger: 8, 16, 32 or 64
  std::string bytes;      // kBytes
  int align = 1;          // kBytes: a power of two
  std::shared_ptr<const MapPlan> map;  // kTensorMap

  bool IsAddress() const { return kind <= Kind::kEarlierResult; }
};

// What every element of an output holds before the kernel starts: 1, 2, 4 or 8 bytes.
struct Fill {
  int output = -1;
  std::string value;
};

// One launch of the call.
struct Step {
  std::string kernel;
  std::array<Expression, 3> grid;
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  Expression shared;
  std::vector<Parameter> parameters;
  std::vector<int> zeros;  // outputs that an empty grid leaves as zeros
  std::vector<int> complete;  // outputs of which the kernel writes every element
  std::vector<Fill> fills;
  bool cooperative = false;  // all CTAs of the grid are resident at once
  bool programmatic_stream_serialization = false;
  Expression when;  // the step is skipped unless this is more than 0; empty for none
};

struct Plan {
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;
  std::vector<Step> steps;

  // The kernels' names, "?" where there are none.
  std::string Kernels() const;
};

// A step with every expression evaluated.
struct Launch {
  std::array<int64_t, 3> grid;
  int64_t shared;
  std::vector<int64_t> integers;  // one per parameter, set where the parameter is kInteger
  std::vector<TensorMap> maps;    // the tensor maps, in the order of the parameters
  bool skipped = false;           // nothing to launch and nothing to write; the rest is not set

  bool empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

// Each returns the problem as one sentence without the kernel's name, nothing when all is well.
std::optional<std::string> ParsePlan(std::string_view text, Plan* plan);
std::optional<std::string> CheckShapes(const Plan& plan, const Buffers& buffers);
std::optional<std::string> EvaluateLaunch(const Step& step, const Buffers& buffers, Launch* launch);

std::string ShapeText(const int64_t* dims, size_t rank);

}  // namespace pyptx

#endif  // PYPTX_LAUNCH_PLAN_H_
