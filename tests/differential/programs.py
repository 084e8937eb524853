"""Random kernels, each as the body of a kernel and as a generator of the reader's Python.

Both have the same names, expressions and assignments. They differ in blocks, `with ptx.if_(p):` is
`if holds(p):`, and in what threads exchange, which the reader's generator yields.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

FLOATS = ("f32", "f64", "f16", "bf16")
USUAL = ("u32", "s32", "f32")
OTHERS = ("u64", "s64", "u16", "s16", "f64", "f16", "bf16")
SIZE = 64
CONVERSIONS = {
    "u64": (("u32", "cvt.u64.u32"),),
    "s64": (("s32", "cvt.s64.s32"), ("u32", "cvt.s64.u32")),
    "u32": (("u64", "cvt.u32.u64"), ("u16", "cvt.u32.u16"), ("f32", "cvt.rzi.u32.f32")),
    "s32": (("s64", "cvt.s32.s64"), ("s16", "cvt.s32.s16"), ("f32", "cvt.rzi.s32.f32")),
    "f32": (("s32", "cvt.rn.f32.s32"), ("f16", "cvt.f32.f16"), ("bf16", "cvt.f32.bf16")),
    "f64": (("f32", "cvt.f64.f32"), ("s64", "cvt.rn.f64.s64")),
    "f16": (("f32", "cvt.rn.f16.f32"),),
    "bf16": (("f32", "cvt.rn.bf16.f32"),),
}
"""The types that a type is converted from."""


@dataclass
class Program:
    """A program of a seed: its texts, and what a call of it needs."""

    seed: int
    block: int = 0
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: list[tuple[str, str]] = field(default_factory=list)
    kernel: list[str] = field(default_factory=list)
    reader: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.block = self.random.choice((1, 7, 32, 48, 64))
        self._indent, self._count, self._depth = 1, 0, 0
        self._scopes: list[dict[str, str]] = [{"thread": "u32"}]
        self._containers: dict[str, tuple[str, int, str]] = {}
        self._objects: dict[str, dict[str, str]] = {}
        types = (*USUAL, *self.random.sample(OTHERS, 3))
        self.inputs = {f"X_{dtype}": dtype for dtype in types}
        self._generate()

    @property
    def kernel_text(self) -> str:
        names = ", ".join([*self.inputs, *(f"Y{i}" for i in range(len(self.outputs)))])
        thread = "    thread = reg.from_(ptx.special.tid.x(), u32)"
        return "\n".join([f"def body({names}):", thread, *self.kernel, ""])

    @property
    def reader_text(self) -> str:
        names = ", ".join(["thread", *self.inputs, *(f"Y{i}" for i in range(len(self.outputs)))])
        return "\n".join([f"def reader({names}):", "    yield ('barrier',)", *self.reader, ""])

    def _generate(self) -> None:
        for dtype in USUAL:
            self._bind(f"X_{dtype}[thread % {SIZE}]", dtype)
        for _ in range(self.random.randint(4, 14)):
            self._statement()
        found = [item for item in self._scopes[0].items() if item[0] != "thread"]
        for name, (dtype, count, _) in self._containers.items():
            found += [(f"{name}[{i}]", dtype) for i in range(count)]
        for name, attributes in self._objects.items():
            found += [(f"{name}.{each}", dtype) for each, dtype in attributes.items()]
        self.outputs = self.random.sample(found, min(len(found), 8))
        for i, (name, dtype) in enumerate(self.outputs):
            if dtype == "pred":
                self.outputs[i] = name, "u32"
                name = f"ptx.where({name}, reg.scalar(u32, init=1), 0)"  # noqa: PLW2901
            self._line(f"Y{i}[thread] = {name}")

    # ---- lines -----------------------------------------------------------------------------------

    def _line(self, kernel: str, reader: str | None = None) -> None:
        space = "    " * self._indent
        self.kernel.append(space + kernel)
        self.reader.append(space + (kernel if reader is None else reader))

    def _name(self, letter: str = "v") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _bind(self, value: str, dtype: str) -> str:
        name = self._name("p" if dtype == "pred" else "v")
        self._line(f"{name} = {value}")
        self._scopes[-1][name] = dtype
        return name

    def _body(self, lines: Callable[[], None] | None = None, *, loop: bool = False) -> None:
        self._indent += 1
        self._depth += 1
        self._scopes.append({})
        if lines is not None:
            lines()
        self._line("pass")
        for _ in range(self.random.randint(1, 3)):
            self._statement()
            if loop and self.random.random() < 0.15:
                word, p = self.random.choice(("break", "continue")), self._predicate(1)
                self._line(f"ptx.{word}_(pred={p})", f"if holds({p}): {word}")
        self._scopes.pop()
        self._depth -= 1
        self._indent -= 1

    # ---- expressions -----------------------------------------------------------------------------

    def _type(self) -> str:
        return self.random.choice((*USUAL, *USUAL, *OTHERS))

    def _named(self, dtype: str | None = None) -> list[tuple[str, str]]:
        """The names of numbers that a statement may write, of one type or of all."""
        return [
            (name, kind)
            for scope in self._scopes
            for name, kind in scope.items()
            if name != "thread" and (kind == dtype or (dtype is None and kind != "pred"))
        ]

    def _number(self, dtype: str) -> str:
        if dtype in FLOATS:
            return self.random.choice(("0.0", "1.0", "-1.5", "0.5", "2", "7.0"))
        return str(self.random.randint(-9 if dtype[0] == "s" else 0, 100))

    def _index(self) -> str:
        return self.random.choice((f"(thread + {self.random.randint(0, 9)}) % {SIZE}", "3"))

    def _atom(self, dtype: str) -> str:
        found = [name for name, _ in self._named(dtype)]
        for name, (kind, count, _) in self._containers.items():
            if kind == dtype:
                found.append(f"{name}[{self.random.randrange(-count, count)}]")
        for name, attributes in self._objects.items():
            found += [f"{name}.{each}" for each, kind in attributes.items() if kind == dtype]
        if dtype in self.inputs.values():
            found.append(f"X_{dtype}[{self._index()}]")
        return self.random.choice(found or [f"reg.scalar({dtype}, init={self._number(dtype)})"])

    def _expression(self, dtype: str, depth: int = 2) -> str:
        chance = self.random.random()
        if depth == 0 or chance < 0.15:
            return self._atom(dtype)
        a, b = (self._expression(dtype, depth - 1) for _ in range(2))
        if self.random.random() < 0.3:
            b = self._number(dtype)
        if chance < 0.25:
            return f"ptx.where({self._predicate(depth - 1)}, {a}, {b})"
        if chance < 0.35 and dtype in CONVERSIONS:
            source, spelling = self.random.choice(CONVERSIONS[dtype])
            return f"convert('{spelling}', '{dtype}', {self._expression(source, depth - 1)})"
        if dtype in FLOATS:
            choices = [f"({a} {each} {b})" for each in "+-*"] + [f"(-{a})", f"abs({a})"]
            choices += [f"({a} / {b})"] if dtype in ("f32", "f64") else []
            choices += [f"({a}).max({b})"] if dtype in ("f32", "f64") else []
            return self.random.choice(choices)
        symbols = ("+", "-", "&", "|", "^", "//", "%")
        choices = [f"({a} {each} {b})" for each in symbols if each not in ("//", "%") or b != "0"]
        choices += [f"(~{a})", f"(-{a})", f"({a}).min({b})", f"({a} << {self._shift()})"]
        choices += [f"({a} >> {self._shift()})", f"reg.from_({self._other_sign(dtype)}, {dtype})"]
        if dtype in ("u64", "s64"):
            narrow = f"{dtype[0]}32"
            choices.append(f"({self._atom(narrow)} * {self._atom(narrow)})")
            choices.append(f"({a} + {self._atom(self.random.choice(('u32', 's32')))})")
        return self.random.choice(choices)

    def _shift(self) -> str:
        return self.random.choice((str(self.random.randint(0, 66)), f"({self._atom('u32')} & 31)"))

    def _other_sign(self, dtype: str) -> str:
        return self._atom({"u": "s", "s": "u"}[dtype[0]] + dtype[1:])

    def _predicate(self, depth: int) -> str:
        named = [name for name, _ in self._named("pred")]
        if named and self.random.random() < 0.3:
            return self.random.choice(("", "~")) + self.random.choice(named)
        if depth > 0 and self.random.random() < 0.3:
            symbol = self.random.choice("&|^")
            return f"(({self._predicate(depth - 1)}) {symbol} ({self._predicate(depth - 1)}))"
        dtype = self.random.choice(("u32", "s32", "f32", "s64", "f64"))
        b = self.random.choice((self._atom(dtype), self._number(dtype)))
        symbol = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"({self._expression(dtype, depth)} {symbol} {b})"

    # ---- statements ------------------------------------------------------------------------------

    def _statement(self) -> None:
        named = self._named()
        choices: list[Callable[[], object]] = [self._new, self._new, self._predicates]
        choices += [self._alias, self._write, self._write, self._set, self._again] * bool(named)
        choices += [self._container, self._object, self._exchange, self._tile, self._function] * (
            self._depth == 0
        )
        choices += [self._element, self._element] * bool(self._containers)
        choices += [self._attribute] * bool(self._objects)
        choices += [self._if, self._range, self._while, self._loop] * (self._depth < 2)
        self.random.choice(choices)()

    def _new(self) -> None:
        dtype = self._type()
        self._bind(self._expression(dtype), dtype)

    def _predicates(self) -> None:
        named = [name for name, _ in self._named("pred")]
        if not named or self.random.random() < 0.5:
            self._bind(self._predicate(2), "pred")
            return
        name = self.random.choice(named)
        kind = self.random.choice(("{} &= {}", "{}.set({})", "{} = {}"))
        self._line(kind.format(name, self._predicate(1)))

    def _alias(self) -> None:
        self._bind(*self.random.choice(self._named()))

    def _write(self) -> None:
        self._in_place(*self.random.choice(self._named()))

    def _in_place(self, target: str, dtype: str) -> None:
        if dtype in FLOATS:
            symbol, value = self.random.choice("+-*"), self._expression(dtype, 1)
        else:
            symbol = self.random.choice(("+", "-", "*", "&", "|", "^", "<<", "//"))
            value = self._expression(dtype, 1)
            if symbol in ("<<", "//"):
                value = str(self.random.randint(1, 9))
        self._line(f"{target} {symbol}= {value}")

    def _set(self) -> None:
        name, dtype = self.random.choice(self._named())
        self._line(f"{name}.set({self._expression(dtype, 1)})")

    def _again(self) -> None:
        name, dtype = self.random.choice(self._named())
        other = self.random.choice([each for each, _ in self._named(dtype)])
        value = self._expression(dtype, 1)
        swap = f"{name}, {other} = {other}, {name}"
        self._line(self.random.choice((f"{name} = {value}", swap)))

    def _container(self) -> None:
        dtype, count, name = self._type(), self.random.randint(2, 4), self._name("c")
        kind = self.random.choice(("list", "tuple", "array"))
        values = [self._expression(dtype, 1) for _ in range(count)]
        if kind == "array":
            self._line(f"{name} = reg.array({dtype}, {count})")
            for i, value in enumerate(values):
                self._line(f"{name}[{i}] = {value}")
        else:
            listed = ", ".join(values)
            self._line(f"{name} = [{listed}]" if kind == "list" else f"{name} = ({listed})")
        self._containers[name] = dtype, count, kind

    def _element(self) -> None:
        name = self.random.choice(list(self._containers))
        dtype, count, kind = self._containers[name]
        i, j = (self.random.randrange(-count, count) for _ in range(2))
        chance = self.random.random()
        if chance < 0.25:
            self._bind(f"{name}[{i}]", dtype)
        elif chance < 0.4 and self._depth == 0:
            copied = self._name("c")
            self._line(f"{copied} = {self.random.choice(('list({})', '[*{}]')).format(name)}")
            self._containers[copied] = dtype, count, "list"
        elif chance < 0.5:
            function = "lambda a, b: a + b" if dtype != "pred" else "lambda a, b: a & b"
            self._bind(f"functools.reduce({function}, {name})", dtype)
        elif kind == "tuple":
            first, rest = self._name(), self._name("r")
            self._line(f"{first}, *{rest} = {name}")
            self._scopes[-1][first] = dtype
        elif chance < 0.7:
            self._in_place(f"{name}[{i}]", dtype)
        elif chance < 0.85:
            self._line(f"{name}[{i}] = {self._expression(dtype, 1)}")
        else:
            self._line(f"{name}[{i}], {name}[{j}] = {name}[{j}], {name}[{i}]")

    def _object(self) -> None:
        name, attributes = self._name("o"), {each: self._type() for each in "xy"}
        values = (f"{each}={self._expression(dtype, 1)}" for each, dtype in attributes.items())
        self._line(f"{name} = types.SimpleNamespace({', '.join(values)})")
        self._objects[name] = attributes

    def _attribute(self) -> None:
        name = self.random.choice(list(self._objects))
        attribute, dtype = self.random.choice(list(self._objects[name].items()))
        if self.random.random() < 0.6:
            self._in_place(f"{name}.{attribute}", dtype)
        else:
            self._line(f"{name}.{attribute} = {self._expression(dtype, 1)}")

    def _function(self) -> None:
        """A function of the body that reads its parameters, writes one, or writes an outer name."""
        name, dtype = self.random.choice(self._named() or [("thread", "u32")])
        called, kind = self._name("fn"), self.random.choice(("reads", "writes", "outer"))
        if kind == "outer" and name != "thread":
            self._line(f"def {called}():")
            self._indent += 1
            self._line(f"nonlocal {name}")
            self._in_place(name, dtype)
            self._indent -= 1
            self._line(f"{called}()")
            return
        self._line(f"def {called}(a, b={name}):")
        self._indent += 1
        self._scopes.append({"a": dtype, "b": dtype})
        if kind == "writes":
            self._in_place("a", dtype)
        self._line(f"return {'a' if kind == 'writes' else self._expression(dtype, 2)}")
        self._scopes.pop()
        self._indent -= 1
        self._bind(f"{called}({self._atom(dtype)})", dtype)

    # ---- blocks ----------------------------------------------------------------------------------

    def _if(self) -> None:
        predicate = self._predicate(1)
        self._line(f"with ptx.if_({predicate}):", f"if holds({predicate}):")
        self._body()
        if self.random.random() < 0.5:
            self._line("with ptx.else_():", "else:")
            self._body()

    def _range(self) -> None:
        name, dtype = self._name("i"), self.random.choice(("s32", "u32"))
        bounds = f"{self.random.randint(0, 4)}, dtype={dtype}"
        if self.random.random() < 0.5:
            stop = self._name("n")
            self._line(f"{stop} = {self._atom(dtype)} & 3")
            bounds = stop
        self._line(f"for {name} in ptx.range_({bounds}):", f"for {name} in counted({bounds}):")
        self._body(lambda: self._scopes[-1].update({name: dtype}), loop=True)

    def _while(self) -> None:
        name, most = self._name("w"), self.random.randint(0, 4)
        self._line(f"{name} = reg.scalar(u32, init=0)")
        self._line(f"with ptx.while_(lambda: {name} < {most}):", f"while holds({name} < {most}):")
        self._body(lambda: self._line(f"{name} += 1"), loop=True)

    def _loop(self) -> None:
        """The reader tests after the first round, also where `continue` ends it."""
        name, first, most = self._name("w"), self._name("first"), self.random.randint(0, 4)
        self._line(
            f"{name} = reg.scalar(u32, init=0)", f"{name}, {first} = reg.scalar(u32, 0), True"
        )
        kernel = f"with ptx.loop(pred=lambda: {name} < {most}):"
        self._line(kernel, f"while {first} or holds({name} < {most}):")
        self._body(lambda: self._line(f"{name} += 1", f"{first} = False; {name} += 1"), loop=True)

    # ---- what threads exchange -------------------------------------------------------------------

    def _exchange(self) -> None:
        dtype = self.random.choice(("u32", "s32", "u64", "s64", "f32", "f64"))
        names = ["reduce_max", "reduce_min", "broadcast"]
        names += ["reduce_sum", "inclusive_scan", "exclusive_scan"] * (dtype not in FLOATS)
        scope = self.random.choice(("cta", "warp")) if self.block % 32 == 0 else "cta"
        called = f"{scope}.{self.random.choice(names)}"
        value, name = self._expression(dtype, 1), self._name()
        lane = ", 0" * called.endswith("broadcast")
        self._line(f"{name} = ptx.{called}({value}{lane})", f"{name} = yield ('{called}', {value})")
        self._scopes[-1][name] = dtype

    def _tile(self) -> None:
        dtype, tile = (
            self.random.choice(("u32", "f32", "f64", "f16", "s64", "u16")),
            self._name("t"),
        )
        self._line(f"{tile} = smem.alloc({dtype}, {self.block})", f"{tile} = yield 'tile', {dtype}")
        self._line(f"{tile}[thread] = {self._expression(dtype, 1)}")
        self._line("ptx.bar.sync(0)", "yield ('barrier',)")
        self._bind(f"{tile}[(thread + {self.random.randint(0, 9)}) % {self.block}]", dtype)
