// The loops of tensor_tile.h. Who includes this defines PYPTX_TILE, an attribute of every function, and kWide, how many
// f32 a vector has.
//
// No function of a header is called, so that none is compiled for instructions that the host may lack.
#include <cstring>

namespace pyptx::emulator {
namespace {

template <class T, unsigned kCount>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * kCount)));
};
template <class T, unsigned kCount>
using Vector = typename VectorOf<T, kCount>::Type;

#define PYPTX_INLINE PYPTX_TILE inline __attribute__((always_inline))

template <class V, class T>
PYPTX_INLINE void load(V* v, const T* from) {
  __builtin_memcpy(v, from, sizeof(V));
}

template <class V, class T>
PYPTX_INLINE void store(T* to, const V& v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

// 2 ** power, for powers that f32 has.
template <class F, class I>
PYPTX_INLINE void raise_two(const I& power, F* result) {
  const I field = (power + 127) << 23;
  load(result, &field);
}

template <class V>
PYPTX_INLINE void clamp(int32_t low, int32_t high, V* v) {
  const V least = *v * 0 + low, most = *v * 0 + high;
  *v = *v < least ? least : *v;
  *v = *v > most ? most : *v;
}

// The accumulators of one block as addends, with their exponents. An infinity or a NaN is not added here.
template <unsigned kColumns>
PYPTX_INLINE void begin(bool half, const float* sums, int16_t* tops, float* before) {
  constexpr unsigned kLanes = kColumns < kWide ? kColumns : kWide;
  using Ints = Vector<int32_t, kLanes>;
  for (unsigned i = 0; i < kColumns; i += kLanes) {
    Ints word;
    load(&word, sums + i);
    const Ints size = word & 0x7fffffff, field = size >> 23, least = field * 0 + kLeast;
    Ints top = field - 127;
    if (half) {
      const Ints smallest = field * 0 - 14;
      top = top < smallest ? smallest : top;
      top = size == 0 ? least : top;
    } else {
      top = top < least ? least : top;
    }
    const Ints special = field == 255;
    top = special ? least : top;
    word &= ~special;
    store(before + i, word);
    store(tops + i, __builtin_convertvector(top, Vector<int16_t, kLanes>));
  }
}

template <unsigned kColumns>
PYPTX_INLINE void find_tops(const TileBlock& block, unsigned first, int16_t* tops) {
  constexpr unsigned kLanes = kColumns < 2 * kWide ? kColumns : 2 * kWide, kCount = kColumns / kLanes;
  using Shorts = Vector<int16_t, kLanes>;
  Shorts top[kCount];
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) load(&top[v], tops + v * kLanes);
  for (unsigned e = 0; e < block.length; ++e) {
    const int16_t* powers = block.powers + block.at[e] + first;
    const int16_t mine = block.exponents[block.mine_at[e]];
#pragma GCC unroll 4
    for (unsigned v = 0; v < kCount; ++v) {
      Shorts sum;
      load(&sum, powers + v * kLanes);
      sum += mine;
      top[v] = sum > top[v] ? sum : top[v];
    }
  }
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) store(tops + v * kLanes, top[v]);
}

// The integer parts of products, from one step on, added in 32 bits.
template <unsigned kColumns, bool kWideNumbers>
PYPTX_INLINE void add_parts(const TileBlock& block, unsigned first, unsigned from, unsigned to, const int32_t* powers,
                            int32_t* parts) {
  constexpr unsigned kLanes = kColumns < kWide ? kColumns : kWide, kCount = kColumns / kLanes;
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  using Words = Vector<uint32_t, kLanes>;
  Words part[kCount] = {};
  Ints power[kCount];
  Floats scale[kCount];
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) {
    load(&power[v], powers + v * kLanes);
    Ints raised = power[v];
    clamp(-126, 126, &raised);
    raise_two(raised, &scale[v]);
  }
  for (unsigned e = from; e < to; ++e) {
    const uint32_t at = block.at[e] + first;
    const float mine = block.mine[block.mine_at[e]];
    const int32_t exponent = kWideNumbers ? block.exponents[block.mine_at[e]] : 0;
#pragma GCC unroll 4
    for (unsigned v = 0; v < kCount; ++v) {
      Floats number;
      load(&number, block.others + at + v * kLanes);
      number *= mine;
      if (kWideNumbers) {
        Vector<int16_t, kLanes> theirs;
        load(&theirs, block.powers + at + v * kLanes);
        Ints shift = __builtin_convertvector(theirs, Ints) + exponent + power[v];
        clamp(-100, 126, &shift);  // what is lower is cut off anyway
        Floats factor;
        raise_two(shift, &factor);
        number *= factor;
      } else {
        number *= scale[v];
      }
      // An infinity or a NaN becomes the lowest integer, and may do so again; its sum is mended afterwards.
      const Ints whole = __builtin_convertvector(number, Ints);
      part[v] += reinterpret_cast<const Words&>(whole);
    }
  }
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) store(parts + v * kLanes, part[v]);
}

// What of the accumulators is above the cut, as integers.
template <unsigned kColumns>
PYPTX_INLINE void cut_before(const float* before, const int32_t* powers, int32_t* cuts) {
  constexpr unsigned kLanes = kColumns < kWide ? kColumns : kWide;
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  for (unsigned i = 0; i < kColumns; i += kLanes) {
    Ints power, once;
    Floats number, factor;
    load(&power, powers + i);
    load(&number, before + i);
    once = power;
    clamp(-126, 126, &once);
    power -= once;
    clamp(-126, 126, &power);
    raise_two(once, &factor);
    number *= factor;
    raise_two(power, &factor);
    number *= factor;
    store(cuts + i, __builtin_convertvector(number, Ints));
  }
}

// The nearest f16, as f64; beyond the largest an infinity.
template <class D, class L>
PYPTX_INLINE void round_to_half(D* x) {
  L bits;
  load(&bits, x);
  const L sign = bits & INT64_MIN, least = bits * 0 + (1023 - 14), infinity = bits * 0 + 0x7ff0000000000000;
  L exponent = bits >> 52 & 0x7ff;
  exponent = exponent < least ? least : exponent;
  const L carried = (exponent + 42) << 52 | int64_t{1} << 51;  // whose last bit is that of the f16
  D carrier;
  load(&carrier, &carried);
  const D rounded = (*x + carrier) - carrier;
  L result;
  load(&result, &rounded);
  result &= INT64_MAX;
  D size;
  load(&size, &result);
  result = size > 65504.0 ? infinity : result;
  result |= sign;  // of a zero, too
  load(x, &result);
}

// Cut toward zero where f32 has subnormal numbers.
PYPTX_INLINE float cut_tiny(double x, unsigned dropped) {
  const double size = x < 0 ? -x : x;
  uint64_t field = static_cast<uint64_t>(1023 + 149 - dropped) << 52;
  double scale;
  __builtin_memcpy(&scale, &field, sizeof scale);
  field = static_cast<uint64_t>(1023 - 149 + dropped) << 52;
  double unit;
  __builtin_memcpy(&unit, &field, sizeof unit);
  const double cut = static_cast<double>(static_cast<int64_t>(size * scale)) * unit;
  return static_cast<float>(x < 0 ? -cut : cut);
}

// Sums of integers below the largest exponents, cut or rounded to the type.
template <unsigned kColumns>
PYPTX_INLINE void finish(bool half, unsigned dropped, const int32_t* powers, const double* totals, float* sums) {
  constexpr unsigned kLanes = kWide / 2;
  using Doubles = Vector<double, kLanes>;
  using Longs = Vector<int64_t, kLanes>;
  Longs any = {};
  double exact[kColumns];
  for (unsigned i = 0; i < kColumns; i += kLanes) {
    Vector<int32_t, kLanes> power;
    load(&power, powers + i);
    const Longs field = (1023 - __builtin_convertvector(power, Longs)) << 52;
    Doubles x, scale;
    load(&scale, &field);
    load(&x, totals + i);
    x *= scale;
    store(exact + i, x);
    if (half) {
      round_to_half<Doubles, Longs>(&x);
    } else {
      Longs bits;
      load(&bits, &x);
      const Longs size = bits & INT64_MAX;
      any |= (size != 0) & (size < 0x3810000000000000);  // 2 ** -126
      bits &= static_cast<int64_t>(~uint64_t{0} << (29 + dropped));
      load(&x, &bits);
    }
    store(sums + i, __builtin_convertvector(x, Vector<float, kLanes>));
  }
  int64_t tiny = 0;
  for (unsigned i = 0; i < kLanes; ++i) tiny |= any[i];
  for (unsigned i = 0; tiny != 0 && i < kColumns; ++i) {
    const double size = exact[i] < 0 ? -exact[i] : exact[i];
    if (size < 0x1p-126 && size != 0) sums[i] = cut_tiny(exact[i], dropped);
  }
}

// Whether all largest exponents are such that neither an addend nor a sum other than zero is below 2 ** -126, and one
// multiplication by a power of two brings them to the cut and back.
template <unsigned kColumns>
PYPTX_INLINE bool find_powers(int32_t fraction, const int16_t* tops, int32_t* powers) {
  constexpr unsigned kLanes = kColumns < kWide ? kColumns : kWide;
  using Ints = Vector<int32_t, kLanes>;
  Ints out = {};
  for (unsigned i = 0; i < kColumns; i += kLanes) {
    Vector<int16_t, kLanes> top;
    load(&top, tops + i);
    const Ints power = fraction - __builtin_convertvector(top, Ints);
    store(powers + i, power);
    out |= (power > 126) | (power < -126);
  }
  int32_t any = 0;
  for (unsigned l = 0; l < kLanes; ++l) any |= out[l];
  return any == 0;
}

// finish_plain of sums that 32 bits hold, which are mostly all; false, and nothing is done, where they do not.
template <unsigned kColumns>
PYPTX_INLINE bool finish_small(unsigned dropped, const int32_t* powers, const int32_t* parts, const float* before,
                               float* sums) {
  constexpr unsigned kLanes = kColumns < kWide ? kColumns : kWide, kCount = kColumns / kLanes;
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  using Words = Vector<uint32_t, kLanes>;
  Ints large = {};
  Floats done[kCount];
  const int32_t mask = static_cast<int32_t>(~0u << dropped);
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) {
    Ints power, part;
    Floats number, scale;
    load(&power, powers + v * kLanes);
    load(&part, parts + v * kLanes);
    load(&number, before + v * kLanes);
    raise_two(power, &scale);
    const Ints cut = __builtin_convertvector(number * scale, Ints);
    const Words whole = reinterpret_cast<const Words&>(part) + reinterpret_cast<const Words&>(cut);
    const Ints sum = reinterpret_cast<const Ints&>(whole), sign = sum >> 31;
    const Words below = reinterpret_cast<const Words&>(sign), size = (whole ^ below) - below;
    // 2 ** 30 and more is left to finish_plain, and so is a sum that overflows.
    const Words far = size | size << 1;
    large |= ((part ^ sum) & (cut ^ sum)) | reinterpret_cast<const Ints&>(far);
    const Ints integer = reinterpret_cast<const Ints&>(size);
    // The nearest f32 may be the one above.
    const Floats nearest = __builtin_convertvector(integer, Floats);
    const Ints above = __builtin_convertvector(nearest, Ints) > integer;
    Ints bits;
    load(&bits, &nearest);
    bits = ((bits + above) & mask) | (sign & INT32_MIN);
    Floats kept;
    load(&kept, &bits);
    raise_two(-power, &scale);
    done[v] = kept * scale;
  }
  int32_t any = 0;
  for (unsigned l = 0; l < kLanes; ++l) any |= large[l];
  if (any < 0) return false;
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) store(sums + v * kLanes, done[v]);
  return true;
}

// The same as `finish` of sums in f32, where find_powers says so.
template <unsigned kColumns>
PYPTX_INLINE void finish_plain(unsigned dropped, const int32_t* powers, const int32_t* parts, const float* before,
                               float* sums) {
  constexpr unsigned kLanes = kWide / 2;
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  using Doubles = Vector<double, kLanes>;
  using Longs = Vector<int64_t, kLanes>;
  if (finish_small<kColumns>(dropped, powers, parts, before, sums)) return;
  const auto mask = static_cast<int64_t>(~uint64_t{0} << (29 + dropped));
  for (unsigned i = 0; i < kColumns; i += kLanes) {
    Ints power, part;
    Floats number, scale;
    load(&power, powers + i);
    load(&part, parts + i);
    load(&number, before + i);
    raise_two(power, &scale);
    const Ints cut = __builtin_convertvector(number * scale, Ints);
    const Doubles total = __builtin_convertvector(part, Doubles) + __builtin_convertvector(cut, Doubles);
    Longs bits;
    load(&bits, &total);
    bits &= mask;
    Doubles kept;
    load(&kept, &bits);
    raise_two(-power, &scale);
    store(sums + i, __builtin_convertvector(kept, Floats) * scale);
  }
}

template <unsigned kColumns>
PYPTX_INLINE void add_totals(const int32_t* parts, double* totals) {
  constexpr unsigned kLanes = kWide / 2;
  for (unsigned i = 0; i < kColumns; i += kLanes) {
    Vector<double, kLanes> total;
    Vector<int32_t, kLanes> part;
    load(&total, totals + i);
    load(&part, parts + i);
    total += __builtin_convertvector(part, Vector<double, kLanes>);
    store(totals + i, total);
  }
}

template <unsigned kColumns, bool kWideNumbers>
PYPTX_TILE void add_tile(const TileBlock& block, unsigned first, float* sums) {
  int16_t tops[kColumns];
  int32_t powers[kColumns], parts[kColumns];
  float before[kColumns];
  begin<kColumns>(block.half, sums, tops, before);
  find_tops<kColumns>(block, first, tops);
  const bool plain = find_powers<kColumns>(block.fraction, tops, powers);
  // A cut product is below 2 ** (fraction + 2): so many are added in 32 bits without a carry out of them.
  const unsigned most = 1u << (29 - block.fraction);
  if (plain && !block.half && block.length <= most) {
    add_parts<kColumns, kWideNumbers>(block, first, 0, block.length, powers, parts);
    finish_plain<kColumns>(block.dropped, powers, parts, before, sums);
    return;
  }
  int32_t cuts[kColumns];
  double totals[kColumns];
  cut_before<kColumns>(before, powers, cuts);
  for (unsigned i = 0; i < kColumns; ++i) totals[i] = cuts[i];
  for (unsigned from = 0; from < block.length; from += most) {
    const unsigned to = block.length - from < most ? block.length : from + most;
    add_parts<kColumns, kWideNumbers>(block, first, from, to, powers, parts);
    add_totals<kColumns>(parts, totals);
  }
  finish<kColumns>(block.half, block.dropped, powers, totals, sums);
}

template <bool kWideNumbers>
PYPTX_TILE void add_tiles(const TileBlock& block, unsigned first, unsigned columns, float* sums) {
  unsigned n = 0;
  for (; n + 4 * kWide <= columns; n += 4 * kWide) add_tile<4 * kWide, kWideNumbers>(block, first + n, sums + n);
  if (kWide > 8) {
    for (; n + kWide <= columns; n += kWide) add_tile<kWide, kWideNumbers>(block, first + n, sums + n);
  }
  for (; n < columns; n += 8) add_tile<8, kWideNumbers>(block, first + n, sums + n);
}

PYPTX_TILE void add(const TileBlock& block, unsigned first, unsigned columns, float* sums) {
  if (block.wide) add_tiles<true>(block, first, columns, sums);
  else add_tiles<false>(block, first, columns, sums);
}

// Of eight rows, two registers.
constexpr unsigned kRegister = 32, kPair = 2 * kRegister;

PYPTX_INLINE void find_pair_tops(const FragmentBlock& block, unsigned pair, int16_t* tops) {
  constexpr unsigned kLanes = 2 * kWide, kCount = kRegister / kLanes;
  using Shorts = Vector<int16_t, kLanes>;
  Shorts top[2][kCount];
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; ++half) {
#pragma GCC unroll 4
    for (unsigned v = 0; v < kCount; ++v) load(&top[half][v], tops + half * kRegister + v * kLanes);
  }
  for (unsigned e = 0; e < block.length; ++e) {
    const int16_t* rows = block.row_powers + block.steps[e] * FragmentBlock::kRowValues + pair * kRegister;
    const int16_t* columns = block.column_powers + block.steps[e] * FragmentBlock::kColumnPowers;
#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; ++half) {
      Shorts column;
      load(&column, columns + half * kRegister);
#pragma GCC unroll 4
      for (unsigned v = 0; v < kCount; ++v) {
        Shorts sum;
        load(&sum, rows + v * kLanes);
        sum += column;
        top[half][v] = sum > top[half][v] ? sum : top[half][v];
      }
    }
  }
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; ++half) {
#pragma GCC unroll 4
    for (unsigned v = 0; v < kCount; ++v) store(tops + half * kRegister + v * kLanes, top[half][v]);
  }
}

PYPTX_INLINE void add_pair_parts(const FragmentBlock& block, unsigned pair, unsigned from, unsigned to,
                                 const int32_t* powers, int32_t* parts) {
  constexpr unsigned kCount = kRegister / kWide;
  using Floats = Vector<float, kWide>;
  using Ints = Vector<int32_t, kWide>;
  using Words = Vector<uint32_t, kWide>;
  Words part[2][kCount] = {};
  Floats scale[2][kCount];
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; ++half) {
#pragma GCC unroll 8
    for (unsigned v = 0; v < kCount; ++v) {
      Ints power;
      load(&power, powers + half * kRegister + v * kWide);
      clamp(-126, 126, &power);
      raise_two(power, &scale[half][v]);
    }
  }
  for (unsigned e = from; e < to; ++e) {
    const float* rows = block.rows + block.steps[e] * FragmentBlock::kRowValues + pair * kRegister;
    const float* columns = block.columns + block.steps[e] * FragmentBlock::kColumnValues;
#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; ++half) {
      Floats column;
      load(&column, columns + half * FragmentBlock::kColumnValues / 2);
#pragma GCC unroll 8
      for (unsigned v = 0; v < kCount; ++v) {
        Floats number;
        load(&number, rows + v * kWide);
        number *= column;
        number *= scale[half][v];
        const Ints whole = __builtin_convertvector(number, Ints);
        part[half][v] += reinterpret_cast<const Words&>(whole);
      }
    }
  }
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; ++half) {
#pragma GCC unroll 8
    for (unsigned v = 0; v < kCount; ++v) store(parts + half * kRegister + v * kWide, part[half][v]);
  }
}

// As add_tile does.
PYPTX_TILE void add_pair(const FragmentBlock& block, unsigned pair, float* sums) {
  int16_t tops[kPair];
  int32_t powers[kPair], parts[kPair];
  float before[kPair];
  begin<kPair>(false, sums, tops, before);
  find_pair_tops(block, pair, tops);
  const bool plain = find_powers<kPair>(block.fraction, tops, powers);
  const unsigned most = 1u << (29 - block.fraction);
  if (plain && block.length <= most) {
    add_pair_parts(block, pair, 0, block.length, powers, parts);
    finish_plain<kPair>(block.dropped, powers, parts, before, sums);
    return;
  }
  int32_t cuts[kPair];
  double totals[kPair];
  cut_before<kPair>(before, powers, cuts);
  for (unsigned i = 0; i < kPair; ++i) totals[i] = cuts[i];
  for (unsigned from = 0; from < block.length; from += most) {
    const unsigned to = block.length - from < most ? block.length : from + most;
    add_pair_parts(block, pair, from, to, powers, parts);
    add_totals<kPair>(parts, totals);
  }
  finish<kPair>(false, block.dropped, powers, totals, sums);
}

PYPTX_TILE void add_fragment(const FragmentBlock& block, float* sums) {
  add_pair(block, 0, sums);
  add_pair(block, 1, sums + kPair);
}

PYPTX_TILE Extent examine(uint32_t sign, int32_t least, size_t count, float* values, int16_t* exponents) {
  using Ints = Vector<int32_t, kWide>;
  Ints low = {}, high = {}, special = {};
  const auto look = [&](float* value, int16_t* exponent) PYPTX_TILE {
    Ints word;
    load(&word, value);
    word ^= static_cast<int32_t>(sign);
    store(value, word);
    const Ints size = word & 0x7fffffff, field = size >> 23, limit = field * 0 + least, none = field * 0 + kNothing;
    const Ints infinite = field == 255, nothing = (size == 0) | infinite;
    Ints power = field - 127;
    power = power < limit ? limit : power;
    special |= infinite;
    const Ints seen = power & ~nothing;
    low = seen < low ? seen : low;
    high = seen > high ? seen : high;
    power = nothing ? none : power;
    store(exponent, __builtin_convertvector(power, Vector<int16_t, kWide>));
  };
  size_t i = 0;
  for (; i + kWide <= count; i += kWide) look(values + i, exponents + i);
  if (i < count) {
    float some[kWide] = {};
    int16_t found[kWide];
    __builtin_memcpy(some, values + i, (count - i) * sizeof(float));
    look(some, found);
    __builtin_memcpy(values + i, some, (count - i) * sizeof(float));
    __builtin_memcpy(exponents + i, found, (count - i) * sizeof(int16_t));
  }
  Extent extent;
  for (unsigned l = 0; l < kWide; ++l) {
    extent.low = low[l] < extent.low ? low[l] : extent.low;
    extent.high = high[l] > extent.high ? high[l] : extent.high;
    extent.special |= special[l] != 0;
  }
  return extent;
}

#undef PYPTX_INLINE

}  // namespace
}  // namespace pyptx::emulator
