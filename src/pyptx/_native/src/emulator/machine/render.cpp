#include "render.h"

#include <cstdio>

namespace pyptx::emulator {
namespace {

class Operands {
 public:
  explicit Operands(const Program& program) : p_(program) {}

  std::string register_name(uint32_t r) const {
    if (r >= p_.image_registers) {
      for (const Preload& preload : p_.preloads) {
        if (preload.register_ == r && preload.kind == Preload::Kind::Special) {
          return "%" + special_name(preload.special, preload.value);
        }
      }
    }
    return (p_.registers[r].width == 1 ? "%p" : "%r") + std::to_string(r);
  }

  std::string symbol_name(const OperandView& v) const {
    if (v.space == 4) return p_.params[v.variable].name;
    const std::string& name = p_.variables[v.variable].name;
    return name.empty() ? "variable" + std::to_string(v.variable) : name;
  }

  std::string render(const OperandView& v) const {
    using Kind = OperandView::Kind;
    char hex[32];
    switch (v.kind) {
      case Kind::Register:
        return v.space != 0xff ? symbol_name(v) : register_name(v.reg);
      case Kind::Negated:
        return "!" + register_name(v.reg);
      case Kind::Immediate:
        if (v.function != 0xffffffffu) return p_.functions[v.function].name;
        if (v.space != 0xff) return symbol_name(v);
        if (static_cast<int64_t>(v.bits) > -65536 && static_cast<int64_t>(v.bits) < 65536) {
          return std::to_string(static_cast<int64_t>(v.bits));
        }
        std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(v.bits));
        return hex;
      case Kind::Special:
        return "%" + std::string(v.special);
      case Kind::Address:
        return render_address(v);
      case Kind::Label:
        return "$" + std::to_string(v.target);
      case Kind::Sink:
        return "_";
      case Kind::Pair:
        if (v.elements[0].kind == Kind::Address) return render_position(v);
        return render(v.elements[0]) + "|" + render(v.elements[1]);
      case Kind::Part:
        return render_part(v);
      case Kind::Vector:
        break;
    }
    std::string list;
    for (const OperandView& e : v.elements) list += (list.empty() ? "" : ", ") + render(e);
    return "{" + list + "}";
  }

  // r.h1, -r.b0
  std::string render_part(const OperandView& v) const {
    std::string text = (v.offset ? "-" : "") + register_name(v.reg);
    const unsigned count = v.bits >> 16 & 0xff;
    if (count != 0) text += v.bits >> 24 & 1 ? ".h" : ".b";
    for (unsigned k = count; k-- > 0;) text += static_cast<char>('0' + (v.bits >> (4 * k) & 0xf));
    return text;
  }

  // [map, {coordinates}]
  std::string render_position(const OperandView& v) const {
    std::string map = render(v.elements[0]);
    map.pop_back();
    return map + ", " + render(v.elements[1]) + "]";
  }

  std::string render_address(const OperandView& v) const {
    int64_t offset = v.offset;
    std::string base;
    if (v.space != 0xff) {
      base = symbol_name(v);
      if (v.space == 4) offset -= p_.params[v.variable].offset;
      else if (!v.has_base) offset -= p_.variables[v.variable].offset;
    } else if (v.has_base) {
      base = register_name(v.reg);
    } else {
      return "[" + std::to_string(offset) + "]";
    }
    if (offset != 0) base += (offset > 0 ? "+" : "") + std::to_string(offset);
    return "[" + base + "]";
  }

 private:
  const Program& p_;
};

}  // namespace

std::string render(const Program& program, std::string_view spelling, Guard guard,
                   const std::vector<OperandView>& operands) {
  const Operands of(program);
  std::string line;
  if (guard.predicate != kNoRegister) {
    line = (guard.negated ? "@!" : "@") + of.register_name(guard.predicate) + " ";
  }
  line += spelling;
  for (size_t k = 0; k < operands.size(); ++k) line += (k ? ", " : " ") + of.render(operands[k]);
  return line;
}

}  // namespace pyptx::emulator
