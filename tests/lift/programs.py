"""PTX with generated control flow: as compilers write it, and as nobody would."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

SPOTS = 4  # labels that branches by hand go to, wherever they stand
DEEPEST = 4  # blocks in one another
OPS = (
    "add.u32 r0, r0, 1;",
    "mul.lo.u32 r2, r2, r1;",
    "xor.b32 r1, r1, r0;",
    "setp.ne.u32 k0, r1, 7;",
    "setp.lt.u32 k1, r2, r0;",
    "@k0 sub.u32 r1, r1, r2;",
    "call (r1), other, (r2);",
    '.pragma "nounroll";',
    "// a note",
    "@k1 ret;",
    "ret;",
)


@dataclass
class Writer:
    """Writes one body, and takes every choice from bytes: the first choice once there are no more.

    Hypothesis draws and shrinks bytes faster than trees of statements.
    """

    prefix: str
    data: bytes
    calls: bool
    lines: list[str] = field(default_factory=list)
    placed: set[int] = field(default_factory=set)
    labels: int = 0
    own: int = 0
    depth: int = 0
    wild: bool = True
    loops: list[tuple[str, str]] = field(default_factory=list)

    def choice(self, *options):
        first, self.data = self.data[:1], self.data[1:]
        return options[int.from_bytes(first, "little") % len(options)]

    # ---- statements ------------------------------------------------------------------------------

    def block(self) -> None:
        self.depth += 1
        for _ in range(self.choice(1, 2, 3, 0) if self.data else 0):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        wild = (self.jump, self.spot_here) if self.wild else ()
        simple = (self.op, self.op, self.leave, *wild)
        nested = (self.if_, self.loop, self.if_, self.loop) if self.depth < DEEPEST else ()
        self.choice(*simple, *nested)()

    def op(self) -> None:
        text = self.choice(*OPS)
        self.lines.append(text if self.calls or not text.startswith("call") else OPS[0])

    def spot_here(self) -> None:
        self.spot(self.choice(*range(SPOTS)))

    def spot(self, number: int) -> None:
        if number not in self.placed:
            self.placed.add(number)
            self.place(f"{self.prefix}s{number}")

    def jump(self) -> None:
        """A branch to a spot: `bra`, `bra.uni`, or `brx.idx` to one of several."""
        spots = [f"{self.prefix}s{self.choice(*range(SPOTS))}" for _ in range(2)]
        opcode = self.choice("bra", "bra.uni", "brx.idx")
        guard = self.guard(always=True)
        target = spots[0]
        if opcode == "brx.idx":
            table = self.label()
            self.lines.append(f"{table}: .branchtargets {', '.join(spots)};")
            target = f"r0, {table}"
        self.lines.append(f"{guard}{opcode} {target};")

    def leave(self) -> None:
        """A branch out of the innermost loop, or to its next round."""
        if self.loops:
            label = self.choice(*self.loops[-1])
            self.lines.append(f"{self.guard(always=True)}bra {label};")

    def if_(self) -> None:
        inside, otherwise, end = self.label(), self.label(), self.label()
        into, has_else = self.choice((False, False), (False, True), (True, False), (True, True))
        if into:
            self.lines += [f"{self.guard()}bra {inside};", f"bra {otherwise};"]
            self.place(inside)
        else:
            self.lines.append(f"{self.guard()}bra {otherwise};")
        self.block()
        if has_else:
            self.lines.append(f"bra {end};")
        self.place(otherwise)
        if has_else:
            self.block()
            self.place(end)

    def loop(self) -> None:
        """A loop that is tested in its last line, in its first, or nowhere."""
        start, again, end = self.label(), self.label(), self.label()
        tested = self.choice("last", "first", "")
        self.place(start)
        if tested == "first":
            self.lines.append(f"{self.guard()}bra {end};")
        self.loops.append((end, start if tested == "first" else again))
        self.block()
        self.loops.pop()
        self.place(again)
        self.lines.append(f"{self.guard() if tested == 'last' else ''}bra {start};")
        self.place(end)

    # ---- parts -----------------------------------------------------------------------------------

    def label(self) -> str:
        self.labels += 1
        return f"{self.prefix}{self.labels}"

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def guard(self, *, always: bool = False) -> str:
        """What stands before a branch: a predicate that is kept, or one that is compared for it."""
        way = self.choice("compared", "kept", "apart", "entered", "set", *[""][:always])
        register = self.choice("k0", "k1") if way in ("kept", "set") else f"q{self.own + 1}"
        if way in ("compared", "apart", "entered"):
            self.own += 1
        if way not in ("kept", ""):
            self.lines.append(f"setp.lt.u32 {register}, r0, {self.own + 2};")
        if way == "apart":
            self.lines.append("add.u32 r2, r2, r0;")
        elif way == "entered":
            self.spot_here()
        return way and f"@{self.choice('', '!')}{register} "

    def text(self, last: str) -> str:
        """The body, with a statement for each byte or so."""
        self.wild = self.choice(True, False)
        while self.data:
            self.statement()
        for number in range(SPOTS):
            self.spot(number)
        return self.ended(last)

    def graph(self, last: str) -> str:
        """The body as a few lines, of which any may branch to any other, and into any other."""
        count = self.choice(*range(4, 13))
        starts = [f"{self.prefix}{i}" for i in range(count + 1)]
        insides = [f"{self.prefix}{i}i" for i in range(count)]
        targets = (*starts, *starts, *insides)
        backs: dict[int, str] = {}
        for i in range(count):
            self.place(starts[i])
            kind = self.choice("op", "compared", "kept", "always", "around", "while")
            first, guard = "", ""
            if kind in ("compared", "while"):
                self.own += 1
                first = f"setp.lt.u32 q{self.own}, r0, {self.own + 2};"
                guard = f"@{self.choice('', '!')}q{self.own} "
            elif kind in ("kept", "around"):
                guard = f"@{self.choice('', '!')}{self.choice('k0', 'k1')} "
            target = self.choice(*targets)
            if kind == "while":
                end = self.choice(*range(i + 1, count + 1))
                backs[end] = starts[i]
                target = starts[end]
            elif kind == "around":
                first, guard = f"{guard}bra {starts[i + 1]};", ""
            self.lines += [first] if first else []
            self.place(insides[i])
            if kind == "op":
                self.op()
            else:
                self.lines.append(f"{guard}bra {target};")
            if i + 1 in backs:
                self.lines.append(f"bra {backs[i + 1]};")
        self.place(starts[-1])
        return self.ended(last)

    def ended(self, last: str) -> str:
        own = "".join(f".reg .pred q{i + 1};\n" for i in range(self.own))
        return f"{own}{HEAD}{chr(10).join(self.lines)}\n{last}ret;\n"


HEAD = "setp.eq.u32 k0, r0, 0;\nsetp.gt.u32 k1, r0, 5;\n"
FILE = """\
.version 8.0
.target sm_90a
.address_size 64
.func (.reg .u32 r1) other(.reg .u32 r0)
{{
.reg .u32 r2;
.reg .pred k0, k1;
mov.u32 r1, r0;
mov.u32 r2, 3;
{function}}}
.visible .entry generated(.param .u64 X)
{{
.reg .u64 x;
.reg .u32 r0, r1, r2;
.reg .pred k0, k1;
ld.param.u64 x, [X];
ld.global.u32 r0, [x];
ld.global.u32 r1, [x+4];
ld.global.u32 r2, [x+8];
{kernel}}}
"""
STORES = "st.global.u32 [x], r0;\nst.global.u32 [x+4], r1;\nst.global.u32 [x+8], r2;\n"


def structured(kernel: bytes, function: bytes = b"") -> str:
    """The PTX file whose bodies these bytes choose."""
    return FILE.format(
        kernel=Writer("L", kernel, calls=True).text(STORES),
        function=Writer("M", function, calls=False).text(""),
    )


def graph(kernel: bytes) -> str:
    """A kernel of a few lines, whose control flow is any graph."""
    return FILE.format(
        kernel=Writer("L", kernel, calls=True).graph(STORES),
        function=Writer("M", b"", calls=False).text(""),
    )


files = st.one_of(
    st.builds(structured, st.binary(max_size=40), st.binary(max_size=12)),
    st.builds(graph, st.binary(min_size=12, max_size=40)),
)
