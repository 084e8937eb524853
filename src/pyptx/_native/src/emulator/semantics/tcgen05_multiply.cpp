// What a tcgen05.mma does (PTX ISA, "tcgen05.mma", "Data Path Layout Organization", "Block Scaling").
//
// Of a pair, each CTA has half of the rows of A and of D, and half of the columns of B in its shared memory. D of 128
// rows fills the lanes of a CTA; of fewer, parts of its columns are behind each other in the lanes, or it has half of
// each quarter of them. A lane multiplies what of A, of its metadata and of factors is in its own quarter: copies of A
// are there as often as there are parts, and factors in all quarters. Row i of a CTA's A, or column i of a part of D's,
// has its factors in lane i % 32 of column i / 32.
//
// The manual leaves the order and the precision of the additions open. Here they are those of mma (mma.cpp): exact
// products are added in double precision, in the order of k and D last, and the sum is rounded once, to nearest even.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tcgen05_product.h"

namespace pyptx::emulator {
namespace {

using Values = std::vector<double>;  // K by K

uint32_t bits_at(const uint8_t* place, unsigned bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, place, bytes);
  return bits;
}

// An element of so many bits of memory, from a bit on that leaves it in one or two bytes, or begins one.
uint32_t element_at(const uint8_t* place, unsigned first, unsigned bits) {
  if (bits >= 8) return bits_at(place + first / 8, bits / 8);
  return bits_at(place + first / 8, first % 8 + bits > 8 ? 2 : 1) >> first % 8 & ((1u << bits) - 1);
}

// Element e of a chunk of 16 bytes. Packed ones stand in its first bytes; e2m1 is then where a byte of its own has it.
double value_at(const uint8_t* chunk, unsigned e, const TensorMultiplicand& x) {
  const unsigned bits = x.packed != 0 ? x.packed : x.bits();
  const uint32_t value = element_at(chunk, e * bits, bits);
  return x.sign * x.type->value(x.packed == 4 ? value << 2 : value);
}

// What of a multiplicand is in a CTA's shared memory: `count` rows of A, or columns of B, as lines `first` and behind
// of `all`.
void read_shared(const Cta& cta, const std::vector<uint32_t>& places, const TensorMultiplicand& x, unsigned count,
                 unsigned first, unsigned all, Values* values) {
  const unsigned each = kChunk * 8 / x.bits();
  const size_t chunks = (x.columns ? count : x.k()) / each;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t line = i / chunks, in_line = i % chunks * each;
    for (unsigned e = 0; e < each; ++e) {
      const size_t k = x.columns ? line : in_line + e, at = x.columns ? in_line + e : line;
      (*values)[k * all + first + at] = value_at(cta.shared + places[i], e, x);
    }
  }
}

// B: every column, of both CTAs of a pair. Those that the mask of .ws names are zeros.
Values read_b(const TensorProduct& p) {
  const TensorShape& what = p.what;
  Values values(size_t{what.b.k()} * what.n);
  for (unsigned i = 0; i < p.group.size; ++i) {
    read_shared(*p.group.ctas[i], p.b_places[i], what.b, what.lines(), i * what.lines(), what.n, &values);
  }
  for (unsigned n = 0; p.zeros.masks() && n < what.n; ++n) {
    if (!p.zeros.has(n / what.columns(), n % what.columns())) continue;
    for (size_t k = 0; k < what.b.k(); ++k) values[k * what.n + n] = 0;
  }
  return values;
}

// A of a CTA, by slots: from shared memory for every part, or from Tensor Memory, where it lies row by row in the
// lanes, elements beside each other in the columns.
Values read_a(const TensorProduct& p, unsigned cta) {
  const TensorMultiplicand& x = p.what.a;
  const unsigned slots = p.slots();
  Values values(size_t{x.k()} * slots);
  if (!p.a_in_memory) {
    for (unsigned part = 0; part < p.what.parts; ++part) {
      read_shared(*p.group.ctas[cta], p.a_places[cta], x, p.what.rows(), part * p.what.rows(), slots, &values);
    }
    return values;
  }
  TensorMemory& memory = tensor_memory(*p.group.ctas[cta]);
  for (unsigned slot = 0; slot < slots; ++slot) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&memory.at(p.lane_of(slot), p.a.column));
    for (unsigned k = 0; k < x.k(); ++k) {
      values[size_t{k} * slots + slot] = x.sign * x.type->value(element_at(bytes, k * x.bits(), x.bits()));
    }
  }
  return values;
}

// Multiplies lines by the factors that a quarter of the lanes has: `count` lines from `first` on, of `all`, of which
// the first has the factors of line `factor`.
void scale(const TensorProduct& p, TensorMemory& memory, const TensorMultiplicand& x, TensorAddress factors,
           unsigned quarter, unsigned factor, unsigned first, unsigned count, size_t all, Values* values) {
  for (unsigned i = 0; i < count; ++i) {
    const unsigned line = factor + i;
    const uint32_t word =
        memory.at(quarter * kQuarterLanes + line % kQuarterLanes, factors.column + line / kQuarterLanes);
    for (unsigned k = 0; k < x.k(); ++k) {
      const unsigned byte = x.factor_byte + k * p.blocks / x.k();
      (*values)[k * all + first + i] *= p.what.factor(word >> 8 * byte & 0xffu);
    }
  }
}

// The sums of a slot's row of A with the columns of its part of B.
void add_row(const TensorProduct& p, const Values& left, const Values& right, unsigned slot,
             const std::vector<uint8_t>& places, Values* sums) {
  const TensorShape& what = p.what;
  const size_t columns = what.columns(), first = slot / what.rows() * columns;
  sums->assign(columns, 0.0);
  for (size_t e = 0; e < what.a.k(); ++e) {
    const double value = left[e * p.slots() + slot];
    const double* column = &right[places[e] * size_t{what.n} + first];
    for (size_t n = 0; n < columns; ++n) (*sums)[n] += value * column[n];
  }
}

void write_row(const TensorProduct& p, TensorMemory& memory, unsigned lane, const Values& sums) {
  for (unsigned n = 0; n < p.what.columns(); ++n) {
    uint32_t& cell = memory.at(lane, p.d.column + n);
    const double before = p.accumulates ? std::ldexp(addend(p.what.sum, cell), -p.shift) : 0.0;
    cell = rounded(p.what.sum, p.what.saturate, p.accumulates ? sums[n] + before : sums[n]);
  }
}

// D of one CTA.
void multiply(const TensorProduct& p, unsigned cta, const Values& plain) {
  const TensorShape& what = p.what;
  TensorMemory& memory = tensor_memory(*p.group.ctas[cta]);
  Values left = read_a(p, cta), right = plain, sums;
  std::vector<uint8_t> places(what.a.k());
  std::iota(places.begin(), places.end(), uint8_t{0});
  for (unsigned slot = 0; slot < p.slots(); ++slot) {
    const unsigned lane = p.lane_of(slot), quarter = lane / kQuarterLanes;
    if (p.blocks != 0 && lane % kQuarterLanes == 0) {
      const unsigned part = slot / what.rows();
      scale(p, memory, what.a, p.a_factors, quarter, slot % what.rows(), slot, kQuarterLanes, p.slots(), &left);
      right = plain;
      scale(p, memory, what.b, p.b_factors, quarter, 0, part * what.columns(), what.columns(), what.n, &right);
    }
    if (p.disabled[4 * cta + quarter] >> lane % kQuarterLanes & 1u) continue;
    if (p.sparse && !find_tensor_places(p, *p.group.ctas[cta], lane, &places)) return;
    add_row(p, left, right, slot, places, &sums);
    write_row(p, memory, lane, sums);
  }
}

}  // namespace

bool ZeroColumns::has(unsigned part, unsigned column) const {
  const unsigned first = zeros_first(part) ? zeros() : used();
  const unsigned place = (column + start(part)) % (zeros() + used());
  return place < first ? zeros_first(part) : !zeros_first(part);
}

void TensorProduct::perform() {
  const Values right = read_b(*this);
  for (unsigned i = 0; i < group.size; ++i) multiply(*this, i, right);
}

}  // namespace pyptx::emulator
