#include "tensor_sum.h"

#include <algorithm>
#include <cstring>

#include "tensor_tile.h"

namespace pyptx::emulator {
namespace {

// ---- The table -------------------------------------------------------------------------------------------

enum class Width : uint8_t { Tf32, Half, Byte, Scaled4 };

constexpr uint8_t bit(TensorUnit unit) { return static_cast<uint8_t>(1u << static_cast<unsigned>(unit)); }
constexpr uint8_t kMma = bit(TensorUnit::Mma), kWgmma = bit(TensorUnit::Wgmma), kTcgen05 = bit(TensorUnit::Tcgen05),
                  kAny = kMma | kWgmma | kTcgen05;

struct AdditionRow {
  unsigned sm;  // from this target on
  uint8_t units;
  Width width;
  Addition how;
};

// The first row that fits counts. All rows are published models, except that rows "apart" follow the machine code of
// ptxas 13: F2FP to f16, two HMMA from zero, FADD. Those of sm_90 were held to an H200, bit by bit (make gpu-products).
constexpr AdditionRow kAdditions[] = {
    // Four bits with factors: sums of 16 products are exact, then scaled, then cut to 35 bits (MMA-Sim).
    {100, kAny, Width::Scaled4, {64, 35, 0, false, 16}},
    // Eight bits (and six and four in bytes). Consumer Blackwell has QMMA; Ada's and Hopper's own instructions keep 13
    // bits, and sums in f32 have 13 bits of fraction (both papers; DeepSeek-V3's report: "about 14 bits").
    {120, kMma, Width::Byte, {32, 25, 0, false, 0}},
    {90, kMma, Width::Byte, {16, 25, 0, true, 0}},
    {80, kMma, Width::Byte, {16, 13, 10, false, 0}},
    {90, kWgmma, Width::Byte, {32, 13, 10, false, 0}},
    {100, kTcgen05, Width::Byte, {32, 25, 0, false, 0}},
    // Sixteen bits, and tf32, which has half as many products in a block.
    {90, kAny, Width::Half, {16, 25, 0, false, 0}},
    {80, kAny, Width::Half, {8, 24, 0, false, 0}},
    {90, kAny, Width::Tf32, {8, 25, 0, false, 0}},
    {80, kAny, Width::Tf32, {4, 24, 0, false, 0}},
};

constexpr unsigned kMostColumns = 256;
constexpr int32_t kLeastOfHalf = -14;  // the exponent of the smallest normal f16
constexpr int32_t kNarrow = 50;      // exponents up to this: products, and what scales them, are normal numbers of f32

double power_of_two(int32_t exponent) { return bits_as<double>(static_cast<uint64_t>(1023 + exponent) << 52); }

// The nearest f16, as a float; beyond the largest an infinity.
inline float nearest_half(double x) {
  const auto exponent = static_cast<int64_t>(bits_as<uint64_t>(x) >> 52 & 0x7ff);
  const double carrier = bits_as<double>(static_cast<uint64_t>(std::max<int64_t>(exponent, 1023 - 14) + 42) << 52 |
                                         uint64_t{1} << 51);  // whose last bit is that of the f16
  const double rounded = std::fabs((x + carrier) - carrier);
  return static_cast<float>(std::copysign(rounded > 65504.0 ? HUGE_VAL : rounded, x));  // of a zero, too
}

// The bits of an f16 that a float is.
inline uint32_t half_bits(float x) {
  const uint32_t word = bits_as<uint32_t>(x), sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7fffu;
  if (size == 0x7f800000u) return sign | 0x7c00u;
  const auto tiny = static_cast<uint32_t>(std::fabs(x) * 0x1p24f);
  return sign | (size < 0x38800000u ? tiny : (size >> 13) - (112u << 10));
}

// Cut toward zero to f32 without its last `dropped` bits.
inline float cut_float(double x, unsigned dropped) {
  const double cut = bits_as<double>(bits_as<uint64_t>(x) & ~uint64_t{0} << (29 + dropped));
  return static_cast<float>(cut);
}

inline float cut_subnormal(double x, unsigned dropped) {
  const double unit = power_of_two(-149 + static_cast<int32_t>(dropped));
  return static_cast<float>(std::copysign(std::trunc(x / unit) * unit, x));
}

}  // namespace

Addition addition_of(unsigned sm, TensorUnit unit, const Multiplied& a, const Multiplied& b, bool scaled) {
  const Width width = a.bits == 32 ? Width::Tf32
                      : a.bits == 16 ? Width::Half
                      : scaled && a.bits == 4 && b.bits == 4 ? Width::Scaled4
                                                             : Width::Byte;
  for (const AdditionRow& row : kAdditions) {
    if (row.sm <= std::max(sm, 80u) && (row.units & bit(unit)) != 0 && row.width == width) {
      Addition how = row.how;
      if (scaled) how.apart = false;
      return how;
    }
  }
  return {};
}

// ---- Numbers ---------------------------------------------------------------------------------------------

void Numbers::resize(unsigned lines, unsigned along) {
  constexpr unsigned kMany = 64, kMore = 16;
  count = lines;
  steps = along;
  stride = lines % kMany == 0 ? lines + kMore : lines;
  const size_t size = size_t{stride} * along;
  bits.resize(size);
  for (unsigned step = 0; stride != count && step < steps; ++step) {
    std::fill_n(bits.begin() + static_cast<std::ptrdiff_t>(at(step, count)), kMore, 0u);
  }
  value_.resize(size);
  exponent_.resize(size);
  factors.clear();
}

void Numbers::read(const Multiplied& type, bool negated, bool as_half) {
  constexpr size_t kTogether = 512;  // that a cache keeps from one step to the next
  const uint32_t sign = negated ? 0x80000000u : 0;
  const int32_t least = as_half ? kLeastOfHalf : type.least_exponent;
  wide_ = known_ = any_special_ = false;
  for (size_t i = 0; i < bits.size(); i += kTogether) {
    const size_t some = std::min(kTogether, bits.size() - i);
    type.values(&bits[i], &value_[i], some);
    const Extent extent = tensor_tile().examine(sign, least, some, &value_[i], &exponent_[i]);
    wide_ |= extent.low < -kNarrow || extent.high > kNarrow;
    any_special_ |= extent.special;
  }
  special_.assign(count, 0);
  for (size_t i = 0; any_special_ && i < value_.size(); ++i) {
    if (!std::isfinite(value_[i])) special_[i % stride] = 1;
  }
}

void Numbers::scale() {
  find_significands();
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] != factors[i]) {
      value_[i] = bits_as<float>(0x7fffffffu);
      exponent_[i] = kNothing;
      special_[i % stride] = 1;
      any_special_ = true;
    } else if (exponent_[i] != kNothing) {
      exponent_[i] = static_cast<int16_t>(exponent_[i] + std::ilogb(factors[i]));
    }
  }
  wide_ = true;
}

void Numbers::clear(unsigned line) {
  for (unsigned step = 0; step < steps; ++step) {
    value_[at(step, line)] = 0;
    exponent_[at(step, line)] = kNothing;
  }
  special_[line] = 0;
  known_ = false;
}

void Numbers::find_significands() {
  if (known_) return;
  significand_.resize(value_.size());
  for (size_t i = 0; i < value_.size(); ++i) {
    const int32_t exponent = exponent_[i] == kNothing ? 0 : exponent_[i];
    significand_[i] = static_cast<float>(static_cast<double>(value_[i]) * power_of_two(-exponent));
  }
  known_ = true;
}

// ---- Sums ------------------------------------------------------------------------------------------------

namespace {

// The order in which steps are added; *before of them come before the others if these are added apart.
unsigned order_steps(const Addition& how, unsigned steps, uint8_t* order, unsigned* before) {
  unsigned length = 0;
  for (unsigned half = 0; half < (how.apart ? 4 : 2); half += 2) {
    if (half != 0) *before = length;
    for (unsigned step = 0; step < steps; ++step) {
      if (!how.apart || (step & 2u) == half) order[length++] = static_cast<uint8_t>(step);
    }
  }
  return length;
}

}  // namespace

TensorSum::TensorSum(const Addition& how, Sum type, Numbers& a, Numbers& b)
    : how_(how), type_(type), a_(a), b_(b), wide_(a.wide_ || b.wide_) {
  if (wide_) {
    a.find_significands();
    b.find_significands();
  }
  block_.others = (wide_ ? b.significand_ : b.value_).data();
  block_.powers = b.exponent_.data();
  block_.fraction = static_cast<int32_t>(how.fraction);
  block_.dropped = how.dropped;
  block_.half = type == Sum::F16;
  block_.wide = wide_;
  const unsigned length = order_steps(how, a.steps, a_step_, &before_);
  for (unsigned e = 0; e < length; ++e) a_at_[e] = static_cast<uint32_t>(a.at(a_step_[e], 0));
  place(nullptr);
}

// Finds the steps of B that those of A are multiplied with.
void TensorSum::place(const uint8_t* places) {
  for (unsigned e = 0; e < a_.steps; ++e) {
    b_step_[e] = places != nullptr ? places[a_step_[e]] : a_step_[e];
    b_at_[e] = static_cast<uint32_t>(b_.at(b_step_[e], 0));
  }
}

// Where an infinity or a NaN takes part, the sum is one.
void TensorSum::mend_special(unsigned row, Steps steps, unsigned column, unsigned columns, const float* before,
                             float* sums) const {
  for (unsigned n = 0; n < columns; ++n) {
    if (!a_.special_[row] && !b_.special_[column + n] && std::isfinite(before[n])) continue;
    double sum = before[n];
    for (unsigned e = steps.first; e < steps.first + steps.length; ++e) {
      sum += static_cast<double>(a_.value_[a_.at(a_step_[e], row)]) * b_.value_[b_.at(b_step_[e], column + n)];
    }
    if (!std::isfinite(sum)) sums[n] = canonical(static_cast<float>(sum));
  }
}

// Products of numbers of four bits, in groups that share factors.
void TensorSum::add_groups(unsigned row, Steps steps, unsigned first, unsigned columns, float* sums) {
  for (unsigned n = 0; n < columns; ++n) {
    double numbers[8], nan = 0;
    int32_t exponents[8], top = std::max(kLeast, sums[n] == 0 ? kLeast : std::ilogb(sums[n]));
    const unsigned groups = (steps.length + how_.group - 1) / how_.group, end = steps.first + steps.length;
    for (unsigned g = 0; g < groups; ++g) {
      double sum = 0;
      const unsigned begin = steps.first + g * how_.group;
      for (unsigned e = begin; e < std::min(begin + how_.group, end); ++e) {
        sum += static_cast<double>(a_.value_[a_.at(a_step_[e], row)]) * b_.value_[b_.at(b_step_[e], first + n)];
      }
      const double x = a_.factors[a_.at(a_step_[begin], row)];
      const double y = b_.factors[b_.at(b_step_[begin], first + n)];
      nan += x + y;  // of all else it is not looked at
      const bool nothing = sum == 0 || x == 0 || y == 0;
      exponents[g] = nothing || x != x || y != y ? kNothing : std::max(std::ilogb(x), a_.least_factor) +
                                                                        std::max(std::ilogb(y), b_.least_factor);
      numbers[g] = nothing ? 0 : sum * x * y;
      top = std::max(top, exponents[g]);
    }
    if (nan != nan || !std::isfinite(sums[n])) {
      sums[n] = canonical(static_cast<float>(nan != nan ? nan : sums[n]));
      continue;
    }
    const double unit = power_of_two(top - static_cast<int32_t>(how_.fraction));
    double total = std::trunc(sums[n] / unit);
    for (unsigned g = 0; g < groups; ++g) total += std::trunc(numbers[g] / unit);
    total *= unit;
    const bool tiny = std::fabs(total) < 0x1p-126 && total != 0;
    sums[n] = tiny ? cut_subnormal(total, how_.dropped) : cut_float(total, how_.dropped);
  }
}

void TensorSum::add_block(unsigned row, Steps steps, unsigned first, unsigned columns, float* sums) {
  if (how_.group != 0) {
    add_groups(row, steps, first, columns, sums);
    return;
  }
  const bool mend = a_.special_[row] || b_.any_special_;
  std::vector<float> before;
  if (mend) before.assign(sums, sums + columns);
  block_.at = b_at_ + steps.first;
  block_.mine_at = a_at_ + steps.first;
  block_.mine = (wide_ ? a_.significand_ : a_.value_).data() + row;
  block_.exponents = a_.exponent_.data() + row;
  block_.length = steps.length;
  tensor_tile().add(block_, first, columns, sums);
  if (mend) mend_special(row, steps, first, columns, before.data(), sums);
}

// Of integers every partial sum is one of f32's.
void TensorSum::add_integers(unsigned row, unsigned first, unsigned columns, const uint8_t* places, float* sums) const {
  std::fill(sums, sums + columns, 0.0f);
  for (unsigned step = 0; step < a_.steps; ++step) {
    const float number = a_.value_[a_.at(step, row)];
    const float* others = &b_.value_[b_.at(places != nullptr ? places[step] : step, first)];
    for (unsigned n = 0; n < columns; ++n) sums[n] += number * others[n];
  }
}

void TensorSum::add(unsigned row, unsigned first, unsigned columns, const uint8_t* places, bool satfinite, int shift,
                    uint32_t* accumulators) {
  if (type_ == Sum::F32 && shift == 0) {
    add_floats(row, first, columns, places, reinterpret_cast<float*>(accumulators));
    return;
  }
  float sums[kMostColumns];
  if (type_ == Sum::S32) {
    add_integers(row, first, columns, places, sums);
    for (unsigned n = 0; n < columns; ++n) {
      int64_t sum = static_cast<int64_t>(sums[n]) + static_cast<int32_t>(accumulators[n]);
      if (satfinite) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      accumulators[n] = static_cast<uint32_t>(sum);
    }
    return;
  }
  if (type_ == Sum::F16) multiplied("f16")->values(accumulators, sums, columns);
  else std::memcpy(sums, accumulators, columns * sizeof(float));
  const auto divisor = static_cast<float>(power_of_two(-shift));
  for (unsigned n = 0; shift != 0 && n < columns; ++n) sums[n] *= divisor;
  add_floats(row, first, columns, places, sums);
  if (type_ == Sum::F16) {
    for (unsigned n = 0; n < columns; ++n) accumulators[n] = half_bits(sums[n]);
  } else {
    std::memcpy(accumulators, sums, columns * sizeof(float));
  }
}

void TensorSum::add_floats(unsigned row, unsigned first, unsigned columns, const uint8_t* places, float* sums) {
  if (places != nullptr) place(places);
  if (!how_.apart) {
    for (unsigned from = 0; from < a_.steps; from += how_.block) {
      add_block(row, {from, std::min(how_.block, a_.steps - from)}, first, columns, sums);
    }
    return;
  }
  std::vector<float> apart(columns);
  add_block(row, {0, before_}, first, columns, apart.data());
  add_block(row, {before_, a_.steps - before_}, first, columns, apart.data());
  for (unsigned n = 0; n < columns; ++n) {
    const double sum = static_cast<double>(sums[n]) + apart[n];  // of two f16 exact
    sums[n] = type_ == Sum::F16 && std::isfinite(sum) ? nearest_half(sum) : canonical(sums[n] + apart[n]);
  }
}

// ---- Sums in the order of registers ----------------------------------------------------------------------

void SpreadRows::spread(const Numbers& rows) {
  constexpr unsigned kTimes = FragmentBlock::kRowValues / kRows;
  for (unsigned step = 0; step < rows.steps; ++step) {
    const float* value = rows.values() + rows.at(step, 0);
    const int16_t* power = rows.exponents() + rows.at(step, 0);
    float* of = values + step * FragmentBlock::kRowValues;
    int16_t* power_of = powers + step * FragmentBlock::kRowValues;
    for (unsigned row = 0; row < kRows; ++row) {
      using Values = float __attribute__((vector_size(kTimes * sizeof(float))));
      using Powers = int16_t __attribute__((vector_size(kTimes * sizeof(int16_t))));
      const Values all = value[row] - Values{};
      const Powers all_powers = power[row] - Powers{};
      std::memcpy(of + row * kTimes, &all, sizeof all);
      std::memcpy(power_of + row * kTimes, &all_powers, sizeof all_powers);
    }
  }
}

bool adds_fragments(const Addition& how, Sum type, unsigned steps) {
  return type == Sum::F32 && steps <= SpreadRows::kMostSpread && how.group == 0;
}

FragmentSum::FragmentSum(const Addition& how, const SpreadRows& rows, const Numbers& columns)
    : how_(how), columns_(columns.values()), column_powers_(columns.exponents()) {
  uint8_t order[SpreadRows::kMostSpread];
  steps_ = order_steps(how, columns.steps, order, &before_);
  for (unsigned e = 0; e < steps_; ++e) {
    row_at_[e] = order[e] * FragmentBlock::kRowValues;
    column_at_[e] = static_cast<uint32_t>(columns.at(order[e], 0));
  }
  block_.rows = rows.values;
  block_.row_powers = rows.powers;
  block_.fraction = static_cast<int32_t>(how.fraction);
  block_.dropped = how.dropped;
}

void FragmentSum::add_steps(unsigned from, unsigned length, float* const* sums) {
  block_.row_at = row_at_ + from;
  block_.column_at = column_at_ + from;
  block_.length = length;
  tensor_tile().add_fragment(block_, sums);
}

void FragmentSum::add(unsigned first, float* const* sums) {
  block_.columns = columns_ + first;
  block_.column_powers = column_powers_ + first;
  if (!how_.apart) {
    for (unsigned from = 0; from < steps_; from += how_.block) add_steps(from, std::min(how_.block, steps_ - from), sums);
    return;
  }
  constexpr unsigned kRegisters = 4, kLanes = FragmentBlock::kRegister;
  float apart[kRegisters * kLanes] = {};
  float* const places[kRegisters] = {apart, apart + kLanes, apart + 2 * kLanes, apart + 3 * kLanes};
  add_steps(0, before_, places);
  add_steps(before_, steps_ - before_, places);
  for (unsigned i = 0; i < kRegisters; ++i) {
    for (unsigned l = 0; l < kLanes; ++l) sums[i][l] = canonical(sums[i][l] + places[i][l]);
  }
}

}  // namespace pyptx::emulator
