"""`@kernel` and the object a user holds: the one place that joins tracing, assembling, running."""

from __future__ import annotations

import difflib
import inspect
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, update_wrapper
from typing import Any, Final, ParamSpec, TypeAlias, cast, overload

from pyptx import assemble, emulator, runtime, text
from pyptx.errors import CallError, PtxError, SpecError
from pyptx.ir import Directive, Module
from pyptx.isa import directives as isa_directives
from pyptx.isa.directives import DIRECTIVES
from pyptx.launch.call import AUTO, KernelCall, Output, digest
from pyptx.launch.plan import (
    Argument,
    InputAddress,
    InputValue,
    OutputAddress,
    Plan,
    check_block,
    check_cluster,
    check_grid,
    make_plan,
)
from pyptx.runtime import targets
from pyptx.source import SourceLocation, caller
from pyptx.spec import (
    Extent,
    Grid,
    Scalar,
    Spec,
    Symbol,
    Tile,
    bind,
    check_dtypes,
    check_outputs,
    resolve_grid,
)
from pyptx.target import PtxVersion, Target
from pyptx.trace.build import Signature, at_kernel, build
from pyptx.trace.values import integer
from pyptx.verify import SHARED_LIMIT

Sizes: TypeAlias = "int | Sequence[int]"
Body: TypeAlias = Callable[..., object]
_P = ParamSpec("_P")
# Up to so many threads, 255 registers each fit the register file. Beyond, the assembler must know
# the size of the CTA, or a launch can fail; below it is not told: it would spill for occupancy.
_ANY_REGISTERS: Final = 256
_NOT_OPTIONS: Final = frozenset(("function", "directives"))


@dataclass(frozen=True, slots=True)
class Options:
    """What the decorator was given, checked: launch sizes, target and directives."""

    grid: Grid
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared: int | None
    arch: Target | None
    version: PtxVersion | None
    directives: tuple[Directive, ...]
    contract: bool
    parallel: tuple[str, ...]
    aliases: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Key:
    """What one trace depends on besides the function."""

    dims: tuple[tuple[str, int], ...]
    constants: tuple[tuple[str, object], ...]
    target: Target
    by_reference: bool


@dataclass(frozen=True)
class Specialisation:
    """A kernel traced for sizes, compile-time values and a target."""

    module: Module
    written: text.Text
    contract: bool
    shared: int | None

    @cached_property
    def image(self) -> bytes:
        """The emulator's program."""
        image = emulator.encode(self.module.kernels[0], self.module.target)
        emulator.register_sources(image, self.module.kernels[0])
        return image

    @cached_property
    def dynamic_shared(self) -> int:
        """Bytes of dynamic shared memory: what is allocated so, and what `smem=` asks beyond."""
        layout = self.module.kernels[0].shared
        static = 0 if layout.dynamic else layout.size
        return max(self.shared or 0, layout.size) - static

    def assemble(self, *, line_info: bool = False) -> assemble.Cubin:
        """The cubin, from the disk cache where it has it. Raises AssembleError."""
        return self._assembled(self.written, line_info=line_info)

    def launched(self) -> assemble.Cubin:
        """The cubin of compiled programs; with $PYPTX_LINE_INFO=1, profilers show Python in it."""
        if os.environ.get("PYPTX_LINE_INFO") != "1":
            return self.assemble()
        return self._assembled(text.write(self.module, lines=True), line_info=True)

    def _assembled(self, written: text.Text, *, line_info: bool) -> assemble.Cubin:
        return assemble.assemble(
            written.ptx,
            self.module.target,
            contract=self.contract,
            line_info=line_info,
            lines=written.lines,
        )


class Kernel:
    """A PTX kernel: call it on arrays, or look at what it is.

    `k(*arrays, **constants)` runs it: JAX arrays on their device (an ordinary JAX operation, also
    under `jax.jit`), NumPy arrays in the emulator. One array comes back, or a tuple in the order of
    `out_specs`. Raises CallError for arrays that do not fit the specs.
    """

    def __init__(
        self,
        function: Body,
        in_specs: Sequence[Spec] | None,
        out_specs: Sequence[Tile] | None,
        options: Options,
        location: SourceLocation,
    ) -> None:
        update_wrapper(self, function)
        self._function = function
        self._options = options
        self.in_specs: tuple[Spec, ...] = tuple(in_specs or ())
        self.out_specs: tuple[Tile, ...] = tuple(out_specs or ())
        self._by_hand = in_specs is None and out_specs is None
        self._signature, self._constants = _signature(
            function, options, in_specs, out_specs, location
        )
        _check_specs(self, self._signature, options)
        self._traced: dict[Key, Specialisation] = {}
        # Calls by shapes, types and values, so that an eager call does not prepare again.
        self._calls: dict[object, KernelCall] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<pyptx kernel {self.name} of {', '.join(self._signature.parameters)}>"

    @property
    def name(self) -> str:
        return self._signature.name

    @property
    def grid(self) -> Grid:
        """As the decorator was given it: sizes, or a function of the named dimensions."""
        return self._options.grid

    @property
    def block(self) -> tuple[int, int, int]:
        return self._options.block

    @property
    def cluster(self) -> tuple[int, int, int]:
        return self._options.cluster

    @property
    def arch(self) -> str:
        return str(self._options.arch or AUTO)

    # ---- running ---------------------------------------------------------------------------------

    def __call__(self, *arrays: object, **constants: object) -> object:
        """Run on arrays: inputs in the order of `in_specs`; keywords are compile-time values."""
        where = caller()
        self._needs_specs("called", where)
        names = self._arrays(arrays, where)
        place = runtime.select(self.in_specs, arrays, names, where)
        call, operands = self._bind(place, arrays, constants, where)
        results = place.launch(call, operands)
        return results[0] if len(results) == 1 else results

    def _arrays(self, arrays: Sequence[object], where: SourceLocation) -> tuple[str, ...]:
        """The names of the inputs, of which there are as many as arrays."""
        names = self._signature.parameters[: len(self.in_specs)]
        if len(arrays) != len(names):
            raise CallError(
                f"{self.name} takes {len(names)} arrays ({', '.join(names) or 'none'}), "
                f"not {len(arrays)}",
                location=where,
            )
        return names

    def _bind(
        self,
        place: runtime.Runtime,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> tuple[KernelCall, Sequence[Any]]:
        """What a runtime takes: the call, specialised for these arrays, and its operands."""
        operands = [
            place.scalar(array, str(spec.dtype.numpy)) if isinstance(spec, Scalar) else array
            for spec, array in zip(self.in_specs, arrays, strict=True)
        ]
        by_reference = not place.scalars_by_value
        return self._prepare(
            operands, constants, by_reference=by_reference, location=where
        ), operands

    def emulate(
        self,
        *arrays: object,
        sanitize: bool = True,
        threads: int | None = None,
        max_instructions: int | None = None,
        seed: int | None = None,
        statistics: bool = True,
        **constants: object,
    ) -> emulator.Emulation:
        """Run on NumPy arrays in the emulator and keep its report; works without JAX.

        `sanitize` adds initialisation, races and the rest to the checks that are always on.
        `threads` are host threads (all cores), `max_instructions` bounds the warp-instructions,
        `seed` runs warps in a random order of that seed, `statistics` counts per Python line. The
        result has `outputs` and `report`; findings do not raise here.
        """
        where = caller()
        self._needs_specs("emulated", where)
        names = self._arrays(arrays, where)
        place = runtime.emulator(self.in_specs, arrays, names, where)
        call, operands = self._bind(place, arrays, constants, where)
        return place.emulate(
            call,
            operands,
            sanitize=sanitize,
            threads=threads,
            max_instructions=max_instructions,
            seed=seed,
            statistics=statistics,
        )

    # ---- looking at it ---------------------------------------------------------------------------

    def module(self, **dims_and_constants: object) -> Module:
        """The traced module for these dimensions and compile-time values."""
        return self._look(dims_and_constants).module

    def ptx(self, *, lines: bool = False, **dims_and_constants: object) -> str:
        """The PTX text; with `lines` it carries `.loc` of the Python source.

        Raises SpecError that names the dimensions that are missing.
        """
        found = self._look(dims_and_constants)
        return text.write(found.module, lines=True).ptx if lines else found.written.ptx

    def cubin(
        self, *, arch: str | None = None, line_info: bool = False, **dims_and_constants: object
    ) -> assemble.Cubin:
        """The assembled kernel with registers, spills, shared and local memory; needs no GPU."""
        return self._look(dims_and_constants, arch).assemble(line_info=line_info)

    def sass(
        self, *, arch: str | None = None, **dims_and_constants: object
    ) -> tuple[assemble.SassInstruction, ...]:
        """The machine code, each instruction with the Python line that it comes from."""
        found = self._look(dims_and_constants, arch)
        return assemble.sass(found.assemble(line_info=True), found.written.lines)

    def _look(self, given: Mapping[str, object], arch: str | None = None) -> Specialisation:
        dims, constants = self._split(given)
        target = self._target(arch)
        return self.specialise(dims, constants, target, by_reference=False)

    def _target(self, arch: str | None) -> Target:
        if arch is not None:
            return _parse_target(arch, caller())
        return self._options.arch or targets.named() or targets.DEFAULT

    def _split(self, given: Mapping[str, object]) -> tuple[dict[str, int], dict[str, object]]:
        """Keyword arguments as dimensions and compile-time values."""
        names = self._dimension_names()
        dims: dict[str, int] = {}
        for name, value in given.items():
            if name not in names and name not in self._constants:
                legal = " ".join((*names, *self._constants)) or "none"
                raise SpecError(
                    f"{self.name} has no dimension or keyword {name}",
                    location=caller(),
                    notes=(("legal", legal),),
                )
            if name in names:
                dims[name] = _size(name, value)
        missing = [n for n in names if n not in dims and n not in self._options.parallel]
        if missing:
            example = ", ".join(f"{n}=..." for n in missing)
            raise SpecError(
                f"{self.name} needs the dimension{'s' if len(missing) > 1 else ''} "
                f"{', '.join(missing)}",
                location=caller(),
                notes=(("help", f"{self.name}.ptx({example})"),),
            )
        return dims, {n: v for n, v in given.items() if n in self._constants}

    def _dimension_names(self) -> tuple[str, ...]:
        specs = (*self.in_specs, *self.out_specs)
        return tuple(dict.fromkeys(name for spec in specs for name in spec.names))

    # ---- joining ---------------------------------------------------------------------------------

    def specialise(
        self,
        dims: Mapping[str, int],
        constants: Mapping[str, object],
        target: Target,
        *,
        by_reference: bool,
    ) -> Specialisation:
        """The traced kernel for these sizes; traced once and kept."""
        fixed = tuple(sorted((n, s) for n, s in dims.items() if n not in self._options.parallel))
        values = {**self._constants, **constants}
        _check_constants(self.name, values)
        key = Key(
            fixed, tuple((n, _exact(values[n])) for n in sorted(values)), target, by_reference
        )
        with self._lock:
            found = self._traced.get(key)
            if found is None:
                found = self._traced[key] = self._trace(key, values)
        return found

    def _trace(self, key: Key, constants: Mapping[str, object]) -> Specialisation:
        try:
            module = build(
                self._function,
                self._signature,
                dims=dict(key.dims),
                constants=constants,
                target=key.target,
                version=self._options.version,
                given=self._options.directives,
                scalars_by_reference=key.by_reference,
            )
        except PtxError as error:
            raise at_kernel(error, self._signature) from None
        except Exception as error:
            sizes = ", ".join(f"{n}={v!r}" for n, v in (*key.dims, *constants.items()))
            error.add_note(f"while {self.name} was traced for {key.target} {sizes}".rstrip())
            raise
        self._check_shared(module)
        options = self._options
        return Specialisation(module, text.write(module), options.contract, options.shared)

    def _check_shared(self, module: Module) -> None:
        allocated = module.kernels[0].shared.size
        wanted = self._options.shared
        if wanted is not None and wanted < allocated:
            raise SpecError(
                f"smem={wanted} is less than the {allocated} bytes that {self.name} allocates",
                location=self._signature.location,
                notes=(("help", "leave smem= out: it is inferred from the allocations"),),
            )
        limit = SHARED_LIMIT[module.target.sm] * 1024
        if wanted is not None and wanted > limit:
            raise SpecError(
                f"smem={wanted} is more than the {limit} bytes that a CTA of {module.target} has",
                location=self._signature.location,
            )

    def _prepare(
        self,
        operands: Sequence[Any],
        constants: Mapping[str, object],
        *,
        by_reference: bool,
        location: SourceLocation,
    ) -> KernelCall:
        """What a runtime needs to run this kernel on arrays of these shapes."""
        names = self._signature.parameters[: len(self.in_specs)]
        shapes = [tuple(o.shape) for o in operands]
        values = tuple((name, _exact(constants[name])) for name in sorted(constants))
        key = tuple(shapes), tuple(o.dtype for o in operands), values, by_reference
        try:
            return self._calls[key]
        except (KeyError, TypeError):  # a new call, or a value that the checks below refuse
            pass
        self._check_keywords(constants, location)
        check_dtypes(self.in_specs, [str(o.dtype) for o in operands], names, location)
        dims = bind(self.in_specs, shapes, names, location)

        def specialise(target: Target) -> Specialisation:
            return self.specialise(dims, constants, target, by_reference=by_reference)

        usual = specialise(self._options.arch or targets.DEFAULT)
        call = self._calls[key] = KernelCall(
            arch=str(self._options.arch or AUTO),
            digest=digest(usual.written.ptx, str(self._options.contract)),
            plan=self._plan(
                dims, usual.dynamic_shared, by_reference=by_reference, location=location
            ),
            inputs=names,
            outputs=tuple(
                Output(spec.shape(dims), str(spec.dtype.numpy), name)
                for spec, name in zip(
                    self.out_specs, self._signature.parameters[len(names) :], strict=True
                )
            ),
            aliases=self._options.aliases,
            cubin=lambda target: specialise(target).launched(),
            image=lambda: usual.image,
        )
        return call

    def _plan(
        self, dims: Mapping[str, int], shared: int, *, by_reference: bool, location: SourceLocation
    ) -> Plan:
        parallel = self._options.parallel
        fixed = {n: s for n, s in dims.items() if n not in parallel}
        sizes: dict[str, Extent] = {**fixed, **{n: Symbol(n) for n in dims if n in parallel}}
        try:
            plan = make_plan(
                self.name,
                grid=resolve_grid(self._options.grid, sizes),
                block=self._options.block,
                cluster=self._options.cluster,
                arguments=(
                    *_arguments(self.in_specs, self.out_specs, by_reference=by_reference),
                    *(sizes[n] for n in parallel if n in self._dimension_names()),
                ),
                in_specs=self.in_specs,
                out_specs=self.out_specs,
                dims=fixed,
                shared=shared,
            )
        except PtxError as error:
            raise at_kernel(error, self._signature) from None
        self._check_grid(dims, location)
        return plan

    def _check_grid(self, dims: Mapping[str, int], location: SourceLocation) -> None:
        """Refuse a grid that no device takes at the call, where its sizes come from."""
        if not all(isinstance(size, int) for size in dims.values()):  # pyright: ignore[reportUnnecessaryIsInstance]
            return  # jax.export with symbolic sizes: the launch checks
        try:
            x, y, z = cast("tuple[int, int, int]", resolve_grid(self._options.grid, dims))
            check_grid((x, y, z), self._options.cluster)
        except PtxError as error:
            raise error.at(location) from None

    def _check_keywords(self, constants: Mapping[str, object], location: SourceLocation) -> None:
        for name in constants:
            if name not in self._constants:
                raise CallError(
                    f"{self.name} has no compile-time keyword {name}",
                    location=location,
                    notes=(("legal", " ".join(self._constants) or "none"),),
                )

    def _needs_specs(self, what: str, where: SourceLocation) -> None:
        if self._by_hand:
            raise SpecError(
                f"{self.name} has no in_specs and out_specs, so it cannot be {what} on arrays",
                location=where,
                notes=(("help", "@kernel(in_specs=(Tile(...),), out_specs=(Tile(...),), ...)"),),
            )


# ---- the decorator -------------------------------------------------------------------------------


@overload
def kernel(function: Callable[_P, None], /) -> Kernel: ...
@overload
def kernel(
    *,
    in_specs: Sequence[Spec] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Grid = (1, 1, 1),
    block: Sizes = (1, 1, 1),
    cluster: Sizes = (1, 1, 1),
    smem: int | None = None,
    arch: str = "sm_90a",
    version: tuple[int, int] | str | None = None,
    contract: bool = False,
    parallel: Iterable[str] = (),
    input_output_aliases: Mapping[int, int] | None = None,
    **directives: int | Sequence[int] | bool,
) -> Callable[[Body], Kernel]: ...
def kernel(
    function: Body | None = None,
    /,
    *,
    in_specs: Sequence[Spec] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Grid = (1, 1, 1),
    block: Sizes = (1, 1, 1),
    cluster: Sizes = (1, 1, 1),
    smem: int | None = None,
    arch: str = "sm_90a",
    version: tuple[int, int] | str | None = None,
    contract: bool = False,
    parallel: Iterable[str] = (),
    input_output_aliases: Mapping[int, int] | None = None,
    **directives: int | Sequence[int] | bool,
) -> Kernel | Callable[[Body], Kernel]:
    """Make a kernel of a function that is written in the language of `reg`, `smem` and `ptx`.

    in_specs, out_specs      a Tile (or Scalar, inputs only) for each positional parameter, in order
    grid                     up to three sizes, or a function of the named dimensions
    block, cluster           threads of a CTA, CTAs of a cluster
    smem                     bytes of shared memory; by default what the body allocates
    arch                     target such as "sm_90a", or "auto" for that of the device
    version                  PTX version; by default the lowest that the instructions need
    contract                 let the assembler fuse a `mul` and an `add` that were written apart
    parallel                 named dimensions that are run-time values, one compiled kernel for all
    input_output_aliases     {input: output}, each by position, that share one buffer
    directives               performance directives by name: maxnreg=64, minnctapersm=2, ...

    Keyword-only parameters of the function are compile-time values. Raises SpecError.
    """
    where = caller()
    options = Options(
        grid,
        _checked(check_block, _triple("block", block, where), where),
        _checked(check_cluster, _triple("cluster", cluster, where), where),
        None if smem is None else _bytes(smem, where),
        None if isinstance(arch, str) and arch == "auto" else _parse_target(arch, where),  # pyright: ignore[reportUnnecessaryIsInstance]
        _parse_version(version, where),
        (),
        contract,
        _names(parallel, where),
        _aliases(input_output_aliases, where),
    )
    options = replace(options, directives=_directives(options, directives, where))

    inputs, outputs = _specs("in_specs", in_specs, where), _specs("out_specs", out_specs, where)

    def decorate(body: Body) -> Kernel:
        return Kernel(body, inputs, outputs, options, where)

    return decorate if function is None else decorate(function)


def _directives(
    options: Options, given: Mapping[str, object], where: SourceLocation
) -> tuple[Directive, ...]:
    """The directives that were asked for, and those that the launch sizes call for."""
    found = {
        name: _values(name, value, where) for name, value in given.items() if value is not False
    }
    if math.prod(options.block) > _ANY_REGISTERS and not {"reqntid", "maxntid"} & found.keys():
        found["maxntid"] = options.block
    if options.cluster != (1, 1, 1):
        found.setdefault("reqnctapercluster", options.cluster)
    for name in found:
        _check_option(name, where)
    for name, sizes in (("reqntid", options.block), ("reqnctapercluster", options.cluster)):
        wanted = (*found.get(name, sizes), 1, 1)[:3]
        if wanted != sizes:
            what = "block" if name == "reqntid" else "cluster"
            raise SpecError(
                f"{name}={wanted} is not the {what}, which is {sizes}",
                location=where,
                notes=(("help", f"leave it out, or write {name}={sizes}"),),
            )
    try:
        isa_directives.check(found.items())
    except PtxError as error:
        raise SpecError(error.problem, location=where, notes=error.notes) from None
    return tuple(Directive(name, values) for name, values in found.items())


def _triple(what: str, sizes: object, where: SourceLocation) -> tuple[int, int, int]:
    """One to three sizes, filled up with ones."""
    listed = cast("Sequence[object]", sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    found = [integer(size) for size in listed]
    whole = [size for size in found if size is not None]
    if len(whole) != len(found) or not 1 <= len(whole) <= 3:
        raise SpecError(
            f"{what}={sizes!r} is not one to three sizes",
            location=where,
            notes=(("help", f"{what}=(128, 1, 1)"),),
        )
    x, y, z = (*whole, 1, 1)[:3]
    return x, y, z


def _checked(
    check: Callable[[tuple[int, int, int]], None],
    sizes: tuple[int, int, int],
    where: SourceLocation,
) -> tuple[int, int, int]:
    try:
        check(sizes)
    except SpecError as error:
        raise error.at(where) from None
    return sizes


def _bytes(size: object, where: SourceLocation) -> int:
    found = integer(size)
    if found is None or found < 0:
        raise SpecError(f"smem={size!r} is not a number of bytes", location=where)
    return found


def _names(names: object, where: SourceLocation) -> tuple[str, ...]:
    found = tuple(cast("Sequence[object]", names)) if isinstance(names, (tuple, list)) else None
    if found is None or not all(isinstance(name, str) for name in found):
        raise SpecError(
            f"parallel={names!r} is not a sequence of dimension names",
            location=where,
            notes=(("help", 'parallel=("B",)'),),
        )
    return cast("tuple[str, ...]", found)


def _aliases(aliases: object, where: SourceLocation) -> tuple[tuple[int, int], ...]:
    if aliases is None:
        return ()
    if isinstance(aliases, Mapping):
        pairs = [
            (integer(i), integer(o)) for i, o in cast("Mapping[object, object]", aliases).items()
        ]
        whole = [(i, o) for i, o in pairs if i is not None and o is not None]
        if len(whole) == len(pairs):
            return tuple(sorted(whole))
    raise SpecError(
        f"input_output_aliases={aliases!r} is not a dictionary of positions",
        location=where,
        notes=(("help", "input_output_aliases={0: 0}"),),
    )


def _values(name: str, value: object, where: SourceLocation) -> tuple[int, ...]:
    """The values of a directive; True is one without."""
    if value is True:
        return ()
    listed = cast("Sequence[object]", value) if isinstance(value, (tuple, list)) else (value,)
    found = [integer(each) for each in listed]
    whole = tuple(each for each in found if each is not None)
    if name in DIRECTIVES and len(whole) != len(found):
        raise SpecError(f"{name}={value!r} is not one integer or several", location=where)
    return whole


def _check_option(name: str, where: SourceLocation) -> None:
    if name not in DIRECTIVES:
        options = [n for n in inspect.signature(kernel).parameters if n not in _NOT_OPTIONS]
        near = difflib.get_close_matches(name, [*options, *DIRECTIVES], n=1)
        raise SpecError(
            f"kernel() has no option {name}",
            location=where,
            notes=(
                *((("nearest", near[0]),) if near else ()),
                ("options", " ".join(options)),
                ("directives", " ".join(DIRECTIVES)),
            ),
        )


def _parse_target(arch: object, where: SourceLocation) -> Target:
    try:
        return Target.parse(str(arch))
    except ValueError as error:
        raise SpecError(str(error), location=where) from None


def _parse_version(version: object, where: SourceLocation) -> PtxVersion | None:
    match version:
        case None:
            return None
        # A NumPy array of rank 0 counts as a sequence and has no length.
        case tuple((int(major), int(minor))) | list((int(major), int(minor))):
            return PtxVersion(major, minor)
        case str() if re.fullmatch(r"\d+\.\d+", version):
            return PtxVersion.parse(version)
        case _:
            raise SpecError(
                f"version={version!r} is not a PTX version",
                location=where,
                notes=(("help", "version=(8, 7)"),),
            )


def _signature(
    function: Body,
    options: Options,
    in_specs: Sequence[Spec] | None,
    out_specs: Sequence[Tile] | None,
    location: SourceLocation,
) -> tuple[Signature, dict[str, object]]:
    """The positional parameters with their specs, and the keyword-only ones with defaults."""
    if problem := _no_body(function):
        raise SpecError(
            f"{problem}, so it cannot be the body of a kernel",
            location=location,
            notes=(("help", "@kernel(...) stands before def name(tensors): ..."),),
        )
    written = re.sub(r"\W", "_", function.__name__.strip("<>"), flags=re.ASCII)
    name = text.identifier(written, "kernel")
    parameters = inspect.signature(function).parameters.values()
    starred = [p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if starred:
        raise SpecError(
            f"{name} takes {starred[0]}; each tensor of a kernel has a name of its own",
            location=location,
        )
    tensors = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    for parameter in tensors:
        if parameter.default is not parameter.empty:
            raise SpecError(
                f"{name} gives {parameter.name} a default, and positional parameters are tensors",
                location=location,
                notes=(
                    ("help", f"compile-time values follow a star: def {name}(..., *, {parameter})"),
                ),
            )
    positional = tuple(p.name for p in tensors)
    constants = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    inputs, outputs = tuple(in_specs or ()), tuple(out_specs or ())
    specs: tuple[Spec | None, ...] = (*inputs, *outputs)
    if in_specs is None and out_specs is None:
        specs = (None,) * len(positional)
    signature = Signature(name, positional, specs, options.parallel, location)
    if len(specs) != len(positional):
        raise SpecError(
            f"{name} takes {len(positional)} tensors ({', '.join(positional) or 'none'}), "
            f"and has {len(inputs)} in_specs and {len(outputs)} out_specs",
            location=location,
        )
    return signature, constants


def _no_body(function: object) -> str:
    """Why something cannot be traced: "" for a plain function or a method."""
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        return f"{function!r} is no function"
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"{function.__name__} is a generator or a coroutine"
    return ""


def _specs(name: str, specs: object, where: SourceLocation) -> tuple[Any, ...] | None:
    """What in_specs or out_specs hold, None where they were left out."""
    if specs is None:
        return None
    found = tuple(cast("Sequence[object]", specs)) if isinstance(specs, (tuple, list)) else ()
    if isinstance(specs, (tuple, list)) and all(isinstance(s, (Tile, Scalar)) for s in found):
        return found
    raise SpecError(
        f"{name}={specs!r} is not a tuple of Tiles",
        location=where,
        notes=(("help", f'{name}=(Tile("B", "N", f32),)'),),
    )


def _check_specs(kernel: Kernel, signature: Signature, options: Options) -> None:
    """What must hold between the specs, the aliases and the parallel dimensions."""
    try:
        check_outputs(kernel.in_specs, kernel.out_specs)
    except PtxError as error:
        raise at_kernel(error, signature) from None
    _check_aliases(kernel.in_specs, kernel.out_specs, options.aliases, signature)
    _check_parallel(kernel, signature)


def _check_parallel(kernel: Kernel, signature: Signature) -> None:
    known = {n for spec in (*kernel.in_specs, *kernel.out_specs) for n in spec.names}
    for name in signature.parallel:
        if name not in known:
            raise SpecError(
                f"parallel= names {name!r}, which is no dimension of {signature.name}",
                location=signature.location,
                notes=(("dimensions", ", ".join(sorted(known)) or "none"),),
            )


def _check_aliases(
    inputs: Sequence[Spec],
    outputs: Sequence[Tile],
    aliases: Iterable[tuple[int, int]],
    signature: Signature,
) -> None:
    for source, target in aliases:
        if not (0 <= source < len(inputs) and 0 <= target < len(outputs)):
            raise SpecError(
                f"input_output_aliases has {source}: {target}, and {signature.name} has "
                f"{len(inputs)} inputs and {len(outputs)} outputs",
                location=signature.location,
            )
        if inputs[source] != outputs[target]:
            raise SpecError(
                f"input {source} is {inputs[source]!r} and output {target} is {outputs[target]!r}: "
                "tensors that share a buffer need one spec",
                location=signature.location,
            )


def _arguments(
    in_specs: Sequence[Spec], out_specs: Sequence[Tile], *, by_reference: bool
) -> tuple[Argument, ...]:
    inputs = (
        InputValue(i) if isinstance(spec, Scalar) and not by_reference else InputAddress(i)
        for i, spec in enumerate(in_specs)
    )
    return (*inputs, *(OutputAddress(i) for i in range(len(out_specs))))


def _check_constants(name: str, constants: Mapping[str, object]) -> None:
    for keyword, value in constants.items():
        if value is inspect.Parameter.empty:
            raise CallError(
                f"{name} needs the compile-time keyword {keyword}",
                location=caller(),
                notes=(("help", f"{name}(..., {keyword}=...)"),),
            )
        try:
            hash(value)
        except TypeError:
            raise CallError(
                f"the compile-time keyword {keyword} of {name} must be hashable, and "
                f"{type(value).__name__} is not",
                location=caller(),
            ) from None


def _exact(value: object) -> object:
    """A compile-time value as a key: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if isinstance(value, tuple):
        return tuple(map(_exact, cast("tuple[object, ...]", value)))
    return type(value), value, repr(value) if isinstance(value, (float, complex)) else ""


def _size(name: str, value: object) -> int:
    size = integer(value)
    if size is None or size < 0:
        raise SpecError(
            f"the dimension {name} is a size, not {value!r}",
            location=caller(),
            notes=(("help", f"{name}=1024"),),
        )
    return size
