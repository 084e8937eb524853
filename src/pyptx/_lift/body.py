"""The body of a kernel or function as the lines of a Python function."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pyptx import _verify as verify
from pyptx._ir import Comment, Function, Instruction, Kernel, Place
from pyptx._lift.flow import Do, Flow, If, Jump, Leave, Loop, Node, While
from pyptx._lift.layout import Call, call, comment, flat, statement, string
from pyptx._lift.naming import Names, parts
from pyptx._lift.spelling import Spelled, Speller, Symbols, mentioned, undefined
from pyptx._operands import Address, Label, Parameter, Register, Vector
from pyptx._target import Target
from pyptx._text import Names as PtxNames
from pyptx.types import DType, u64

_ARRAY: Final = 4  # so many registers of one range that are declared together are an array
_LAMBDA: Final = 60
_NOISE: Final = (
    ".globl", "demoted variable", "begin inline asm", "end inline asm", "callseq", "-- ", "@",
    "%bb.", "=>", "Loop", "Parent", "Child", "This", "Inner", "in Loop", "$",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Array:
    """Registers of one range that are declared together: `name[i]` is number `first + i`."""

    name: str
    first: int
    count: int
    dtype: DType


class BodyWriter:
    """Writes one body.

    `names` is the scope of the function, in which its parameters and variables are named already;
    `pointers` says that its parameters are tensors, whose addresses `ptx.global_ptrs` gives.
    """

    def __init__(
        self,
        function: Kernel | Function,
        target: Target,
        names: Names,
        symbols: Symbols,
        comments: Iterable[Comment] = (),
        *,
        pointers: bool = False,
    ) -> None:
        self._function = function
        self._target = target
        self._scope = names
        self._symbols = symbols
        self._instructions = [s for s in function.body or () if isinstance(s, Instruction)]
        self._comments = _by_line(comments, self._instructions)
        self._pointers = global_pointers(function) if pointers else {}
        self._undefined = undefined(function)
        self._registers = self._register_names()
        self._labels = self._label_names()
        self._arrays: dict[Register, Array] = {}
        self._bits: frozenset[Register] = frozenset()
        self.formals: dict[Register, str] = {
            r: self._registers[r] for r in _formals(function) if isinstance(r, Register)
        }
        self._spelled = self._all_spelled()
        mentions = Counter(r for i in self._instructions for r in set(mentioned(i)))
        self._mentions = mentions
        flow = Flow(function, self._tested)
        self._jumps = self._by_hand(flow)
        self._placed: set[int] = set()
        self._open: set[Array] = set()
        self._lines: list[str] = []
        self._write(flow.nodes, 4)

    @property
    def lines(self) -> list[str]:
        """The statements, indented for the body of a function."""
        return self._lines

    # ---- names -----------------------------------------------------------------------------------

    def _register_names(self) -> dict[Register, str]:
        written = self._function.written.registers
        ptx = PtxNames(self._function).registers
        found: dict[Register, str] = {}
        for position, register in enumerate(self._function.registers):
            name = written[position] if written else ptx[register.index]
            found[register] = self._scope.new(name, "r")
        return found

    def _label_names(self) -> dict[Label, str]:
        """The names of labels; those that stand together have the name of the first."""
        written, scope = self._function.written.labels, Names()
        found: dict[Label, str] = {}
        first = ""
        for each in self._function.body or ():
            if isinstance(each, Place):
                number = len(found)
                first = first or scope.new(written[number] if written else f"L{number}", "L")
                found[each.label] = first
            else:
                first = ""
        return found

    def _ranges(self) -> dict[Register, tuple[str, int]]:
        """The range and number of each register that is of one."""
        written = self._function.written.registers
        ptx = PtxNames(self._function).registers
        found: dict[Register, tuple[str, int]] = {}
        for position, register in enumerate(self._function.registers):
            range_ = parts(written[position] if written else ptx[register.index])
            if range_ is not None:
                found[register] = range_
        return found

    # ---- statements ------------------------------------------------------------------------------

    def _all_spelled(self) -> list[Spelled | None]:
        """Every instruction as a statement; types and arrays are found by trying again."""
        while True:
            spelled, speller = self._pass(self._bits)
            if not speller.unfit - self._bits:
                break
            self._bits |= speller.unfit
        together = [r for s in spelled if s is not None for r in s.declared]
        for each, instruction in zip(spelled, self._instructions, strict=True):
            if each is not None and not each.targets:
                together += _accumulators(instruction)
        if self._make_arrays(dict.fromkeys(together), speller.types):
            spelled, _ = self._pass(self._bits)
        return spelled

    def _pass(self, bits: frozenset[Register]) -> tuple[list[Spelled | None], Speller]:
        speller = Speller(
            self._function,
            self._target,
            names=self._registers,
            labels=self._labels,
            symbols=self._symbols,
            bits=bits,
        )
        for register in self.formals:
            speller.known(register)
        spelled: list[Spelled | None] = []
        for index, instruction in enumerate(self._instructions):
            pair = self._pointers.get(index)
            if pair is not None:
                speller.types[pair[1]] = u64
                name = self._symbols[pair[0]]
                spelled.append(Spelled(call("ptx.global_ptrs", name), (pair[1],), braces=True))
            elif index - 1 in self._pointers:
                spelled.append(None)
            else:
                spelled.append(speller.spell(instruction))
        return _together(spelled), speller

    def _make_arrays(self, declared: Iterable[Register], types: dict[Register, DType]) -> bool:
        """Turn runs of registers that are used together into arrays; whether there are any."""
        ranges = self._ranges()
        groups: defaultdict[tuple[str, DType], list[tuple[int, Register]]] = defaultdict(list)
        for register in declared:
            if register in self._undefined:
                continue
            if register in ranges and ranges[register][0].lstrip("%"):
                name, position = ranges[register]
                groups[name, types[register]].append((position, register))
        for (name, dtype), members in groups.items():
            for run in _runs(sorted(members, key=lambda member: member[0])):
                if len(run) >= _ARRAY:
                    self._make_array(name, dtype, run)
        return bool(self._arrays)

    def _make_array(self, name: str, dtype: DType, run: list[tuple[int, Register]]) -> None:
        first = run[0][0] if run[0][0] > 1 else 0
        known = self._registers[run[0][1]]
        python = known if first else self._scope.new(name, "r")
        array = Array(python, first, run[-1][0] - first + 1, dtype)
        for position, register in run:
            self._registers[register] = f"{python}[{position - first}]"
            self._arrays[register] = array

    def _tested(self, index: int, register: Register) -> bool:
        """Whether an instruction is a comparison for the branch behind it alone."""
        spelled = self._spelled[index]
        return (
            spelled is not None
            and spelled.targets == (register,)
            and not (spelled.symbol or spelled.braces or spelled.declared)
            and not self._instructions[index].pragmas
            and self._instructions[index].guard is None
            and self._mentions[register] == 2
            and index not in self._comments
            and len(flat(spelled.expression)) < _LAMBDA
            and self._registers[register].isidentifier()
        )

    # ---- labels ----------------------------------------------------------------------------------

    def _by_hand(self, flow: Flow) -> dict[int, str]:
        """The names of the labels that jumps by hand go to, by their positions."""
        blocks = _branches(flow.nodes)
        return {
            flow.positions[label]: self._labels[label]
            for index, instruction in enumerate(self._instructions)
            if index not in blocks
            for label in verify.branch_labels(instruction)
        }

    def _at(self, position: int, indent: int) -> None:
        """The label that stands before an instruction, if a jump by hand goes there."""
        name = self._jumps.get(position)
        if name is not None and position not in self._placed:
            self._placed.add(position)
            self._line(indent, f"ptx.label({string(name)})")

    # ---- blocks ----------------------------------------------------------------------------------

    def _write(self, nodes: Sequence[Node], indent: int) -> None:
        """Everything, but for the `ret` at the end, which the trace appends."""
        last = len(self._instructions) - 1
        ends = bool(nodes) and nodes[-1] == Do(last) and _returns(self._instructions[last])
        implied = ends and len(nodes) > 1 and last not in self._comments
        if implied and isinstance(nodes[-2], Do) and last not in self._jumps:
            implied = not _stops(self._instructions[last - 1])
        self._block(nodes[:-1] if implied else nodes, indent)
        self._at(last if implied else last + 1, indent)

    def _block(self, nodes: Sequence[Node], indent: int, end: int | None = None) -> None:
        """A block, with the label and the comments before the instruction that ends it."""
        before = len(self._lines)
        for node in nodes:
            match node:
                case Do(index) | Jump(index):
                    self._at(index, indent)
                    self._do(index, indent)
                case Leave(index, how):
                    self._at(index, indent)
                    self._note(index, indent)
                    guard = self._guard(index, opposite=False)
                    self._line(indent, f"ptx.{how}({f'pred={guard}' if guard else ''})")
                case If():
                    self._if(node, indent)
                case Loop():
                    self._loop(node, indent)
                case While():
                    self._while(node, indent)
        if end is not None:
            self._at(end, indent)
            self._note(end, indent)
        if len(self._lines) == before or all(
            line.lstrip().startswith("#") for line in self._lines[before:]
        ):
            self._line(indent, "pass")

    def _if(self, node: If, indent: int) -> None:
        self._at(node.index, indent)
        self._note(node.index, indent)
        if node.into:
            self._note(node.index + 1, indent)
        condition = self._guard(node.index, opposite=not node.into)
        self._line(indent, f"with ptx.if_({condition}{', into=True' if node.into else ''}):")
        self._block(node.body, indent + 4, None if node.otherwise is None else node.end)
        if node.otherwise is not None:
            self._line(indent, "with ptx.else_():")
            self._block(node.otherwise, indent + 4)

    def _loop(self, node: Loop, indent: int) -> None:
        self._at(node.start, indent)
        guard = self._guard(node.back, opposite=False)
        condition = ""
        if node.compare is not None:
            condition = f"pred=lambda: {self._comparison(node.compare, node.back, opposite=False)}"
        elif guard:
            register = guard.lstrip("~")
            known = self._known_before(node.start, node.back) or not register.isidentifier()
            condition = f"pred={guard}" if known else f"pred=lambda: {guard}"
        self._line(indent, f"with ptx.loop({condition}):")
        end = node.back if node.compare is None else node.compare
        self._block(node.body, indent + 4, end)
        self._note(node.back, indent + 4)

    def _known_before(self, start: int, back: int) -> bool:
        """Whether Python knows the predicate of a loop where the loop begins."""
        guard = self._instructions[back].guard
        assert guard is not None
        earlier = self._instructions[:start]
        return any(guard.register in mentioned(instruction) for instruction in earlier)

    def _while(self, node: While, indent: int) -> None:
        self._at(node.compare, indent)
        self._note(node.compare + 1, indent)
        test = self._comparison(node.compare, node.compare + 1, opposite=True)
        self._line(indent, f"with ptx.while_(lambda: {test}):")
        self._block(node.body, indent + 4, node.back)

    def _comparison(self, compare: int, branch: int, *, opposite: bool) -> str:
        spelled, guard = self._spelled[compare], self._instructions[branch].guard
        assert spelled is not None
        assert guard is not None
        text = flat(spelled.expression)
        return f"~({text})" if guard.negated is not opposite else text

    def _guard(self, index: int, *, opposite: bool) -> str:
        guard = self._instructions[index].guard
        if guard is None:
            return ""
        return f"{'~' if guard.negated is not opposite else ''}{self._registers[guard.register]}"

    # ---- lines -----------------------------------------------------------------------------------

    def _line(self, indent: int, text: str) -> None:
        self._lines.append(f"{' ' * indent}{text}")

    def _note(self, index: int, indent: int) -> None:
        """The comments before an instruction, and the registers that it names first."""
        for each in self._comments.pop(index, ()):
            self._lines += comment(indent, each.text)
        spelled = self._spelled[index]
        for register in () if spelled is None else spelled.declared:
            self._declare(register, indent)

    def _do(self, index: int, indent: int) -> None:
        self._note(index, indent)
        spelled = self._spelled[index]
        if spelled is None:
            return
        for text in self._instructions[index].pragmas:
            self._line(indent, f"ptx.pragma({string(text)})")
        self._lines += statement(indent, self._assignment(spelled), spelled.expression)

    def _assignment(self, spelled: Spelled) -> str:
        """What stands before the expression of a statement; results that nothing names are lost."""
        names = [self._registers[register] for register in spelled.targets]
        if not names:
            return ""
        if all(self._mentions[register] == 1 for register in spelled.targets):
            return "" if isinstance(spelled.expression, Call) else "_ = "
        target = f"({names[0]},)" if len(names) == 1 and spelled.braces else ", ".join(names)
        return f"{target} {spelled.symbol or '='} "

    def _declare(self, register: Register, indent: int) -> None:
        array = self._arrays.get(register)
        if array is None:
            head = "reg.undefined" if register in self._undefined else "reg.scalar"
            self._line(indent, f"{self._registers[register]} = {head}({register.dtype})")
        elif array not in self._open:
            self._open.add(array)
            self._line(indent, f"{array.name} = reg.array({array.dtype}, {array.count})")


def global_pointers(function: Kernel | Function) -> dict[int, tuple[Parameter, Register]]:
    """Where a parameter is loaded and made global by two instructions, as `global_ptrs` does it.

    Nothing where a parameter is used in any other way, so that it can be a tensor.
    """
    body = function.body or ()
    plain = {p for p in function.parameters if isinstance(p, Parameter) and _is_address(p)}
    if len(plain) < len(function.parameters) or not plain:
        return {}
    found: dict[int, tuple[Parameter, Register]] = {}
    uses = Counter(r for s in body if isinstance(s, Instruction) for r in mentioned(s))
    named = Counter(
        o.base
        for s in body
        if isinstance(s, Instruction)
        for o in s.operands
        if isinstance(o, Address) and isinstance(o.base, Parameter)
    )
    index = -1
    seen: set[Register] = set()
    for first, second in pairwise((*body, None)):
        if not isinstance(first, Instruction):
            continue
        index += 1
        if isinstance(second, Instruction):
            pair = _pointer(first, second)
            if pair is not None and uses[pair[1]] == 2 and pair[2] not in seen:
                found[index] = pair[0], pair[2]
        seen.update(mentioned(first))
    once = all(count == 1 for count in named.values())
    return found if once and {p for p, _ in found.values()} == set(named) else {}


def _pointer(
    first: Instruction, second: Instruction
) -> tuple[Parameter, Register, Register] | None:
    """The parameter, its value and its global address, where two instructions make it."""
    if first.spelling != "ld.param.u64" or second.spelling != "cvta.to.global.u64":
        return None
    if first.guard or second.guard or first.pragmas or second.pragmas:
        return None
    value, where = first.operands
    made, source = second.operands
    same = source == value and isinstance(value, Register) and isinstance(made, Register)
    if not same or not isinstance(where, Address) or where.offset:
        return None
    if not isinstance(where.base, Parameter) or made == value:
        return None
    assert isinstance(value, Register)
    assert isinstance(made, Register)
    typed = all(r.dtype.storage in ("u64", "b64") for r in (value, made))
    return (where.base, value, made) if typed else None


def _is_address(parameter: Parameter) -> bool:
    plain = parameter.dtype is u64 and parameter.length is None and not parameter.align
    return plain and parameter.pointer is None and not parameter.opaque


def _together(spelled: list[Spelled | None]) -> list[Spelled | None]:
    """Calls of `ptx.global_ptrs` that follow each other as one."""
    found: list[Spelled | None] = []
    last: int | None = None
    for index, each in enumerate(spelled):
        found.append(each)
        if each is None:
            continue
        if not (isinstance(each.expression, Call) and each.expression.head == "ptx.global_ptrs"):
            last = None
        elif last is None:
            last = index
        else:
            before = found[last]
            assert before is not None
            assert isinstance(before.expression, Call)
            names = (*before.expression.arguments, *each.expression.arguments)
            found[last] = replace(
                before,
                expression=Call("ptx.global_ptrs", names),
                targets=(*before.targets, *each.targets),
            )
            found[index] = None
    return found


def _accumulators(instruction: Instruction) -> Sequence[Register]:
    """The registers of a destination with many, which the instruction may also read."""
    first = instruction.operands[0] if instruction.operands else None
    if not isinstance(first, Vector) or len(first.elements) < _ARRAY:
        return ()
    specs = instruction.form.operands
    return [e for e in first.elements if isinstance(e, Register)] if specs[0].access != "in" else ()


def _runs(members: list[tuple[int, Register]]) -> list[list[tuple[int, Register]]]:
    """Members with numbers that follow each other."""
    runs: list[list[tuple[int, Register]]] = []
    for member in members:
        if runs and runs[-1][-1][0] + 1 == member[0]:
            runs[-1].append(member)
        else:
            runs.append([member])
    return runs


def _branches(nodes: Iterable[Node]) -> set[int]:
    """The branches that blocks and ways out of them stand for."""
    found: set[int] = set()
    for node in nodes:
        match node:
            case Leave(index, _):
                found.add(index)
            case If(index, body, end, otherwise, into):
                found |= {index, *([index + 1] if into else []), *_branches(body)}
                if otherwise is not None:
                    found |= {end, *_branches(otherwise)}
            case Loop(_, body, back, _):
                found |= {back, *_branches(body)}
            case While(compare, body, back):
                found |= {compare + 1, back, *_branches(body)}
            case _:
                pass
    return found


def _returns(instruction: Instruction) -> bool:
    plain = instruction.guard is None and not instruction.pragmas
    return plain and instruction.spelling == "ret"


def _stops(instruction: Instruction) -> bool:
    return instruction.guard is None and instruction.form.opcode in ("ret", "exit")


def _formals(function: Kernel | Function) -> list[Parameter | Register]:
    returns = function.returns if isinstance(function, Function) else ()
    return [*returns, *function.parameters]


def _by_line(
    comments: Iterable[Comment], instructions: Sequence[Instruction]
) -> dict[int, list[Comment]]:
    """The comments worth keeping, by the instruction before which they stand."""
    found: dict[int, list[Comment]] = {}
    if not instructions:
        return found
    lines = [instruction.location.line for instruction in instructions]
    index = 0
    for each in comments:
        text = each.text.lstrip("/* \t")
        if not lines[0] - 2 <= each.line <= lines[-1] or not text.strip(" -*/"):
            continue
        if text.startswith(_NOISE):
            continue
        while index < len(lines) and lines[index] < each.line:
            index += 1
        found.setdefault(min(index, len(lines) - 1), []).append(each)
    return found
