// The reader of plans, which the FFI handlers and the launcher share: a text, then a call's buffers.
#include "plan.h"

#include <string>
#include <vector>

#include "target.h"

uint64_t accepted = 0;

namespace {

// Buffers of the shapes that the plan asks for, where any extent is `extent`.
class Call {
 public:
  Call(const pyptx::Plan& plan, int64_t extent) {
    for (const auto* shapes : {&plan.inputs, &plan.outputs}) {
      for (pyptx::Shape shape : *shapes) {
        for (int64_t& size : shape) size = size == pyptx::kAnyExtent ? extent : size;
        shapes_.push_back(std::move(shape));
      }
    }
    for (const pyptx::Shape& shape : shapes_) {
      views_.push_back({memory_, shape.data(), static_cast<int>(shape.size()), sizeof memory_});
    }
    const auto inputs = plan.inputs.size();
    buffers = {views_.data(), static_cast<int>(inputs), views_.data() + inputs,
               static_cast<int>(plan.outputs.size())};
  }
  pyptx::Buffers buffers;

 private:
  alignas(128) uint8_t memory_[128];
  std::vector<pyptx::Shape> shapes_;
  std::vector<pyptx::BufferView> views_;
};

void check(const pyptx::Step& step, const pyptx::Launch& launch) {
  if (launch.skipped) return;
  for (size_t i = 0; i < 3; ++i) {
    PROMISE(launch.grid[i] >= 0 && launch.grid[i] <= 0x7fffffff);
    PROMISE(step.cluster[i] != 0 && launch.grid[i] % step.cluster[i] == 0);
  }
  PROMISE(launch.shared >= 0 && launch.shared <= 0x7fffffff);
  PROMISE(launch.integers.size() == step.parameters.size());
  for (const pyptx::TensorMap& map : launch.maps) {
    PROMISE(!pyptx::CheckMapDescription(map) && !pyptx::CheckMapTensor(map));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pyptx::Plan plan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto problem = pyptx::ParsePlan(text, &plan)) {
    PROMISE(!problem->empty() && !plan.Kernels().empty());
    return 0;
  }
  ++accepted;
  for (const int64_t extent : {int64_t{0}, int64_t{1}, int64_t{64}, int64_t{1} << 62}) {
    const Call call(plan, extent);
    PROMISE(!pyptx::CheckShapes(plan, call.buffers));
    for (const pyptx::Step& step : plan.steps) {
      pyptx::Launch launch{};
      if (!pyptx::EvaluateLaunch(step, call.buffers, &launch)) check(step, launch);
    }
  }
  const pyptx::Buffers none{nullptr, 0, nullptr, 0};
  PROMISE(bool(pyptx::CheckShapes(plan, none)) == !(plan.inputs.empty() && plan.outputs.empty()));
  return 0;
}
