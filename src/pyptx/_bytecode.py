"""What Python runs next in a frame: names that it reads, and statements that leave a `with`.

A kernel is traced once, so the language has to know what the Python around a block does after it.
CPython's bytecode says which names are read; the syntax tree says which `with` a `return`, `break`
or `continue` leaves. Source: the documentation of `dis`, "Python Bytecode Instructions".
"""

from __future__ import annotations

import ast
import dis
import linecache
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import CodeType
from typing import Final, Protocol, TypeAlias, cast

_ENDS: Final = re.compile(r"RETURN|RAISE|RERAISE")
_JUMPS_ALWAYS: Final = re.compile(r"JUMP_(FORWARD|BACKWARD|ABSOLUTE)")
_ACCESS: Final = re.compile(r"(LOAD|STORE|DELETE)_(?:FAST|DEREF|NAME|GLOBAL|CLOSURE|CLASSDEREF)")
_JUMPING: Final = frozenset((*dis.hasjrel, *dis.hasjabs))
_LEAVES: Final = (ast.Return, ast.Break, ast.Continue)
_Leave: TypeAlias = "ast.Return | ast.Break | ast.Continue"
_NO_EFFECT: Final = ("NOP", "POP_TOP", "END_FOR", "RESUME", "EXTENDED_ARG")
_UNPACKS: Final = ("UNPACK_", "EXTENDED_ARG", "NOP")
_STACK: Final = ("LOAD_", "SWAP", "ROT_", "COPY", "NOP", "CACHE")
_COUNTED: Final = re.compile(rb"(?:for\b.*?\bin\s+)?(enumerate|zip)\s*\(")
_KEPT: Final = 512
_SAME_AS_AFTER: Final = 400


@dataclass(frozen=True)
class Code:
    """The instructions of a code object, by their order and by their offset in bytes."""

    code: CodeType
    instructions: tuple[dis.Instruction, ...]
    index: dict[int, int] = field(default_factory=dict[int, int])
    _accesses: dict[int, tuple[tuple[str, str], ...]] = field(
        default_factory=dict[int, "tuple[tuple[str, str], ...]"]
    )

    def at(self, offset: int) -> int:
        """The instruction at an offset, or the one whose inline cache is there.

        A frame that has called a function of Python stands, from 3.12 on, in the cache of the call.
        """
        while offset not in self.index:
            offset -= 2
        return self.index[offset]

    def successors(self, i: int) -> Iterator[int]:
        """What may run after instruction `i`, exceptions aside."""
        instruction = self.instructions[i]
        name = instruction.opname
        if instruction.opcode in _JUMPING:
            yield self.index[instruction.argval]
        if not (_ENDS.match(name) or _JUMPS_ALWAYS.match(name)) and i + 1 < len(self.instructions):
            yield i + 1

    def accesses(self, i: int) -> tuple[tuple[str, str], ...]:
        """("LOAD" or "STORE" or "DELETE", name), in order. 3.13 puts two into one instruction."""
        found = self._accesses.get(i)
        if found is None:
            instruction = self.instructions[i]
            kinds = _ACCESS.findall(instruction.opname)
            if "AND_CLEAR" in instruction.opname:  # an inlined comprehension saves its variable
                kinds = []
            names = instruction.argval if len(kinds) > 1 else (instruction.argval,)
            found = self._accesses[i] = tuple(zip(kinds, names, strict=False))
        return found

    @cached_property
    def loop_variables(self) -> frozenset[str]:
        """The names that a `for` binds, or several of them: `for i, (a, b) in ...`."""
        found: set[str] = set()
        for i, each in enumerate(self.instructions):
            if not each.opname.startswith("FOR_ITER"):
                continue
            for j in range(i + 1, len(self.instructions)):
                kinds = dict.fromkeys(kind for kind, _ in self.accesses(j))
                found.update(name for kind, name in self.accesses(j) if kind == "STORE")
                if list(kinds) != ["STORE"] and not self.instructions[j].opname.startswith(
                    _UNPACKS
                ):
                    break
        return frozenset(found)

    def line(self, i: int) -> int:
        """The line of instruction `i`, that of the function where it has none."""
        positions = self.instructions[i].positions
        return (positions and positions.lineno) or self.code.co_firstlineno


class _Entry(Protocol):
    start: int
    end: int
    target: int


_Place: TypeAlias = "tuple[int, int, int | None, int | None]"
_Bodies: TypeAlias = "dict[_Place, list[ast.stmt]]"

_codes: dict[int, Code] = {}
_files: dict[str, tuple[list[str], _Bodies | None]] = {}
"""Of a file the lines that were read, and the bodies of its `with`, None where there are none."""


def code_of(code: CodeType) -> Code:
    """The instructions of `code`, remembered."""
    found = _codes.get(id(code))
    if found is None or found.code is not code:
        if len(_codes) >= _KEPT:
            _codes.clear()
        instructions = tuple(dis.get_instructions(code))
        found = Code(code, instructions, {each.offset: i for i, each in enumerate(instructions)})
        _codes[id(code)] = found
    return found


# ---- names ---------------------------------------------------------------------------------------


def next_read(code: CodeType, offset: int, name: str, *, jump: bool = False) -> int | None:
    """The line that reads `name` first after the instruction at `offset`; None where none does.

    A path ends where the name is bound anew. With `jump`, only where that instruction jumps to: for
    the iterator of a `for`, what follows the loop.
    """
    found = code_of(code)
    start = found.at(offset)
    work = [(i, i <= start) for i in list(found.successors(start))[: 1 if jump else None]]
    seen: set[tuple[int, bool]] = set()
    reads: list[int] = []
    while work:
        i, back = work.pop()
        if (i, back) in seen:
            continue
        seen.add((i, back))
        kind = next((kind for kind, each in found.accesses(i) if each == name), None)
        if kind == "LOAD":
            reads.append(found.line(i))
        elif kind is None:
            following = list(found.successors(i))
            if found.instructions[i].opname.startswith("FOR_ITER") and not back:
                following = following[1:]  # a loop of Python that is entered runs once at least
            work += [(j, j <= i) for j in following]
    return min(reads, default=None)


def read_between(
    code: CodeType, first: int, last: int, name: str, attribute: str | None = None
) -> int | None:
    """The first line that reads `name`, or that attribute of any object, between two offsets.

    In the order of the code; where they are one, the iterator of a `for`, in the body of that.
    """
    found = code_of(code)
    start, end = found.at(first), found.at(last)
    if start == end and found.instructions[start].opcode in _JUMPING:
        end = found.index[found.instructions[start].argval]
    for i in range(start + 1, end):
        if attribute is None:
            reads = ("LOAD", name) in found.accesses(i)
        else:
            reads = _loads_attribute(found.instructions[i], attribute)
        if reads:
            return found.line(i)
    return None


def _loads_attribute(instruction: dis.Instruction, name: str) -> bool:
    return instruction.argval == name and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")


def binding(code: CodeType, first: int, last: int, name: str) -> int | None:
    """The last line that binds `name` on the way from the instruction at `first` to `last`.

    Where they are one, the iterator of a `for`, on the way through its body.
    """
    found = code_of(code)
    start, end = found.at(first), found.at(last)
    work = [start + 1] if start == end else list(found.successors(start))
    seen: set[int] = {end}
    bound: list[int] = []
    while work:
        i = work.pop()
        if i in seen:
            continue
        seen.add(i)
        if any(kind != "LOAD" and each == name for kind, each in found.accesses(i)):
            bound.append(found.line(i))
        work.extend(found.successors(i))
    return max(bound, default=None)


def assigned(code: CodeType, offset: int) -> str | None:
    """The name that the instruction after `offset` binds; None where it binds none."""
    found = code_of(code)
    i = found.at(offset) + 1
    if i >= len(found.instructions):
        return None
    return next((name for kind, name in found.accesses(i) if kind == "STORE"), None)


def discarded(code: CodeType, offset: int) -> bool:
    """Whether the instruction after `offset` throws its result away."""
    found = code_of(code)
    i = found.at(offset) + 1
    return i < len(found.instructions) and found.instructions[i].opname == "POP_TOP"


def is_returned(code: CodeType, offset: int) -> bool:
    """Whether the instruction after `offset` returns its result."""
    found = code_of(code)
    i = found.at(offset) + 1
    return i < len(found.instructions) and found.instructions[i].opname == "RETURN_VALUE"


def is_loop_variable(code: CodeType, name: str) -> bool:
    """Whether a `for` of Python binds a name."""
    return name in code_of(code).loop_variables


def receiver(code: CodeType, offset: int, method: str) -> str | None:
    """The name before the dot of a call of that method; None where something else is before it."""
    found = code_of(code)
    for i in range(found.at(offset), 0, -1):
        each = found.instructions[i]
        if each.opname in ("LOAD_METHOD", "LOAD_ATTR") and each.argval == method:
            loads = [name for kind, name in found.accesses(i - 1) if kind == "LOAD"]
            return loads[-1] if loads else None
    return None


def copied(code: CodeType, one: str, other: str) -> bool:
    """Whether the code says `one = other`, `other = one` or `one = other = ...`."""
    found = code_of(code)
    accesses: list[tuple[str, str]] = []
    for i in range(len(found.instructions)):
        accesses += list(found.accesses(i)) or [("", "")]
    return any(
        {name, before} == {one, other} and kind == "STORE"
        for (_, before), (kind, name) in pairwise(accesses)
    )


def from_element(code: CodeType, name: str) -> bool:
    """Whether the code says `name = container[index]`."""
    return any(_is_subscript(before) for before in _bindings(code, name))


def appended(code: CodeType, container: str, name: str) -> bool:
    """Whether the code says `container.append(name)`."""
    found = code_of(code)
    for i, each in enumerate(found.instructions):
        if each.argval != "append" or each.opname not in ("LOAD_METHOD", "LOAD_ATTR"):
            continue
        before = [n for kind, n in found.accesses(i - 1) if kind == "LOAD"]
        after = [n for kind, n in found.accesses(i + 1) if kind == "LOAD"]
        if before[-1:] == [container] and after[:1] == [name]:
            return True
    return False


def returned(code: CodeType, name: str) -> bool:
    """Whether the code says `return name`."""
    found = code_of(code)
    return any(
        each.opname == "RETURN_VALUE" and ("LOAD", name) in list(found.accesses(i - 1))[-1:]
        for i, each in enumerate(found.instructions)
    )


def is_parameter(code: CodeType, name: str) -> bool:
    """Whether a name is a parameter."""
    return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def unpacks(code: CodeType, first: int, second: int) -> bool:
    """Whether one assignment stores both elements: `a[i], a[j] = ...`.

    Then nothing is computed and no element is loaded between the two instructions.
    """
    found = code_of(code)
    start, end = found.at(first), found.at(second)
    between = found.instructions[start + 1 : end]
    return start < end and all(
        each.opname.startswith(_STACK) or each.opname == "STORE_SUBSCR" for each in between
    )


def next_attribute(code: CodeType, offset: int, name: str) -> int | None:
    """The line that reads an attribute of that name first after an instruction, of any object."""
    found = code_of(code)
    work = list(found.successors(found.at(offset)))
    seen: set[int] = set()
    reads: list[int] = []
    while work:
        i = work.pop()
        if i in seen:
            continue
        seen.add(i)
        if _loads_attribute(found.instructions[i], name):
            reads.append(found.line(i))
        work.extend(found.successors(i))
    return min(reads, default=None)


def _bindings(code: CodeType, name: str) -> Iterator[dis.Instruction]:
    """What runs right before each instruction that binds a name."""
    found = code_of(code)
    for i in range(1, len(found.instructions)):
        if ("STORE", name) in list(found.accesses(i))[:1]:
            yield found.instructions[i - 1]


def _is_subscript(instruction: dis.Instruction) -> bool:
    return instruction.opname == "BINARY_SUBSCR" or instruction.argrepr == "[]"  # from 3.14 on


def same(code: CodeType, first: int, second: int) -> bool:
    """Whether two offsets are of one instruction."""
    found = code_of(code)
    return found.at(first) == found.at(second)


# ---- leaving a `with` ----------------------------------------------------------------------------


def leaving(code: CodeType, entered: int, exits: int) -> tuple[str, int] | None:
    """The statement by which a frame leaves a `with`, and its line; None where its body ended.

    `entered` and `exits` are the offsets of the instructions that call `__enter__` and `__exit__`.
    Where the source cannot be read, a body that is left early is known by what follows it.
    """
    found = code_of(code)
    i = found.at(exits)
    body = _body(code, found.instructions[i].positions)
    if body is None:
        return None if _as_if_ended(found, entered, i) else ("return, break or continue", 0)
    statements = list(_leaves(body, in_loop=False))
    if not statements:
        return None
    last = _last_position(found, i)
    for statement, before in statements:
        if any(_covers(each, last) for each in (statement, before) if each is not None):
            return _word(statement), statement.lineno
    if isinstance(body[-1], _LEAVES) and body[-1] in [s for s, _ in statements]:
        return _word(body[-1]), body[-1].lineno
    if not _as_if_ended(found, entered, i):  # through a `finally`
        return _word(statements[0][0]), statements[0][0].lineno
    return None


def statement_of(code: CodeType, offset: int) -> bool:
    """Whether the instruction at `offset` asks an iterator for a `for` statement, or `yield from`.

    Otherwise it is a comprehension, an unpacking, or a call such as `list(...)`. From 3.12 on a
    comprehension is a part of the code around it, and adds to a list, set or dictionary that is
    below the iterators of its own loops on the stack. A generator expression is what iterates it.
    """
    if code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>"):
        return False
    found = code_of(code)
    start = found.at(offset)
    instruction = found.instructions[start]
    if instruction.opname in ("SEND", "YIELD_VALUE"):
        return True
    if not instruction.opname.startswith("FOR_ITER"):
        return False
    ends: list[int] = [found.index[instruction.argval]]
    for i in range(start + 1, ends[0]):
        each = found.instructions[i]
        ends = [end for end in ends if end > i]
        if each.opname.startswith("FOR_ITER"):
            ends.append(found.index[each.argval])
        if each.opname in ("LIST_APPEND", "SET_ADD", "MAP_ADD") and (each.arg or 0) > len(ends):
            return False
    return True


def counted(code: CodeType, offset: int) -> str | None:
    """`enumerate` or `zip` where the `for` at `offset` has its iterator from it, else None."""
    at = code_of(code).instructions[code_of(code).at(offset)].positions
    if at is None or at.lineno is None or at.col_offset is None:
        return None
    line = linecache.getline(code.co_filename, at.lineno).encode()
    called = _COUNTED.match(line[at.col_offset :])  # the whole `for` in 3.11, its iterator later
    return called[1].decode() if called else None


def _word(statement: ast.stmt) -> str:
    return type(statement).__name__.lower()


def _body(code: CodeType, at: dis.Positions | None) -> list[ast.stmt] | None:
    """The body of the `with` at this place of the file; None where the source is another or none.

    CPython before 3.13 names the whole statement there, later ones the context expression.
    """
    bodies = _bodies(code.co_filename)
    if bodies is None or at is None or at.lineno is None or at.col_offset is None:
        return None
    return bodies.get((at.lineno, at.col_offset, at.end_lineno, at.end_col_offset))


def _bodies(file: str) -> _Bodies | None:
    """The bodies of all `with` of a file by their places, read once; None without its source."""
    lines = linecache.getlines(file)
    known = _files.get(file)
    if known is None or known[0] is not lines:
        if len(_files) >= _KEPT:
            _files.clear()
        try:
            tree = ast.parse("".join(lines)) if lines else None
        except (SyntaxError, ValueError):
            tree = None
        known = _files[file] = lines, None if tree is None else _bodies_of(tree)
    return known[1]


def _bodies_of(tree: ast.Module) -> _Bodies:
    found: _Bodies = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            for each in (node, *(item.context_expr for item in node.items)):
                place = each.lineno, each.col_offset, each.end_lineno, each.end_col_offset
                found.setdefault(place, node.body)
    return found


def _leaves(body: list[ast.stmt], *, in_loop: bool) -> Iterator[tuple[_Leave, ast.stmt | None]]:
    """The statements that leave `body`, each with the one before it on the same line.

    A `break` of a Python loop inside of it does not, nor does the `return` of a nested function.
    """
    before: ast.stmt | None = None
    for statement in body:
        if isinstance(statement, _LEAVES):
            if isinstance(statement, ast.Return) or not in_loop:
                beside = before is not None and before.end_lineno == statement.lineno
                yield statement, before if beside else None
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for inner, looping in _suites(statement):
                yield from _leaves(inner, in_loop=in_loop or looping)
        before = statement


def _suites(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The statement's own suites, and whether `break` in them is its own."""
    looping = isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
    for name, value in ast.iter_fields(statement):
        if name in ("handlers", "cases"):
            yield from ((each.body, False) for each in value)
        elif name in ("body", "orelse", "finalbody"):
            yield value, looping and name == "body"


def _last_position(code: Code, i: int) -> dis.Positions | None:
    """Where the source is that ran last before the `__exit__` that instruction `i` calls.

    The calls of `__exit__` themselves have the place of their `with`.
    """
    own = code.instructions[i].positions
    for j in range(i - 1, -1, -1):
        instruction = code.instructions[j]
        if _ENDS.match(instruction.opname) or _JUMPS_ALWAYS.match(instruction.opname):
            return None
        if instruction.positions != own:
            return instruction.positions
    return None


def _covers(statement: ast.stmt, at: dis.Positions | None) -> bool:
    if at is None or at.lineno is None or at.col_offset is None:
        return False
    if at.end_lineno is None or at.end_col_offset is None:
        return False
    first = statement.lineno, statement.col_offset
    last = statement.end_lineno or 0, statement.end_col_offset or 0
    return first <= (at.lineno, at.col_offset) and (at.end_lineno, at.end_col_offset) <= last


def _as_if_ended(code: Code, entered: int, i: int) -> bool:
    """Whether what follows this `__exit__` is what follows when an exception is suppressed.

    That path begins at the handler of the body, and goes on after the `with`.
    """
    after = code.instructions[code.at(entered) + 1].offset
    handlers = [target for start, end, target in _handlers(code.code) if start <= after < end]
    # Whether __exit__ suppresses the exception is what the handler jumps by.
    jump = (
        next(
            (
                i
                for i in code.instructions[code.index[handlers[-1]] :]
                if i.opname.endswith("IF_TRUE")
            ),
            None,
        )
        if handlers
        else None
    )
    if jump is None:
        return True
    j = code.index[jump.argval]
    while code.instructions[j].opname != "POP_EXCEPT":
        j += 1
    return all(a == b for a, b in zip(_run(code, i + 1), _run(code, j + 1), strict=False))


def _handlers(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """The exception table: first offset, end and handler of each range of instructions."""
    entries = getattr(dis.Bytecode(code), "exception_entries", ())  # not in typeshed
    for entry in cast("Iterable[_Entry]", entries):
        yield entry.start, entry.end, entry.target


def _run(code: Code, i: int) -> list[tuple[str, object]]:
    """The instructions from `i` on without jumps and clean-up, to the end of the function."""
    found: list[tuple[str, object]] = []
    while i < len(code.instructions) and len(found) < _SAME_AS_AFTER:
        instruction = code.instructions[i]
        if _JUMPS_ALWAYS.match(instruction.opname):
            i = code.index[instruction.argval]
            found.append(("", None))  # so that a loop without a body ends
            continue
        if instruction.opname not in _NO_EFFECT:
            # CPython copies small blocks, so places in the code differ where the code does not.
            argument = None if instruction.opcode in _JUMPING else instruction.argval
            found.append((instruction.opname, argument))
        if _ENDS.match(instruction.opname):
            break
        i += 1
    return [each for each in found if each[0]]
