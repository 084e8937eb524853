// Multiplications of a warpgroup (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").
//
// The four warps of a warpgroup issue one multiplication together: it is an operation (async.h) from the moment at
// which the last of them has come. A warp multiplies its own 16 rows, and all wait for the whole. Multiplications of a
// warpgroup are performed in the order in which they were issued.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pyptx::emulator {

struct Cta;
struct Cluster;
struct Instruction;
struct Operation;
struct Warp;
using OperationPointer = std::shared_ptr<Operation>;

constexpr uint32_t kWarpgroupWarps = 4;

// Offsets in shared memory of a matrix, 16 bytes at each.
using ChunkPlaces = std::shared_ptr<const std::vector<uint32_t>>;

// What one warp contributes.
struct Part {
  Warp* warp = nullptr;
  const Instruction* at = nullptr;
  uint32_t mask = 0;
  bool accumulates = false;          // scale-d
  uint64_t a = 0, b = 0;             // descriptors; 0 where A is in registers
  std::vector<uint32_t> metadata;    // of a sparse A, a register of 32 lanes
  ChunkPlaces a_places, b_places;    // what it reads; A's are nullptr where A is in registers
  // The accumulators' values, where their registers hold no sense until the operation ends: 32 lanes of each.
  bool hidden = false;
  std::vector<uint32_t> sums;
};

// What the first warp's check of B found: that it has values, and who stored them all, an operation or nobody. As long
// as nothing has changed since, other warps need to know of that store alone.
struct ProductRead {
  bool known = false;
  uint64_t changes = 0;  // of the shadow, then
  uint32_t stored = 0;   // who
};

struct Product {
  uint32_t warpgroup = 0;
  Cta* cta = nullptr;
  bool alone = false;  // of a warp whose warpgroup went on without it
  std::vector<Part> parts;
  ProductRead b_read;  // what the first part reads

  Part* part_of(const Warp& w);
  // The first warp of the warpgroup that has not issued it; nullptr if all have.
  Warp* missing() const;
};

// A warpgroup's multiplications that some of its warps have issued, in order, and how many all have.
struct Warpgroup {
  uint32_t issued = 0;
  std::deque<OperationPointer> open;
};

// A multiplication that a warp has issued and not waited for.
struct Pending {
  OperationPointer operation;
  uint32_t group = 0;
};

// A register that multiplications use, as a warp has used it.
struct HeldRegister {
  enum class Use : uint8_t { None, Accumulator, Input, Loaded };  // Loaded: from Tensor Memory
  uint32_t product = 0;         // the latest multiplication's instruction,
  uint32_t group = 0;           // and its group
  Use under_way = Use::None;    // what it is to it, until that has been waited for
  Use since_fence = Use::None;  // what it has been to multiplications since the last wgmma.fence
  bool touched = false;         // whether another instruction has used it since then,
  uint32_t toucher = 0;         // which
};

// ---- product.cpp -----------------------------------------------------------------------------------------

// Adds a warp's part to the multiplication that it is the next part of; with the last part it is issued.
OperationPointer join_product(Warp& w, const Instruction& in, Part part);
void issue_products(Cta& cta, uint32_t warpgroup);
// Whether all but the last `but` groups are complete; then what they did is ordered before what follows.
bool finish_products(Warp& w, uint32_t but);
void wake_products(Product& product);
// When nothing else can run: a multiplication that a warp never joins goes on without it; false if there is none.
bool force_products(Cluster& c);
// Multiplications that not all warps have joined, when their CTA exits.
void check_products(Cta& cta);
// What a warp waits for, for the table of a deadlock.
std::string describe_products(const Warp& w, uint32_t but);

// ---- semantics/warpgroup.cpp -----------------------------------------------------------------------------

void perform_product(Product& product, Operation& operation);

// ---- product_order.cpp --------------------------------------------------------------------------------

// An instruction other than a multiplication that uses registers of multiplications.
void check_held_registers(Warp& w, const Instruction& in);
// A multiplication's registers: that a wgmma.fence lies behind what else has used them.
void check_product_registers(Warp& w, const Instruction& in);
// tcgen05.ld brings its registers by the next tcgen05.wait::ld.
void hold_loaded_registers(Warp& w, const Instruction& in);
void order_loaded_registers(Warp& w);
void order_registers(Warp& w);                     // wgmma.fence
void order_registers_waited(Warp& w, uint32_t but);  // wgmma.wait_group
// Gives a multiplication its place in the order of accesses: all of a group have one.
void order_product(Warp& w, Operation& op);
void order_products_waited(Warp& w, const Operation& op);

}  // namespace pyptx::emulator
