#include "spelling.h"

namespace pyptx::emulator {

namespace {

struct Row {
  std::string_view name;
  Type type;
  unsigned bits;
};

constexpr Row kTypes[] = {
    {"pred", Type::Pred, 1},      {"b8", Type::B8, 8},          {"b16", Type::B16, 16},
    {"b32", Type::B32, 32},       {"b64", Type::B64, 64},       {"b128", Type::B128, 128},
    {"u8", Type::U8, 8},          {"u16", Type::U16, 16},       {"u32", Type::U32, 32},
    {"u64", Type::U64, 64},       {"s8", Type::S8, 8},          {"s16", Type::S16, 16},
    {"s32", Type::S32, 32},       {"s64", Type::S64, 64},       {"f16", Type::F16, 16},
    {"bf16", Type::BF16, 16},     {"tf32", Type::TF32, 32},     {"f32", Type::F32, 32},
    {"f64", Type::F64, 64},       {"f16x2", Type::F16x2, 32},   {"bf16x2", Type::BF16x2, 32},
    {"f32x2", Type::F32x2, 64},   {"u16x2", Type::U16x2, 32},   {"s16x2", Type::S16x2, 32},
};

}  // namespace

Type type_of(std::string_view modifier) {
  for (const Row& row : kTypes)
    if (row.name == modifier) return row.type;
  return Type::None;
}

unsigned bits_of(Type type) {
  for (const Row& row : kTypes)
    if (row.type == type) return row.bits;
  return 0;
}

Rounding Modifiers::rounding(Rounding otherwise) {
  if (take("rn")) return Rounding::Nearest;
  if (take("rz")) return Rounding::Zero;
  if (take("rm")) return Rounding::Down;
  if (take("rp")) return Rounding::Up;
  return otherwise;
}

}  // namespace pyptx::emulator
