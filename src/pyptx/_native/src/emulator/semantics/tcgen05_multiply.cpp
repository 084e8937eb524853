// What a tcgen05.mma does (PTX ISA, "tcgen05.mma", "Data Path Layout Organization", "Block Scaling").
//
// Of a pair, each CTA has half of the rows of A and of D, and half of the columns of B in its shared memory. D of 128
// rows fills the lanes of a CTA; of fewer, parts of its columns are behind each other in the lanes, or it has half of
// each quarter of them. A lane multiplies what of A, of its metadata and of factors is in its own quarter: copies of A
// are there as often as there are parts, and factors in all quarters. Row i of a CTA's A, or column i of a part of D's,
// has its factors in lane i % 32 of column i / 32.
//
// Sums are those of tensor_sum.h.
#include <algorithm>
#include <cstring>
#include <optional>

#include "multiplicand.h"
#include "tcgen05_product.h"
#include "tensor_sum.h"

namespace pyptx::emulator {
namespace {

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
uint32_t number_at(const uint8_t* chunk, unsigned e, const TensorMultiplicand& x) {
  const unsigned bits = x.packed != 0 ? x.packed : x.bits();
  const uint32_t number = element_at(chunk, e * bits, bits);
  return x.packed == 4 ? number << 2 : number;
}

template <class T>
void load_elements(const Cta& cta, const std::vector<uint32_t>& places, bool columns, LineRange range, Numbers* numbers) {
  if (columns) load_columns<T, LineOrder>(cta, places, range, numbers);
  else load_rows<T, LineOrder>(cta, places, range, numbers);
}

// What of a multiplicand is in a CTA's shared memory: `count` rows of A, or columns of B, as lines `first` and behind.
void read_shared(const Cta& cta, const std::vector<uint32_t>& places, const TensorMultiplicand& x, unsigned count,
                 unsigned first, Numbers* numbers) {
  const LineRange range{first, count};
  if (x.packed == 0 && x.bits() >= 8 && (x.columns || count % 4 == 0)) {
    if (x.bits() == 8) load_elements<uint8_t>(cta, places, x.columns, range, numbers);
    else if (x.bits() == 16) load_elements<uint16_t>(cta, places, x.columns, range, numbers);
    else load_elements<uint32_t>(cta, places, x.columns, range, numbers);
    return;
  }
  const unsigned each = kChunk * 8 / x.bits();
  const size_t chunks = (x.columns ? count : x.k()) / each;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t line = i / chunks, in_line = i % chunks * each;
    for (unsigned e = 0; e < each; ++e) {
      const size_t k = x.columns ? line : in_line + e, at = x.columns ? in_line + e : line;
      numbers->bits[numbers->at(static_cast<unsigned>(k), static_cast<unsigned>(first + at))] = number_at(cta.shared + places[i], e, x);
    }
  }
}

// B: every column, of both CTAs of a pair. Those that the mask of .ws names are zeros.
void read_b(const TensorProduct& p, Numbers* numbers) {
  const TensorShape& what = p.what;
  numbers->resize(what.n, what.b.k());
  for (unsigned i = 0; i < p.group.size; ++i) {
    read_shared(*p.group.ctas[i], *p.b_places[i], what.b, what.lines(), i * what.lines(), numbers);
  }
  numbers->read(*what.b.type, what.b.sign < 0);
  for (unsigned n = 0; p.zeros.masks() && n < what.n; ++n) {
    if (p.zeros.has(n / what.columns(), n % what.columns())) numbers->clear(n);
  }
}

// A of a CTA, by slots: from shared memory for every part, or from Tensor Memory, where it lies row by row in the
// lanes, elements beside each other in the columns.
void read_a(const TensorProduct& p, unsigned cta, Numbers* numbers) {
  const TensorMultiplicand& x = p.what.a;
  const unsigned slots = p.slots();
  numbers->resize(slots, x.k());
  if (!p.a_in_memory) {
    for (unsigned part = 0; part < p.what.parts; ++part) {
      read_shared(*p.group.ctas[cta], *p.a_places[cta], x, p.what.rows(), part * p.what.rows(), numbers);
    }
    numbers->read(*x.type, x.sign < 0);
    return;
  }
  TensorMemory& memory = tensor_memory(*p.group.ctas[cta]);
  for (unsigned slot = 0; slot < slots; ++slot) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&memory.at(p.lane_of(slot), p.a.column));
    for (unsigned k = 0; k < x.k(); ++k) {
      numbers->bits[numbers->at(k, slot)] = element_at(bytes, k * x.bits(), x.bits());
    }
  }
  numbers->read(*x.type, x.sign < 0);
}

// Gives lines the factors that a quarter of the lanes has: `count` lines from `first` on, of which the first has the
// factors of line `factor`. Of a sparse A, whose elements are stored close together, a factor is of as many of those.
void set_factors(const TensorProduct& p, TensorMemory& memory, const TensorMultiplicand& x, TensorAddress factors,
                 unsigned quarter, unsigned factor, unsigned first, unsigned count, Numbers* numbers) {
  for (unsigned i = 0; i < count; ++i) {
    const unsigned line = factor + i;
    const uint32_t word =
        memory.at(quarter * kQuarterLanes + line % kQuarterLanes, factors.column + line / kQuarterLanes);
    for (unsigned k = 0; k < x.k(); ++k) {
      const unsigned byte = x.factor_byte + k * p.blocks / x.k();
      numbers->factors[numbers->at(k, first + i)] = p.what.factor(word >> 8 * byte & 0xffu);
    }
  }
}

// The multiplicands as a quarter of the lanes scales them.
void scale(const TensorProduct& p, TensorMemory& memory, const Addition& how, unsigned slot, unsigned quarter,
           Numbers* a, Numbers* b) {
  const TensorShape& what = p.what;
  for (Numbers* numbers : {a, b}) {
    numbers->factors.assign(numbers->bits.size(), 1);
    numbers->least_factor = p.what.least_factor;
  }
  const unsigned lines = std::min(kQuarterLanes, p.slots() - slot);
  set_factors(p, memory, what.a, p.a_factors, quarter, slot % what.rows(), slot, lines, a);
  set_factors(p, memory, what.b, p.b_factors, quarter, 0, slot / what.rows() * what.columns(), what.columns(), b);
  if (how.group != 0) return;
  a->scale();
  b->scale();
}

// D of a slot's row of A with the columns of its part of B.
void add_row(const TensorProduct& p, TensorMemory& memory, unsigned slot, const uint8_t* places, TensorSum* sum) {
  const unsigned columns = p.what.columns(), lane = p.lane_of(slot);
  uint32_t* row = &memory.at(lane, p.d.column);
  if (!p.accumulates) std::fill(row, row + columns, 0u);
  sum->add(slot, slot / p.what.rows() * columns, columns, places, p.what.saturate, p.shift, row);
}

// D of one CTA.
void multiply(const TensorProduct& p, unsigned cta, Numbers& b) {
  const TensorShape& what = p.what;
  TensorMemory& memory = tensor_memory(*p.group.ctas[cta]);
  static thread_local Numbers a;
  Numbers scaled_a, scaled_b;
  read_a(p, cta, &a);
  const Addition how = addition_of(p.sm, TensorUnit::Tcgen05, *what.a.type, *what.b.type, p.blocks != 0);
  TensorSum plain(how, what.sum, a, b);
  std::vector<uint8_t> places(what.a.k());
  for (unsigned slot = 0; slot < p.slots(); ++slot) {
    const unsigned lane = p.lane_of(slot), quarter = lane / kQuarterLanes;
    if (p.blocks != 0 && lane % kQuarterLanes == 0) {
      scaled_a = a;
      scaled_b = b;
      scale(p, memory, how, slot, quarter, &scaled_a, &scaled_b);
    }
    if (p.disabled[4 * cta + quarter] >> lane % kQuarterLanes & 1u) continue;
    if (p.sparse && !find_tensor_places(p, *p.group.ctas[cta], lane, &places)) return;
    std::optional<TensorSum> of_scaled;
    if (p.blocks != 0) of_scaled.emplace(how, what.sum, scaled_a, scaled_b);
    add_row(p, memory, slot, p.sparse ? places.data() : nullptr, p.blocks != 0 ? &*of_scaled : &plain);
  }
}

}  // namespace

bool ZeroColumns::has(unsigned part, unsigned column) const {
  const unsigned first = zeros_first(part) ? zeros() : used();
  const unsigned place = (column + start(part)) % (zeros() + used());
  return place < first ? zeros_first(part) : !zeros_first(part);
}

void TensorProduct::perform() {
  static thread_local Numbers b;
  read_b(*this, &b);
  for (unsigned i = 0; i < group.size; ++i) multiply(*this, i, b);
}

}  // namespace pyptx::emulator
