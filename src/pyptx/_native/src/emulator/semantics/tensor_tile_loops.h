// The loops of tensor_tile.h. Who includes this defines PYPTX_TILE, an attribute of every function, and kWide, how many
// f32 a vector has.
//
// No function of a header is called but intrinsics, so that none is compiled for instructions that the host may lack.
#include <cstring>
#ifdef __AVX2__
#include <immintrin.h>
#endif

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

// Four neighbours, again and again.
template <class V>
PYPTX_INLINE void repeat(V* v, const int16_t* from) {
  uint64_t four;
  __builtin_memcpy(&four, from, sizeof four);
  const Vector<uint64_t, sizeof(V) / sizeof four> all = Vector<uint64_t, sizeof(V) / sizeof four>{} + four;
  load(v, &all);
}

PYPTX_INLINE void repeat(Vector<float, 4>* v, const float* from) { load(v, from); }

#ifdef __AVX2__
PYPTX_INLINE void repeat(Vector<float, 8>* v, const float* from) {
  const __m256 all = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(from));
  load(v, &all);
}
#endif
#ifdef PYPTX_AVX512
constexpr __mmask16 kAllLanes = 0xffff;  // without it GCC warns of lanes that its own headers leave open

PYPTX_INLINE void repeat(Vector<float, 16>* v, const float* from) {
  const __m512 all = _mm512_maskz_broadcast_f32x4(kAllLanes, _mm_loadu_ps(from));
  load(v, &all);
}
#endif

template <unsigned kLanes>
PYPTX_INLINE void widen(const int16_t* from, Vector<int32_t, kLanes>* v) {
  Vector<int16_t, kLanes> shorts;
  load(&shorts, from);
  *v = __builtin_convertvector(shorts, Vector<int32_t, kLanes>);
}

#ifdef __AVX2__
template <>
PYPTX_INLINE void widen<8>(const int16_t* from, Vector<int32_t, 8>* v) {
  const __m256i integers = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  load(v, &integers);
}
#endif
#ifdef PYPTX_AVX512
template <>
PYPTX_INLINE void widen<16>(const int16_t* from, Vector<int32_t, 16>* v) {
  const __m256i shorts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m512i integers = _mm512_maskz_cvtepi16_epi32(kAllLanes, shorts);
  load(v, &integers);
}
#endif

// Whether a bit is set anywhere.
template <class V>
PYPTX_INLINE bool any_bit(const V& v) {
#ifdef PYPTX_AVX512
  if (sizeof v == sizeof(__m512i)) {
    __m512i all;
    __builtin_memcpy(&all, &v, sizeof all < sizeof v ? sizeof all : sizeof v);
    return _mm512_test_epi32_mask(all, all) != 0;
  }
#endif
#ifdef __AVX2__
  if (sizeof v == sizeof(__m256i)) {
    __m256i all;
    __builtin_memcpy(&all, &v, sizeof all < sizeof v ? sizeof all : sizeof v);
    return _mm256_testz_si256(all, all) == 0;
  }
#endif
  Vector<uint64_t, sizeof(V) / sizeof(uint64_t)> words;
  load(&words, &v);
  uint64_t any = 0;
  for (unsigned i = 0; i < sizeof(V) / sizeof(uint64_t); ++i) any |= words[i];
  return any != 0;
}

template <class V>
PYPTX_INLINE void clamp(int32_t low, int32_t high, V* v) {
  const V least = *v * 0 + low, most = *v * 0 + high;
  *v = *v < least ? least : *v;
  *v = *v > most ? most : *v;
}

// ---- Tiles -----------------------------------------------------------------------------------------------

// Columns side by side, of one row: its number is in all lanes.
template <unsigned kColumns, bool kWideOnes>
struct RowTile {
  static constexpr unsigned kLanes = kColumns;
  static constexpr bool kWideNumbers = kWideOnes;

  const TileBlock& block;
  unsigned first;
  float* sums;

  PYPTX_INLINE unsigned length() const { return block.length; }
  PYPTX_INLINE const float* left(unsigned e) const { return block.mine + block.mine_at[e]; }
  PYPTX_INLINE const float* right(unsigned e) const { return block.others + block.at[e] + first; }
  PYPTX_INLINE const int16_t* left_powers(unsigned e) const { return block.exponents + block.mine_at[e]; }
  PYPTX_INLINE const int16_t* right_powers(unsigned e) const { return block.powers + block.at[e] + first; }
  template <class V, class T>
  PYPTX_INLINE static void load_left(V* v, const T* from, unsigned) {
    *v = *from - V{};
  }
  template <class V, class T>
  PYPTX_INLINE static void load_right(V* v, const T* from, unsigned lane) {
    load(v, from + lane);
  }
  PYPTX_INLINE float* place(unsigned lane) const { return sums + lane; }
};

// Lanes of one or two registers of mma.sync and wgmma, from one on: eight rows with four columns each.
struct FragmentTile {
  static constexpr unsigned kLanes = 4 * kWide, kRegister = FragmentBlock::kRegister;
  static constexpr bool kWideNumbers = false;

  const FragmentBlock& block;  // of the lane's rows and columns
  unsigned lane;
  float* const* sums;  // of registers from that of the lane on

  PYPTX_INLINE unsigned length() const { return block.length; }
  PYPTX_INLINE const float* left(unsigned e) const { return block.rows + block.row_at[e]; }
  PYPTX_INLINE const float* right(unsigned e) const { return block.columns + block.column_at[e]; }
  PYPTX_INLINE const int16_t* left_powers(unsigned e) const { return block.row_powers + block.row_at[e]; }
  PYPTX_INLINE const int16_t* right_powers(unsigned e) const { return block.column_powers + block.column_at[e]; }
  template <class V, class T>
  PYPTX_INLINE static void load_left(V* v, const T* from, unsigned more) {
    load(v, from + more % kRegister);
  }
  template <class V, class T>
  PYPTX_INLINE static void load_right(V* v, const T* from, unsigned more) {
    repeat(v, from + more / kRegister * 4);
  }
  PYPTX_INLINE float* place(unsigned more) const { return sums[more / kRegister] + (lane + more) % kRegister; }
};

// The largest exponents of products, and so much more.
template <class Tile>
PYPTX_INLINE void find_tops(const Tile& tile, int16_t more, int16_t* tops) {
  constexpr unsigned kLanes = Tile::kLanes < 2 * kWide ? Tile::kLanes : 2 * kWide, kCount = Tile::kLanes / kLanes;
  using Shorts = Vector<int16_t, kLanes>;
  Shorts top[kCount];
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) top[v] = Shorts{} + static_cast<int16_t>(kLeast);
  for (unsigned e = 0; e < tile.length(); ++e) {
    const int16_t *mine = tile.left_powers(e), *others = tile.right_powers(e);
#pragma GCC unroll 4
    for (unsigned v = 0; v < kCount; ++v) {
      Shorts left, right;
      Tile::load_left(&left, mine, v * kLanes);
      Tile::load_right(&right, others, v * kLanes);
      left += right;
      top[v] = left > top[v] ? left : top[v];
    }
  }
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) {
    const Shorts found = top[v] + more;
    store(tops + v * kLanes, found);
  }
}

// The integer parts of products, from one step on, added in 32 bits. `scales` are 2 ** power for products that are not
// wide.
template <class Tile, unsigned kLanes, unsigned kCount>
PYPTX_INLINE void add_parts(const Tile& tile, unsigned from, unsigned to, const Vector<int32_t, kLanes>* powers,
                            const Vector<float, kLanes>* scales, Vector<uint32_t, kLanes>* parts) {
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  for (unsigned e = from; e < to; ++e) {
    const float *mine = tile.left(e), *others = tile.right(e);
    const int16_t *mine_power = tile.left_powers(e), *powers_at = tile.right_powers(e);
#pragma GCC unroll 4
    for (unsigned v = 0; v < kCount; ++v) {
      Floats number, factor;
      Tile::load_left(&number, mine, v * kLanes);
      Tile::load_right(&factor, others, v * kLanes);
      number *= factor;
      if (Tile::kWideNumbers) {
        Vector<int16_t, kLanes> theirs;
        load(&theirs, powers_at + v * kLanes);
        Ints shift = __builtin_convertvector(theirs, Ints) + static_cast<int32_t>(*mine_power) + powers[v];
        clamp(-100, 126, &shift);  // what is lower is cut off anyway
        raise_two(shift, &factor);
        number *= factor;
      } else {
        number *= scales[v];
      }
      // An infinity or a NaN becomes the lowest integer, and may do so again; its sum is mended afterwards.
      const Ints whole = __builtin_convertvector(number, Ints);
      parts[v] += reinterpret_cast<const Vector<uint32_t, kLanes>&>(whole);
    }
  }
}

// ---- Sums that are plain ---------------------------------------------------------------------------------

// How far integers are from zero: as bits, which the lowest has too.
template <class Ints>
PYPTX_INLINE void find_size(const Ints& x, Ints* size) {
  using Words = Vector<uint32_t, sizeof(Ints) / sizeof(uint32_t)>;
  const Ints below = x >> 31;
  Words sign, words;
  load(&sign, &below);
  load(&words, &x);
  words = (words ^ sign) - sign;
  load(size, &words);
}

#ifdef __AVX2__
PYPTX_INLINE void find_size(const Vector<int32_t, 8>& x, Vector<int32_t, 8>* size) {
  __m256i integer;
  load(&integer, &x);
  integer = _mm256_abs_epi32(integer);
  load(size, &integer);
}
#endif

// An integer below 2 ** 30 as f32, cut toward zero.
template <unsigned kLanes>
PYPTX_INLINE void cut_integer(const Vector<int32_t, kLanes>& sum, const Vector<int32_t, kLanes>& size,
                              Vector<int32_t, kLanes>* bits) {
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  const Floats nearest = __builtin_convertvector(size, Floats);
  const Ints above = __builtin_convertvector(nearest, Ints) > size;  // the nearest f32 may be the one above
  load(bits, &nearest);
  *bits = (*bits + above) | (sum & INT32_MIN);
}

#ifdef PYPTX_AVX512
PYPTX_INLINE void find_size(const Vector<int32_t, 16>& x, Vector<int32_t, 16>* size) {
  __m512i integer;
  load(&integer, &x);
  integer = _mm512_maskz_abs_epi32(kAllLanes, integer);
  load(size, &integer);
}

template <>
PYPTX_INLINE void cut_integer<16>(const Vector<int32_t, 16>& sum, const Vector<int32_t, 16>&,
                                  Vector<int32_t, 16>* bits) {
  __m512i integer;
  load(&integer, &sum);
  const __m512 cut = _mm512_maskz_cvt_roundepi32_ps(kAllLanes, integer, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  load(bits, &cut);
}
#endif

// The larger of sums' own exponents and of their products', as the fields that f32 has of them.
template <class Ints, class Tile>
PYPTX_INLINE void find_fields(const Tile& tile, unsigned lane, const int16_t* tops, Ints* fields) {
  Ints word, products;
  widen<sizeof(Ints) / sizeof(int32_t)>(tops + lane, &products);
  load(&word, tile.place(lane));
  const Ints field = word >> 23 & 0xff;
  *fields = field > products ? field : products;
}

// Adds the block where no accumulator is an infinity or a NaN, 32 bits hold what is added, and one multiplication by a
// power of two brings numbers to the cut and back, of which none is below 2 ** -126 but zeros. Mostly that is so; false,
// and nothing is done, where it is not.
template <class Tile>
PYPTX_INLINE bool add_plain(const Tile& tile, int32_t fraction, unsigned dropped) {
  constexpr unsigned kLanes = Tile::kLanes < kWide ? Tile::kLanes : kWide, kCount = Tile::kLanes / kLanes;
  using Floats = Vector<float, kLanes>;
  using Ints = Vector<int32_t, kLanes>;
  using Words = Vector<uint32_t, kLanes>;
  alignas(64) int16_t tops[Tile::kLanes];
  find_tops(tile, 127, tops);
  Ints power[kCount], low = Ints{} + 254, high = {};
  Floats scale[kCount];
  Words part[kCount] = {};
  Ints size, large = {};
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) {
    Ints top;
    find_fields(tile, v * kLanes, tops, &top);
    low = top < low ? top : low;
    high = top > high ? top : high;
    power[v] = fraction + 127 - top;
    top = (fraction + 254 - top) << 23;
    load(&scale[v], &top);
  }
  if (any_bit((low <= fraction) | (high > 254))) return false;
  // A cut product is below 2 ** (fraction + 2): so many are added in 32 bits without a carry out of them.
  const unsigned most = 1u << (29 - fraction);
  for (unsigned from = 0; from < tile.length(); from += most) {
    const unsigned to = tile.length() - from < most ? tile.length() : from + most;
#pragma GCC unroll 4
    for (unsigned v = 0; from != 0 && v < kCount; ++v) {
      const Words so_far = part[v];
      find_size(reinterpret_cast<const Ints&>(so_far), &size);
      large |= size;
    }
    add_parts<Tile, kLanes, kCount>(tile, from, to, power, scale, part);
  }
  const int32_t mask = static_cast<int32_t>(~0u << dropped) | INT32_MIN;
  Floats done[kCount];
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) {
    Floats number;
    load(&number, tile.place(v * kLanes));
    const Ints cut = __builtin_convertvector(number * scale[v], Ints);
    const Words whole = part[v] + reinterpret_cast<const Words&>(cut);
    const Ints& sum = reinterpret_cast<const Ints&>(whole);
    Ints bits, back;
    find_size(sum, &size);
    large |= size;
    cut_integer<kLanes>(sum, size, &bits);
    bits &= mask;
    load(&done[v], &bits);
    load(&back, &scale[v]);
    back = (254 << 23) - back;
    load(&scale[v], &back);
    done[v] *= scale[v];
  }
  // What is added to sums below 2 ** 30 is at most 2 ** 31: what overflows is not below 2 ** 30.
  if (any_bit(large & ~0x3fffffff)) return false;
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) store(tile.place(v * kLanes), done[v]);
  return true;
}

// ---- All other sums --------------------------------------------------------------------------------------

// The powers of two that bring accumulators and products to the cut, and accumulators to be added: an infinity or a NaN
// is not.
template <class Tile>
PYPTX_INLINE void begin(const Tile& tile, bool half, int32_t fraction, int32_t* powers, float* before) {
  constexpr unsigned kLanes = Tile::kLanes < kWide ? Tile::kLanes : kWide;
  using Ints = Vector<int32_t, kLanes>;
  alignas(64) int16_t tops[Tile::kLanes];
  find_tops(tile, 0, tops);
  for (unsigned i = 0; i < Tile::kLanes; i += kLanes) {
    Ints word, products;
    load(&word, tile.place(i));
    widen<kLanes>(tops + i, &products);
    const Ints size = word & 0x7fffffff, field = size >> 23, least = field * 0 + kLeast, smallest = field * 0 - 14;
    Ints top = field - 127;
    if (half) top = top < smallest ? smallest : top;
    const Ints none = (size == 0) | (field == 255) | (top < least);
    top = none ? least : top;
    top = products > top ? products : top;
    word &= ~(field == 255);
    store(before + i, word);
    store(powers + i, fraction - top);
  }
}

// What of the accumulators is above the cut.
template <unsigned kColumns>
PYPTX_INLINE void cut_before(const float* before, const int32_t* powers, double* totals) {
  constexpr unsigned kLanes = kWide / 2;
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
    const Ints cut = __builtin_convertvector(number, Ints);
    store(totals + i, __builtin_convertvector(cut, Vector<double, kLanes>));
  }
}

// Adds the products of some steps to sums of which doubles hold more.
template <class Tile>
PYPTX_INLINE void add_totals(const Tile& tile, unsigned from, unsigned to, const int32_t* powers, double* totals) {
  constexpr unsigned kLanes = Tile::kLanes < kWide ? Tile::kLanes : kWide, kCount = Tile::kLanes / kLanes;
  using Ints = Vector<int32_t, kLanes>;
  Ints power[kCount];
  Vector<float, kLanes> scale[kCount];
  Vector<uint32_t, kLanes> part[kCount] = {};
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) {
    load(&power[v], powers + v * kLanes);
    Ints raised = power[v];
    clamp(-126, 126, &raised);
    raise_two(raised, &scale[v]);
  }
  add_parts<Tile, kLanes, kCount>(tile, from, to, power, scale, part);
  int32_t parts[Tile::kLanes];
#pragma GCC unroll 4
  for (unsigned v = 0; v < kCount; ++v) store(parts + v * kLanes, part[v]);
  for (unsigned i = 0; i < Tile::kLanes; ++i) totals[i] += parts[i];
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
  result |= sign & (result != 0);  // what rounds to zero is positive on an H200
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

template <class Tile>
PYPTX_TILE __attribute__((noinline)) void add_others(const Tile& tile, bool half, int32_t fraction, unsigned dropped) {
  constexpr unsigned kLanes = Tile::kLanes < kWide ? Tile::kLanes : kWide;
  using Ints = Vector<int32_t, kLanes>;
  int32_t powers[Tile::kLanes];
  float sums[Tile::kLanes];
  double totals[Tile::kLanes];
  begin(tile, half, fraction, powers, sums);
  cut_before<Tile::kLanes>(sums, powers, totals);
  const unsigned most = 1u << (29 - fraction);  // as in add_plain
  for (unsigned from = 0; from < tile.length(); from += most) {
    add_totals(tile, from, tile.length() - from < most ? tile.length() : from + most, powers, totals);
  }
  finish<Tile::kLanes>(half, dropped, powers, totals, sums);
  for (unsigned i = 0; i < Tile::kLanes; i += kLanes) {
    Ints word, before;
    load(&word, sums + i);
    load(&before, tile.place(i));
    const Ints size = before & 0x7fffffff, nan = word * 0 + 0x7fffffff;
    before = size > 0x7f800000 ? nan : before;
    word = size >= 0x7f800000 ? before : word;  // what is no number stays
    store(tile.place(i), word);
  }
}

// ---- Blocks ----------------------------------------------------------------------------------------------

template <unsigned kColumns, bool kWideNumbers>
PYPTX_TILE void add_tile(const TileBlock& block, unsigned first, float* sums) {
  const RowTile<kColumns, kWideNumbers> tile{block, first, sums};
  if (!block.half && add_plain(tile, block.fraction, block.dropped)) return;
  add_others(tile, block.half, block.fraction, block.dropped);
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

PYPTX_TILE void add_fragment(const FragmentBlock& block, float* const* sums) {
  constexpr unsigned kRegister = FragmentBlock::kRegister, kAll = 4 * kRegister;
  for (unsigned lane = 0; lane < kAll; lane += FragmentTile::kLanes) {
    const unsigned number = lane / kRegister, row = number / 2 * kRegister + lane % kRegister, column = number % 2 * 4;
    FragmentBlock part = block;
    part.rows += row;
    part.row_powers += row;
    part.columns += column;
    part.column_powers += column;
    const FragmentTile tile{part, lane, sums + number};
    if (!add_plain(tile, block.fraction, block.dropped)) add_others(tile, false, block.fraction, block.dropped);
  }
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
