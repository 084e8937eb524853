// How tensor cores add products: mma.sync, wmma, wgmma and tcgen05.mma of floating-point numbers.
//
// The manual leaves the order and the precision of the additions open. What is here is the model that two papers give
// for what they measured, P. Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores"
// (arXiv:2511.10909) and F. Khattak and M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv:2512.07004), and,
// where ptxas makes several instructions of one, what its machine code says.
//
// A tensor core adds a block of products and the accumulator at once. The exponent of a product is the sum of its
// factors' exponents, so its significand is below 4; subnormal numbers have the lowest exponent of their type. All are
// cut, toward zero, to `fraction` bits below the largest exponent of the block, and the cut numbers are added exactly.
// The sum is cut to f32, or rounded to the nearest f16, and is the accumulator of the next block.
#pragma once

#include <cstdint>
#include <new>
#include <vector>

#include "elements.h"
#include "tensor_tile.h"

namespace pyptx::emulator {

enum class TensorUnit : uint8_t { Mma, Wgmma, Tcgen05 };

// What the table of the model (tensor_sum.cpp) has of one target and one type.
struct Addition {
  unsigned block = 16;     // products that are added at once
  unsigned fraction = 24;  // bits that are kept below the largest exponent
  unsigned dropped = 0;    // low bits that a sum in f32 lacks
  // Elements of 8 bits that ptxas multiplies as f16, of which subnormal e4m3 are normal numbers: a block of those with
  // k % 4 < 2, then one of the others, from zero on; the accumulator is added to the sum, rounded to nearest.
  bool apart = false;
  unsigned group = 0;  // products of one pair of factors, which are added exactly before they are scaled
};

// `scaled`: with factors of blocks (block scaling).
Addition addition_of(unsigned sm, TensorUnit unit, const Multiplied& a, const Multiplied& b, bool scaled);

// Arrays that begin where the host's vectors do.
template <class T>
struct Aligned {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  void deallocate(T* place, size_t) { ::operator delete(place, kAlignment); }
  bool operator==(const Aligned&) const { return true; }
  bool operator!=(const Aligned&) const { return false; }
};
template <class T>
using AlignedVector = std::vector<T, Aligned<T>>;

// A multiplicand: the numbers of `count` lines, which are rows of A or columns of B, `steps` of each, step by step. Of
// many lines, some that are not there follow, all zeros: steps that are 1024 bytes apart would share places of a cache.
class Numbers {
 public:
  unsigned count = 0, steps = 0, stride = 0;
  AlignedVector<uint32_t> bits;  // in the type, to be filled before read()
  std::vector<double> factors;  // of each number, or none
  int least_factor = -127;      // the exponent of the smallest normal factor

  void resize(unsigned lines, unsigned along);
  size_t at(unsigned step, unsigned line) const { return size_t{step} * stride + line; }
  // Takes the numbers that the bits are, negated if so; exponents are those that they have in f16 if `as_half`.
  void read(const Multiplied& type, bool negated, bool as_half = false);
  // Takes the factors into account, which multiply_block then reads no more; of Addition::group they stay apart.
  void scale();
  void clear(unsigned line);  // its numbers are zeros
  // Step by step; zeros have exponent kNothing. They say all of a number that is neither wide nor special.
  const float* values() const { return value_.data(); }
  const int16_t* exponents() const { return exponent_.data(); }
  bool plain() const { return !wide_ && !any_special_; }

 private:
  friend class TensorSum;
  void find_significands();

  // value = significand * 2 ** exponent, the significand below 2. Zeros have exponent kNothing.
  AlignedVector<float> value_, significand_;
  AlignedVector<int16_t> exponent_;
  std::vector<uint8_t> special_;  // of each line: whether it has infinities or NaNs
  bool any_special_ = false;
  bool wide_ = false;  // whether products, or what they are scaled by, may leave f32
  bool known_ = false;  // significands
};

// Sixteen rows as FragmentBlock has them.
struct SpreadRows {
  static constexpr unsigned kRows = 16, kMostSpread = 32;  // steps

  alignas(64) float values[kMostSpread * FragmentBlock::kRowValues];
  alignas(64) int16_t powers[kMostSpread * FragmentBlock::kRowValues];

  void spread(const Numbers& rows);
};

// Whether sums in f32 of sixteen rows with plain numbers are those of FragmentSum.
bool adds_fragments(const Addition& how, Sum type, unsigned steps);

// The rows times columns, in the order of registers.
class FragmentSum {
 public:
  FragmentSum(const Addition& how, const SpreadRows& rows, const Numbers& columns);

  // Adds to the sums of four registers the products with eight columns from `first` on.
  void add(unsigned first, float* const* sums);

 private:
  void add_steps(unsigned from, unsigned length, float* const* sums);

  Addition how_;
  // Where steps are, in the order in which they are added; so many come before the others if these are added apart.
  uint32_t row_at_[SpreadRows::kMostSpread], column_at_[SpreadRows::kMostSpread];
  unsigned steps_ = 0, before_ = 0;
  const float* columns_;
  const int16_t* column_powers_;
  FragmentBlock block_;
};

// A row of A times columns of B.
class TensorSum {
 public:
  TensorSum(const Addition& how, Sum type, Numbers& a, Numbers& b);

  // Adds to accumulators the products of a row with `columns` (a multiple of 8) of B, from `first` on. Step e of A is
  // multiplied with step places[e] of B, or, without places, with step e. Accumulators are as registers have them, one
  // in each word; they are divided by 2 ** shift first.
  void add(unsigned row, unsigned first, unsigned columns, const uint8_t* places, bool satfinite, int shift,
           uint32_t* accumulators);

 private:
  // Some of the row's steps, in the order in which they are added.
  struct Steps {
    unsigned first, length;
  };

  void place(const uint8_t* places);
  void add_floats(unsigned row, unsigned first, unsigned columns, const uint8_t* places, float* sums);
  void add_integers(unsigned row, unsigned first, unsigned columns, const uint8_t* places, float* sums) const;
  void add_block(unsigned row, Steps steps, unsigned first, unsigned columns, float* sums);
  void add_groups(unsigned row, Steps steps, unsigned first, unsigned columns, float* sums);
  void mend_special(unsigned row, Steps steps, unsigned column, unsigned columns, const float* before, float* sums) const;

  Addition how_;
  Sum type_;
  const Numbers &a_, &b_;
  bool wide_;
  TileBlock block_;  // that is being added
  // The steps of A and B in the order in which they are added, of which so many come before the others if these are
  // added apart; and where they are.
  unsigned before_ = 0;
  uint8_t a_step_[kMostSteps], b_step_[kMostSteps];
  uint32_t a_at_[kMostSteps], b_at_[kMostSteps];
};

}  // namespace pyptx::emulator
