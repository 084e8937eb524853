// Copies of boxes of tensors (PTX ISA, "Data Movement and Conversion Instructions: Tensor Copy", "Tensors").
//
// A tensor map says where the tensor is and what a box is; the instruction says where the box begins. A box is
// walked row by row, a row being what lies along the first axis; what a row has inside of the tensor is one piece
// of global memory. In shared memory rows follow each other, and a swizzle moves chunks of 16 bytes by the bits of
// their address there. In im2col mode rows are the channels of pixels that are walked through the images.
#include <algorithm>
#include <cstring>
#include <string>

#include "../../tensor_map.h"
#include "copy.h"
#include "matrix.h"

namespace pyptx::emulator {
namespace {

enum class Mode : uint8_t { Tile, Gather4, Scatter4, Im2col };

constexpr uint32_t kChunk = 16;
constexpr uint32_t kBoxAlignment = 128;
constexpr int kRows = 4;  // of a gather or a scatter
constexpr uint8_t kFlips = 2;  // the atomicity that has the halves of 16 bytes change places in every second line

struct TensorPlan : CopyPlan {
  Pointer map;
  Mode mode = Mode::Tile;
  uint8_t rank = 0;
  uint8_t coordinates = 0;  // slot of the first
  uint8_t offsets = 0;      // of .im2col: slot of the first, of `rank` - 2
  bool offset = false;
  bool pair = false;        // cta_group::2: the mbarrier may be the peer's
  const char* operation = nullptr;  // of a reduction
  bool gathers() const { return mode == Mode::Gather4 || mode == Mode::Scatter4; }
};

const TensorPlan& plan_of(const Instruction& in) { return *static_cast<const TensorPlan*>(in.plan); }

// ---- Maps ------------------------------------------------------------------------------------------------

const uint8_t* map_bytes(Warp& w, const Instruction& in, uint64_t address, unsigned lane) {
  const Launch& launch = *w.worker->launch;
  const auto inside = [&](const void* bytes, uint64_t size) -> const uint8_t* {
    const uint64_t at = address & ~kWindowMask;
    if (at % kLeastMapAlign != 0 || size < kMapBytes || at > size - kMapBytes) return nullptr;
    return static_cast<const uint8_t*>(bytes) + at;
  };
  switch (space_of(address)) {
    case Space::Param: return inside(launch.config.params, launch.config.param_bytes);
    case Space::Const: return inside(launch.program->constants.data(), launch.program->constants.size());
    case Space::Global:
    {
      Buffer* buffer = find_global(w, in, address, kMapBytes, kLeastMapAlign, lane, false);
      if (buffer == nullptr) return nullptr;
      if (launch.races && buffer->stores != nullptr) check_map_proxies(w, in, *buffer, address, kMapBytes, lane);
      return reinterpret_cast<const uint8_t*>(address);
    }
    default: return nullptr;
  }
}

// The map that a lane names, if it describes a tensor that the instruction can copy.
bool read_map(Warp& w, const Instruction& in, unsigned lane, TensorMap* map) {
  const TensorPlan& plan = plan_of(in);
  const uint8_t* bytes = map_bytes(w, in, address_of(w, in, plan.map, lane), lane);
  if (bytes == nullptr) {
    wrong_copy(w, in, lane, "there is no tensor map at this address");
    return false;
  }
  std::memcpy(map, bytes, sizeof *map);
  std::optional<std::string> problem;
  if (std::memcmp(map->magic, kMapMagic, sizeof kMapMagic) == 0 && map->rank != plan.rank) {
    problem = "its rank is " + std::to_string(map->rank) + ", and the copy's is " + std::to_string(plan.rank);
  }
  if (!problem) problem = CheckMapDescription(*map);
  if (!problem) problem = CheckMapTensor(*map);
  if (!problem && map->im2col() != (plan.mode == Mode::Im2col)) {
    problem = map->im2col() ? "it is made for .im2col, and the copy is of a .tile"
                            : "it is made for boxes, and the copy is .im2col";
  }
  if (!problem && map->interleave != 0) problem = "its tensor is interleaved, which has no model";
  if (!problem && plan.gathers() && map->extent(1) != 1) {
    problem = "its box has " + std::to_string(map->box[1]) + " rows, and one that is gathered or scattered has 1";
  }
  if (problem) wrong_copy(w, in, lane, "the tensor map: " + *problem);
  return !problem;
}

// ---- Boxes -----------------------------------------------------------------------------------------------

// What a row of a box has inside of the tensor: elements `first` to `last` of the row, of which the first has this
// address. None if they are equal.
struct Row {
  uint32_t number, first, last;
  uint64_t address;
};

struct Box {
  TensorMap map;
  int64_t at[kMaxMapRank];      // where it begins; the last four are rows of a gather or a scatter
  int64_t offsets[kMaxSpatial];  // of .im2col: what is added to each pixel's place, W first
  uint32_t row_bytes, rows;
  bool gathers;

  uint32_t bytes() const { return row_bytes * rows; }
  // The ends of the bounding box of .im2col along axis 1 and on.
  int64_t least(int axis) const { return map.lower[axis - 1]; }
  int64_t most(int axis) const { return static_cast<int64_t>(map.sizes[axis]) - 1 + map.upper[axis - 1]; }
};

Box box_at(Warp& w, const Instruction& in, unsigned lane, const TensorMap& map) {
  const TensorPlan& plan = plan_of(in);
  Box box{map, {}, {}, map.row_bytes(), map.rows(), plan.gathers()};
  const int count = box.gathers ? 1 + kRows : plan.rank;
  for (int i = 0; i < count; ++i) {
    box.at[i] = source<int32_t>(w, in, static_cast<unsigned>(plan.coordinates + i))[lane];
  }
  for (int i = 0; plan.offset && i < map.spatial(); ++i) {
    box.offsets[i] = held<uint16_t>(w, in, static_cast<unsigned>(plan.offsets + i))[lane];
  }
  if (box.gathers) box.rows = kRows;
  return box;
}

constexpr const char* kElements[] = {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"};

// Of .im2col: that the filter's base lies in the bounding box, that offsets are as small as their fields, and that a
// store's bounding box lies in the image (PTX ISA, "im2col mode" and "Restriction on Tensor Copy instructions").
bool check_filter(Warp& w, const Instruction& in, unsigned lane, const Box& box, bool store) {
  const TensorMap& map = box.map;
  std::string problem;
  for (int axis = 1; axis <= map.spatial() && problem.empty(); ++axis) {
    const int64_t at = box.at[axis], offset = box.offsets[axis - 1];
    if (at < box.least(axis) || at > box.most(axis)) {
      problem = "coordinate " + std::to_string(axis) + " is " + std::to_string(at) + ", outside of the bounding box, " +
                std::to_string(box.least(axis)) + " to " + std::to_string(box.most(axis));
    } else if (offset > kMostOffset[map.spatial()]) {
      problem = "offset " + std::to_string(axis - 1) + " is " + std::to_string(offset) + "; the range is 0 to " +
                std::to_string(kMostOffset[map.spatial()]);
    } else if (store && (map.lower[axis - 1] < 0 || map.upper[axis - 1] > 0)) {
      problem = "the bounding box reaches beyond the image, where no store may";
    }
  }
  if (!problem.empty()) wrong_copy(w, in, lane, problem);
  return problem.empty();
}

// Whether a box may begin where it does. That stores have no negative coordinates is in the CUDA C++ Programming Guide,
// "Tensor Memory Access", under "Negative indices and out of bounds". The manuals do not say that rows begin at
// multiples of 16 bytes; an H200 answers both with an illegal instruction.
bool check_position(Warp& w, const Instruction& in, unsigned lane, const Box& box, bool store) {
  const uint32_t element = box.map.element_bytes();
  const int64_t bytes = box.at[0] * element;
  if (bytes % int64_t{kChunk} != 0) {
    report(w, Kind::Misaligned, site_of(w, in, lane),
           "the box's first coordinate is " + std::to_string(box.at[0]) + ", " + std::to_string(bytes) + " bytes of " +
           kElements[box.map.type] + "; it must be a multiple of " + std::to_string(kChunk / element) + " elements, " +
           std::to_string(kChunk) + " bytes");
    return false;
  }
  if (box.map.im2col() && !check_filter(w, in, lane, box, store)) return false;
  const int count = box.gathers ? 1 + kRows : box.map.rank;
  const int64_t* negative = std::find_if(box.at, box.at + count, [](int64_t at) { return at < 0; });
  if (!store || negative == box.at + count) return true;
  wrong_copy(w, in, lane,
             "coordinate " + std::to_string(negative - box.at) + " of the box is " + std::to_string(*negative) +
                 "; those of stores and reductions must not be negative, only loads may begin before the tensor");
  return false;
}

// Of .im2col: where pixel `number` stands in the images. Positions of the filter go through the bounding box with the
// strides of the map, W fastest, and on to the next image.
void walk(const Box& box, uint32_t number, int64_t* at) {
  const TensorMap& map = box.map;
  std::copy(box.at, box.at + map.rank, at);
  uint64_t carry = number;
  for (int axis = 1; axis <= map.spatial(); ++axis) {
    const auto stride = int64_t{map.element_strides[axis]};
    const auto left = static_cast<uint64_t>((box.most(axis) - at[axis]) / stride);  // steps to the end of this line
    const auto line = static_cast<uint64_t>((box.most(axis) - box.least(axis)) / stride) + 1;
    if (carry <= left) {
      at[axis] += static_cast<int64_t>(carry) * stride;
      carry = 0;
    } else {
      carry -= left + 1;
      at[axis] = box.least(axis) + static_cast<int64_t>(carry % line) * stride;
      carry = carry / line + 1;
    }
  }
  at[map.rank - 1] += static_cast<int64_t>(carry);
  for (int axis = 1; axis <= map.spatial(); ++axis) at[axis] += box.offsets[axis - 1];
}

Row row_of(const Box& box, uint32_t number) {
  const TensorMap& map = box.map;
  const int64_t begin = box.at[0], size = static_cast<int64_t>(map.sizes[0]);
  const int64_t length = box.row_bytes / map.element_bytes();
  int64_t pixel[kMaxMapRank];
  if (map.im2col()) walk(box, number, pixel);
  Row row{number, static_cast<uint32_t>(std::clamp<int64_t>(-begin, 0, length)),
          static_cast<uint32_t>(std::clamp<int64_t>(size - begin, 0, length)), map.address};
  uint32_t rest = number;
  bool inside = row.first < row.last;
  for (int axis = 1; axis < map.rank; ++axis) {
    int64_t at = 0;
    if (map.im2col()) {
      at = pixel[axis];
    } else if (box.gathers) {
      at = box.at[1 + number];
    } else {
      at = box.at[axis] + int64_t{rest % map.extent(axis)} * map.element_strides[axis];
      rest /= map.extent(axis);
    }
    inside = inside && at >= 0 && at < static_cast<int64_t>(map.sizes[axis]);
    row.address += static_cast<uint64_t>(at) * map.strides[axis - 1];
  }
  if (!inside) row.first = row.last = 0;
  row.address += static_cast<uint64_t>(begin + row.first) * map.element_bytes();
  return row;
}

// Where a byte of a box that begins at `offset` of a CTA's shared memory lies there: chunks of 16 bytes, or what the
// atomicity says, are moved by the number of their line.
uint32_t place_of(const TensorMap& map, const SharedPlace& box, uint32_t byte) {
  const uint32_t at = box.offset + byte, line = (box.owner->shared_base + at) >> 7;
  const uint32_t wider = (map.atomicity + 1u) / 2;  // log2 of chunks that stay together
  const uint32_t mask = (1u << map.swizzle >> wider) - 1;
  const uint32_t flip = map.atomicity == kFlips ? (line & 1u) << 3 : 0;
  return at ^ (line & mask) << (4 + wider) ^ flip;
}

// Calls f(byte of the box, bytes) for the parts of a range of a row that stay together.
template <class F>
void each_part(const Box& box, uint32_t begin, uint32_t end, F f) {
  if (begin == end) return;
  if (box.map.swizzle == 0) {
    f(begin, end - begin);
    return;
  }
  const uint32_t chunk = box.map.atomicity == kFlips ? kChunk / 2 : kChunk;
  while (begin < end) {
    const uint32_t next = std::min(end, (begin / chunk + 1) * chunk);
    f(begin, next - begin);
    begin = next;
  }
}

// ---- To shared memory ------------------------------------------------------------------------------------

// NaN for elements of 2, 4 and 8 bytes. The manual does not say which.
const uint8_t* nan_bytes(uint32_t element) {
  struct Patterns {
    uint16_t half[1024];
    uint32_t single[512];
    uint64_t wide[256];
    Patterns() {
      std::fill(std::begin(half), std::end(half), uint16_t{0x7fff});
      std::fill(std::begin(single), std::end(single), 0x7fffffffu);
      std::fill(std::begin(wide), std::end(wide), 0x7fffffffffffffffull);
    }
  };
  static const Patterns patterns;
  const void* found = element == 2   ? static_cast<const void*>(patterns.half)
                      : element == 4 ? static_cast<const void*>(patterns.single)
                                     : patterns.wide;
  return static_cast<const uint8_t*>(found);
}

void fill(const Box& box, const SharedPlace& to, uint32_t begin, uint32_t end, Operation& op) {
  each_part(box, begin, end, [&](uint32_t byte, uint32_t bytes) {
    uint8_t* place = to.owner->shared + place_of(box.map, to, byte);
    if (box.map.oob_fill == 0) op.pieces.push_back({place, nullptr, 0, bytes, to.owner});
    else op.pieces.push_back({place, nan_bytes(box.map.element_bytes()), bytes, 0, to.owner});
  });
}

void load_row(const Box& box, const Row& row, const SharedPlace& to, Operation& op) {
  const uint32_t element = box.map.element_bytes(), start = row.number * box.row_bytes;
  const uint32_t first = start + row.first * element, last = start + row.last * element;
  fill(box, to, start, first, op);
  each_part(box, first, last, [&](uint32_t byte, uint32_t bytes) {
    const auto* from = reinterpret_cast<const uint8_t*>(row.address + (byte - first));
    op.pieces.push_back({to.owner->shared + place_of(box.map, to, byte), from, bytes, 0, to.owner});
  });
  fill(box, to, last, start + box.row_bytes, op);
}

bool find_signals(Warp& w, const Instruction& in, unsigned lane, const std::vector<SharedPlace>& to, uint32_t bytes,
                  bool sanitized, Operation& op) {
  const TensorPlan& plan = plan_of(in);
  SharedPlace barrier;
  if (!find_one(w, in, plan.barrier, lane, kMbarrierBytes, kMbarrierBytes, true, &barrier)) return false;
  const bool peer = plan.pair && barrier.owner->rank == (to[0].owner->rank ^ 1u);
  if (!plan.multicast && barrier.owner != to[0].owner && !peer) {
    wrong_copy(w, in, lane, "the mbarrier and the destination are in shared memory of different CTAs");
    return false;
  }
  // Of a pair of CTAs, the one signals whose rank has the parity of the mbarrier's.
  auto& ctas = w.cta->cluster->ctas;
  const uint32_t parity = barrier.owner->rank & 1u;
  for (const SharedPlace& t : to) {
    const uint32_t rank = plan.pair ? (t.owner->rank & ~1u) | parity : t.owner->rank;
    const SharedPlace at{plan.multicast && rank < ctas.size() ? &ctas[rank] : barrier.owner, barrier.offset};
    if (!check_barrier(w, in, lane, at, sanitized)) return false;
    op.signals.push_back({at.owner, at.offset, bytes});
  }
  return true;
}

template <bool kSanitized>
void load(Warp& w, const Instruction& in, unsigned lane) {
  TensorMap map;
  if (!read_map(w, in, lane, &map)) return;
  const Box box = box_at(w, in, lane, map);
  if (!check_position(w, in, lane, box, false)) return;
  std::vector<SharedPlace> to;
  if (!find_destinations(w, in, lane, box.bytes(), kBoxAlignment, &to)) return;
  const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
  if (!find_signals(w, in, lane, to, box.bytes(), kSanitized, *op)) return;
  if (kSanitized) order_issue(w, lane, *op);
  for (uint32_t number = 0; number < box.rows; ++number) {
    const Row row = row_of(box, number);
    if (row.first != row.last) {
      const uint32_t bytes = (row.last - row.first) * map.element_bytes();
      Buffer* buffer = find_global(w, in, row.address, bytes, map.element_bytes(), lane, false);
      if (buffer == nullptr) return;
      count_bulk(w, in, lane, row.address, bytes);
      if (kSanitized) check_copy_global(w, in, *buffer, row.address, bytes, lane, false, true, *op);
    }
    for (const SharedPlace& t : to) load_row(box, row, t, *op);
  }
  if (kSanitized) {
    for (const SharedPlace& t : to) check_copy_shared(w, in, *t.owner, t.offset, box.bytes(), lane, true, true, *op);
  }
  issue(w, op);
}

// ---- From shared memory ----------------------------------------------------------------------------------

// The bytes of a box that a row takes from shared memory, in cells of the sanitizer.
void check_part(Warp& w, const Instruction& in, unsigned lane, const SharedPlace& from, uint32_t place, uint32_t bytes,
                const Operation& op) {
  const uint32_t granule = 1u << from.owner->shadow.shift;
  const uint32_t begin = place / granule * granule, end = (place + bytes + granule - 1) / granule * granule;
  check_copy_shared(w, in, *from.owner, begin, end - begin, lane, false, true, op);
}

constexpr const char* kTypes[] = {"", "", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"};
// An H200 takes bitwise reductions of s64 elements for illegal instructions.
constexpr const char* kBits[] = {"", "", "b32", "b32", "b64", "", "", "", "", ""};

// The update of a reduction on the map's elements.
bool find_reduction(Warp& w, const Instruction& in, unsigned lane, const TensorMap& map, Operation& op) {
  const std::string_view operation = plan_of(in).operation;
  const bool bitwise = operation == "and" || operation == "or" || operation == "xor";
  unsigned bytes = 0;
  op.update = find_update(operation, (bitwise ? kBits : kTypes)[map.type], true, &bytes);
  op.element = static_cast<uint8_t>(bytes);
  if (op.update != nullptr) return true;
  wrong_copy(w, in, lane,
             "there is no reduction ." + std::string(operation) + " of elements of type " + kElements[map.type]);
  return false;
}

template <bool kSanitized>
void store(Warp& w, const Instruction& in, unsigned lane) {
  TensorMap map;
  if (!read_map(w, in, lane, &map)) return;
  const Box box = box_at(w, in, lane, map);
  if (!check_position(w, in, lane, box, true)) return;
  SharedPlace from;
  if (!find_one(w, in, plan_of(in).from, lane, box.bytes(), kBoxAlignment, false, &from)) return;
  if (map.atomicity == kFlips) {
    wrong_copy(w, in, lane, "a swizzle that flips 8 bytes is one of loads alone");
    return;
  }
  const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::Bulk);
  if (plan_of(in).operation != nullptr && !find_reduction(w, in, lane, map, *op)) return;
  if (kSanitized) order_issue(w, lane, *op);
  for (uint32_t number = 0; number < box.rows; ++number) {
    const Row row = row_of(box, number);
    if (row.first == row.last) continue;
    const uint32_t bytes = (row.last - row.first) * map.element_bytes();
    const uint32_t first = number * box.row_bytes + row.first * map.element_bytes();
    Buffer* buffer = find_global(w, in, row.address, bytes, map.element_bytes(), lane, true);
    if (buffer == nullptr) return;
    count_bulk(w, in, lane, row.address, bytes);
    each_part(box, first, first + bytes, [&](uint32_t byte, uint32_t part) {
      const uint32_t place = place_of(map, from, byte);
      auto* to = reinterpret_cast<uint8_t*>(row.address + (byte - first));
      op->pieces.push_back({to, from.owner->shared + place, part, 0, nullptr});
      if (kSanitized) check_part(w, in, lane, from, place, part, *op);
    });
    if (kSanitized) check_copy_global(w, in, *buffer, row.address, bytes, lane, true, true, *op);
  }
  issue(w, op);
}

void prefetch(Warp& w, const Instruction& in, unsigned lane) {
  TensorMap map;
  if (read_map(w, in, lane, &map)) check_position(w, in, lane, box_at(w, in, lane, map), false);
}

using One = void (*)(Warp&, const Instruction&, unsigned);

template <One kOne>
void each(Warp& w, const Instruction& in, uint32_t mask) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) kOne(w, in, l);
  }
}

// ---- Decoding --------------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::vector<std::string_view> modifiers) : list_(std::move(modifiers)) {}
  bool take(std::string_view name) {
    if (at_ == list_.size() || list_[at_] != name) return false;
    ++at_;
    return true;
  }
  std::string_view next() { return at_ == list_.size() ? std::string_view() : list_[at_++]; }
  bool done() const { return at_ == list_.size(); }

 private:
  std::vector<std::string_view> list_;
  size_t at_ = 0;
};

// [map, {coordinates}]
bool bind_position(Decoding& d, unsigned k, TensorPlan* plan) {
  const OperandView* coordinates = d.element(k, 1);
  const size_t count = plan->gathers() ? 1 + kRows : plan->rank;
  if (d.elements(k) != 2 || coordinates->elements.size() != count) return false;
  if (!bind_pointer_view(d, d.element(k, 0), Space::Generic, &plan->map)) return false;
  plan->coordinates = static_cast<uint8_t>(d.bound());
  for (const OperandView& v : coordinates->elements) {
    if (!d.bind_source(&v, 32, 32)) return false;
  }
  return true;
}

// {offsets}, of .im2col; they may be beyond the operands that are inline.
bool bind_offsets(Decoding& d, unsigned k, TensorPlan* plan) {
  const auto count = static_cast<unsigned>(plan->rank - 2);
  plan->offsets = static_cast<uint8_t>(d.bound());
  plan->offset = true;
  if (d.elements(k) != count) return false;
  for (unsigned e = 0; e < count; ++e) {
    if (!d.bind_source(d.element(k, e), 16, 16)) return false;
  }
  return true;
}

bool finish(Decoding& d, unsigned k, bool hint) {
  if (hint && !bind_policy(d, k++)) return false;
  return k == d.operands.size();
}

Handler keep(Decoding& d, const TensorPlan& plan, Handler plain, Handler sanitized) {
  d.access(true, false, kChunk);
  d.out->plan = d.keep(plan);
  d.out->sanitized = sanitized;
  return plain;
}

// What follows ".global" of loads and prefetches.
void take_mode(Reader& m, TensorPlan* plan) {
  if (m.take("tile::gather4")) plan->mode = Mode::Gather4;
  else if (m.take("im2col")) plan->mode = Mode::Im2col;
  else m.take("tile");
}

// .dst.global{.tile | .tile::gather4 | .im2col}.mechanism{.multicast::cluster}{.cta_group}{.L2::cache_hint}
Handler resolve_load(Decoding& d, Reader& m, TensorPlan plan, bool own) {
  plan.to.space = own ? Space::Shared : Space::SharedCluster;
  take_mode(m, &plan);
  if (!m.take(kMechanism)) return nullptr;
  plan.multicast = m.take("multicast::cluster");
  plan.pair = m.take("cta_group::2");
  if (!plan.pair) m.take("cta_group::1");
  const bool hint = m.take("L2::cache_hint");
  if (!m.done() || (plan.multicast && own)) return nullptr;
  unsigned k = 0;
  if (!bind_pointer_view(d, d.view(k++), plan.to.space, &plan.to) || !bind_position(d, k++, &plan) ||
      !bind_pointer_view(d, d.view(k++), plan.to.space, &plan.barrier)) {
    return nullptr;
  }
  const bool im2col = plan.mode == Mode::Im2col;
  const unsigned offsets = k;
  k += im2col;
  plan.ctas = static_cast<uint8_t>(d.bound());
  if (plan.multicast && !d.source(k++, 16)) return nullptr;
  if ((im2col && !bind_offsets(d, offsets, &plan)) || !finish(d, k, hint)) return nullptr;
  return keep(d, plan, each<load<false>>, each<load<true>>);
}

constexpr const char* kOperations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

// .global.shared::cta{.op}{.tile | .tile::scatter4 | .im2col_no_offs}.bulk_group{.L2::cache_hint}
Handler resolve_store(Decoding& d, Reader& m, TensorPlan plan, bool reduces) {
  if (!m.take("shared::cta")) return nullptr;
  for (const char* operation : kOperations) {
    if (reduces && plan.operation == nullptr && m.take(operation)) plan.operation = operation;
  }
  if (reduces && plan.operation == nullptr) return nullptr;
  if (!reduces && m.take("tile::scatter4")) plan.mode = Mode::Scatter4;
  else if (m.take("im2col_no_offs")) plan.mode = Mode::Im2col;
  else m.take("tile");
  if (!m.take("bulk_group")) return nullptr;
  const bool hint = m.take("L2::cache_hint");
  plan.from.space = Space::Shared;
  if (!m.done() || !bind_position(d, 0, &plan) || !bind_pointer_view(d, d.view(1), Space::Shared, &plan.from) ||
      !finish(d, 2, hint)) {
    return nullptr;
  }
  return keep(d, plan, each<store<false>>, each<store<true>>);
}

// prefetch.tensor.dim.L2.global{.tile | .tile::gather4 | .im2col}{.L2::cache_hint}
Handler resolve_prefetch(Decoding& d, Reader& m, TensorPlan plan) {
  if (!m.take("L2") || !m.take("global")) return nullptr;
  take_mode(m, &plan);
  const bool hint = m.take("L2::cache_hint"), im2col = plan.mode == Mode::Im2col;
  if (!m.done() || !bind_position(d, 0, &plan) || (im2col && !bind_offsets(d, 1, &plan))) return nullptr;
  if (!finish(d, im2col ? 2 : 1, hint)) return nullptr;
  return keep(d, plan, each<prefetch>, each<prefetch>);
}

}  // namespace

Handler resolve_tensor_copy(Decoding& d, std::vector<std::string_view> modifiers, bool reduces) {
  Reader m(std::move(modifiers));
  const bool prefetches = !reduces && m.take("prefetch");
  if (!m.take("tensor")) return nullptr;
  TensorPlan plan;
  const std::string_view dim = m.next();
  if (dim.size() != 2 || dim[1] != 'd' || dim[0] < '1' || dim[0] > '5') return nullptr;
  plan.rank = static_cast<uint8_t>(dim[0] - '0');
  if (prefetches) return resolve_prefetch(d, m, plan);
  if (m.take("global")) return resolve_store(d, m, plan, reduces);
  const bool own = m.take("shared::cta");
  if (reduces || (!own && !m.take("shared::cluster")) || !m.take("global")) return nullptr;
  return resolve_load(d, m, plan, own);
}

}  // namespace pyptx::emulator
