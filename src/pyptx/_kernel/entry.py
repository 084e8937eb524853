"""`@kernel` and the object a user holds: the one place that joins tracing, assembling, running."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, ParamSpec, overload

from pyptx import _assemble as assemble
from pyptx import _expressions as expressions
from pyptx import _text as text
from pyptx import device
from pyptx._agreement import (
    check_aliases,
    check_dynamic,
    check_outputs,
    check_parallel,
    run_time_sizes,
)
from pyptx._calls import binding
from pyptx._dims import Extent, Symbol
from pyptx._frozen import uncollected
from pyptx._grid import Grid, resolve_grid, texts_of
from pyptx._ir import Instruction, Module
from pyptx._kernel.operation import Operation, Targets, symbolic
from pyptx._kernel.options import (
    Block,
    Late,
    Options,
    alias_pairs,
    byte_count,
    dimension_names,
    flag,
    launch_grid,
    listed_directives,
    parse_target,
    parse_version,
    with_launch,
)
from pyptx._kernel.signature import (
    Body,
    check_constants,
    dimension_size,
    exact,
    ptx_name,
    signature,
    specs,
)
from pyptx._kernel.specialisation import Key, Specialisation
from pyptx._launch.call import AUTO, digest
from pyptx._launch.description import Application, Code, Description, Number, Tensor
from pyptx._launch.plan import (
    Argument,
    Bytes,
    InputAddress,
    InputValue,
    OutputAddress,
    check_resident,
)
from pyptx._recent import SPECIALISATIONS, Recent
from pyptx._runtime import targets
from pyptx._source import SourceLocation, caller
from pyptx._spec import Scalar, Spec, Tile, size_of
from pyptx._target import Target
from pyptx._trace import ptx, reg
from pyptx._trace.build import Signature, at_kernel, build
from pyptx._trace.core.batch import Batch
from pyptx._trace.core.context import refuse_in_kernel
from pyptx._trace.core.mistakes import explained
from pyptx._trace.memory import smem
from pyptx.errors import PtxError, SpecError

_P = ParamSpec("_P")
_WAIT: Final = "griddepcontrol.wait"
_NOT_OPTIONS: Final = frozenset(("function", "directives"))


class Kernel(Operation):
    """A PTX kernel: call it on arrays, or inspect its code.

    `k(*arrays, **constants)` runs it: JAX arrays on their device (an ordinary JAX operation, also
    under `jax.jit`), NumPy arrays in the emulator. It returns one array, or a tuple in the order of
    `out_specs`. Raises CallError for arrays that do not match the specs.
    """

    def __init__(
        self,
        function: Body | None,
        made: Signature,
        *,
        in_specs: Sequence[Spec] | None,
        out_specs: Sequence[Tile] | None,
        constants: Mapping[str, object],
        options: Options,
    ) -> None:
        self._options = options
        self._by_hand = in_specs is None and out_specs is None
        self._signature = made
        super().__init__(
            function,
            made.name,
            in_specs=in_specs or (),
            out_specs=out_specs or (),
            parameters=made.parameters,
            constants=constants,
            parallel=options.parallel,
            dynamic=options.dynamic,
            location=made.location,
        )
        tensors = tuple(spec and spec.part for spec in self._signature.specs)
        self._partial_signature = replace(self._signature, specs=tensors)
        self._check_specs()
        self._traced: Recent[Specialisation] = Recent(SPECIALISATIONS)
        self._lock = threading.Lock()

    def _check_specs(self) -> None:
        """What must hold between the specs, the aliases and the parallel dimensions."""
        try:
            check_outputs(self.in_specs, self.out_specs, self._constants)
            self._check_texts()
            check_aliases(self.in_specs, self.out_specs, self._options.aliases, self.name)
            check_dynamic(
                (*self.in_specs, *self.out_specs),
                self.parallel,
                self.dynamic,
                self._constants,
                self.name,
            )
            check_parallel(self.in_specs, self.out_specs, self.parallel, self.name)
        except PtxError as error:
            raise at_kernel(error, self._signature) from None

    def _check_texts(self) -> None:
        """What text in the sizes of a launch names is there. Raises SpecError."""
        options = self._options
        late = options.late
        for what, given in (
            ("grid", options.grid),
            ("block", late and late.block),
            ("cluster", late and late.cluster),
        ):
            for each in texts_of(given):
                dims, keywords = self.dimension_names, self._constants
                expressions.check_names(f"{what}={each!r} of {self.name}", each, dims, keywords)
        for name, spec in zip(self._signature.parameters, self._signature.specs, strict=True):
            for each in texts_of(spec.tma_box) if isinstance(spec, Tile) else ():
                what = f"tma_box= of {name}, a tensor of {self.name},"
                expressions.check_names(what, each, self.dimension_names, self._constants)

    def __repr__(self) -> str:
        return f"<pyptx kernel {self.name} of {', '.join(self._signature.parameters)}>"

    @property
    def grid(self) -> Grid:
        """As the decorator was given it: sizes, or a function of the named dimensions."""
        return self._options.grid

    @property
    def block(self) -> Block:
        """The threads of a CTA: (x, y, z), or as given where that names what it depends on."""
        late = self._options.late
        return self._options.block if late is None else late.block

    @property
    def cluster(self) -> Block:
        """The CTAs of a cluster: (x, y, z), or as given where that names what it depends on."""
        late = self._options.late
        return self._options.cluster if late is None else late.cluster

    @property
    def arch(self) -> str:
        """The target as text, or "auto"."""
        return str(self._options.arch or AUTO)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the parameters that are outputs, in order."""
        return self._signature.parameters[len(self.in_specs) :]

    @property
    def aliases(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs, by position, that share a buffer."""
        return self._options.aliases

    # ---- looking at it ---------------------------------------------------------------------------

    @binding(SpecError, "k.module")
    def module(self, *, arch: str | None = None, **dims_and_constants: object) -> Module:
        """The traced module for these dimensions and compile-time values."""
        return self._look(dims_and_constants, arch).module

    @binding(SpecError, "k.ptx")
    def ptx(
        self, *, lines: bool = False, arch: str | None = None, **dims_and_constants: object
    ) -> str:
        """The PTX text for `arch`; with `lines` it carries `.loc` of the Python source.

        Raises SpecError that names the dimensions that are missing.
        """
        with_lines = flag("lines", lines, caller())
        found = self._look(dims_and_constants, arch)
        return text.write(found.module, lines=True).ptx if with_lines else found.written.ptx

    @binding(SpecError, "k.cubin")
    def cubin(
        self, *, arch: str | None = None, line_info: bool = False, **dims_and_constants: object
    ) -> assemble.Cubin:
        """The assembled kernel with registers, spills, shared and local memory; needs no GPU."""
        with_lines = flag("line_info", line_info, caller())
        return self._look(dims_and_constants, arch).assemble(line_info=with_lines)

    @binding(SpecError, "k.sass")
    def sass(
        self, *, arch: str | None = None, **dims_and_constants: object
    ) -> tuple[assemble.SassInstruction, ...]:
        """The machine code, each instruction with the Python line that it comes from."""
        found = self._look(dims_and_constants, arch)
        return assemble.sass(found.assemble(line_info=True), found.written.lines)

    def _look(self, given: Mapping[str, object], arch: str | None = None) -> Specialisation:
        dims, constants = self._split(given)
        dims |= self._keyword_sizes(constants, caller())
        target = self._target(arch)
        return self._specialise(dims, constants, target, by_reference=False)

    def _target(self, arch: str | None) -> Target:
        if arch is not None:
            return parse_target(arch, caller())
        return self._options.arch or targets.named() or targets.DEFAULT

    def _split(self, given: Mapping[str, object]) -> tuple[dict[str, int], dict[str, object]]:
        """Keyword arguments as dimensions and compile-time values."""
        names = self.dimension_names
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
                dims[name] = dimension_size(name, value)
        missing = [n for n in names if n not in dims and n not in self.run_time]
        if missing:
            example = ", ".join(f"{n}=..." for n in missing)
            raise SpecError(
                f"{self.name} needs the dimension{'s' if len(missing) > 1 else ''} "
                f"{', '.join(missing)}",
                location=caller(),
                notes=(("help", f"{self.name}.ptx({example})"),),
            )
        return dims, {n: v for n, v in given.items() if n in self._constants}

    # ---- joining ---------------------------------------------------------------------------------

    def _specialise(
        self,
        dims: Mapping[str, int],
        constants: Mapping[str, object],
        target: Target,
        *,
        by_reference: bool,
        batch: Batch | None = None,
        partial: bool = False,
    ) -> Specialisation:
        """The traced kernel for these sizes; traced once and kept.

        A `partial` one writes parts of sums, in the types that these are accumulated in.
        """
        refuse_in_kernel(self.name)  # a kernel that asks for itself would wait for itself
        self._refresh()
        fixed = tuple(sorted((n, s) for n, s in dims.items() if n not in self.run_time))
        values = {**self._constants, **constants}
        check_constants(self.name, values)
        exactly = tuple((n, exact(values[n])) for n in sorted(values))
        key = Key(fixed, exactly, target, by_reference, batch, partial)
        with self._lock:
            found = self._traced.get(key)
            if found is None:
                found = self._traced.keep(key, self._trace(key, values))
        return found

    def _forget(self) -> None:
        super()._forget()
        self._traced.clear()

    def _trace(self, key: Key, constants: Mapping[str, object]) -> Specialisation:
        with uncollected():
            found = self._traced_now(key, constants)
        self._capture(constants)
        return found

    def _unset_outputs(self) -> frozenset[int]:
        """The positions of the outputs that a launch does not initialise."""
        shared = {output for _, output in self._options.aliases}
        return frozenset(
            len(self.in_specs or ()) + number
            for number, tile in enumerate(self.out_specs or ())
            if tile.init is None and number not in shared
        )

    def _traced_now(self, key: Key, constants: Mapping[str, object]) -> Specialisation:
        assert self._function is not None
        options = self._options_at(self._sizes(dict(key.dims), constants))
        try:
            module = build(
                self._function,
                self._partial_signature if key.partial else self._signature,
                dims=dict(key.dims),
                constants=constants,
                target=key.target,
                version=options.version,
                given=options.directives,
                scalars_by_reference=key.by_reference,
                batch=key.batch,
                block=self._known_block(options),
                cluster=options.cluster,
                unset=self._unset_outputs(),
            )
        except PtxError as error:
            raise at_kernel(error, self._signature) from None
        except Exception as error:
            if (mistake := explained(error, (ptx, reg, smem))) is not None:
                raise mistake.with_traceback(error.__traceback__) from None
            sizes = ", ".join(f"{n}={v!r}" for n, v in {**dict(key.dims), **constants}.items())
            error.add_note(f"while {self.name} was traced for {key.target} {sizes}".rstrip())
            raise
        self._check_shared(module)
        self._check_serialization(module)
        where = self._signature.location
        return Specialisation(module, text.write(module), options.contract, options.shared, where)

    def _known_block(self, options: Options) -> tuple[int, int, int] | None:
        """What `block=` says; None where a kernel that is launched by hand leaves it out."""
        block = options.block
        return None if self._by_hand and block == (1, 1, 1) else block

    def _check_serialization(self, module: Module) -> None:
        """A kernel that may start early must wait for the one before it."""
        if not self._options.programmatic_stream_serialization:
            return
        body = module.kernels[0].body
        if not any(isinstance(s, Instruction) and s.spelling == _WAIT for s in body):
            raise SpecError(
                f"{self.name} has programmatic_stream_serialization=True and never waits for the "
                "kernel before it, so it may read what is not yet written",
                location=self._signature.location,
                notes=(("help", f"ptx.inst.{_WAIT}() before the first access to global memory"),),
            )

    def _check_shared(self, module: Module) -> None:
        allocated = module.kernels[0].shared.size
        wanted = self._options.shared
        if wanted is not None and wanted < allocated:
            raise SpecError(
                f"smem={wanted} is less than the {allocated} bytes that {self.name} allocates",
                location=self._signature.location,
                notes=(("help", "leave smem= out: it is inferred from the allocations"),),
            )
        limit = device.of(module.target).cta_shared
        if wanted is not None and wanted > limit:
            raise SpecError(
                f"smem={wanted} is more than the {limit} bytes that a CTA of {module.target} has",
                location=self._signature.location,
            )

    def _apply(
        self,
        fixed: Mapping[str, int],
        constants: Mapping[str, object],
        targets: Targets,
        *,
        by_reference: bool,
        inputs: tuple[Argument, ...],
        outputs: tuple[OutputAddress, ...],
        dims: Mapping[str, Extent],
        when: Extent | None = None,
    ) -> Application:
        """The kernel for these sizes and values on tensors of a call for these targets."""
        names = self.dimension_names
        values = {**self._constants, **constants}
        check_constants(self.name, values)
        options = self._options_at(self._sizes(fixed, constants))
        return Application(
            name=self.name,
            tensors=self._signature.parameters,
            in_specs=self.in_specs,
            out_specs=self.out_specs,
            parallel=tuple(name for name in self.parallel if name in names),
            grid=lambda sizes: self._grid({**values, **sizes}),
            block=options.block,
            cluster=options.cluster,
            code=lambda batch, partial: self._code_for(
                fixed, constants, targets, batch, by_reference=by_reference, partial=partial
            ),
            takes=self._takes(),
            shared=self._shared(),
            cooperative=options.cooperative,
            programmatic_stream_serialization=options.programmatic_stream_serialization,
            inputs=inputs,
            outputs=outputs,
            dims=dims,
            when=when,
        )

    def _options_at(self, sizes: Mapping[str, Any]) -> Options:
        try:
            return self._options.at(sizes)
        except PtxError as error:
            raise at_kernel(error, self._signature) from None

    def _sizes(self, fixed: Mapping[str, int], constants: Mapping[str, object]) -> dict[str, Any]:
        """What the sizes of a launch may name: dimensions and compile-time keywords."""
        dims = {name: Symbol(name) for name in self.dimension_names}
        return {**dims, **self._constants, **constants, **fixed}

    def _grid(self, sizes: Mapping[str, Any]) -> tuple[Extent, Extent, Extent]:
        try:
            return resolve_grid(self._options.grid, sizes)
        except PtxError as error:
            raise at_kernel(error, self._signature) from None

    def _code_for(
        self,
        fixed: Mapping[str, int],
        constants: Mapping[str, object],
        targets: Targets,
        batch: Batch | None,
        *,
        by_reference: bool,
        partial: bool,
    ) -> Code:
        def specialise(target: Target, partial: bool = partial) -> Specialisation:
            return self._specialise(
                fixed, constants, target, by_reference=by_reference, batch=batch, partial=partial
            )

        every = (self._options.arch,) if self._options.arch else targets or (self._usual,)
        target = every[0]
        usual = specialise(target)
        if partial and usual.written.ptx == specialise(target, partial=False).written.ptx:
            raise self._same_for_parts()
        self._check_resident(fixed, constants, usual)
        return Code(
            digest(usual.written.ptx, str(self._options.contract)),
            cubin=lambda target: specialise(target).launched(),
            image=lambda: usual.image,
            shared=max(specialise(target).dynamic_shared for target in every),
            maps=usual.tensor_maps,
            widths=lambda: usual.access_widths(len(self.in_specs) + len(self.out_specs)),
        )

    @property
    def _usual(self) -> Target:
        """The target of a call that is for none in particular."""
        return self._options.arch or targets.DEFAULT

    def _takes(self) -> tuple[int | Number | Bytes, ...]:
        """What the code takes: the tensors, then the sizes that are known at the launch."""
        names = run_time_sizes((*self.in_specs, *self.out_specs), self.run_time)
        sizes = (Number(partial(size_of, name)) for name in names)
        return (*range(len(self.in_specs) + len(self.out_specs)), *sizes)

    def _shared(self) -> Callable[[Mapping[str, Extent]], Extent] | None:
        """The dynamic shared memory of a launch, where the code does not tell it."""
        return None

    def _same_for_parts(self) -> SpecError:
        """The error for a body that writes a sum in one type, whatever the tensor's is."""
        names = zip(self.output_names, self.out_specs, strict=True)
        name, spec = next((name, spec) for name, spec in names if spec.accumulate is not None)
        return SpecError(
            f"{self.name} does the same for {name} of type {spec.dtype!r} and of type "
            f"{spec.accumulate!r}; with accumulate={spec.accumulate!r} it is traced for both",
            location=self._signature.location,
            notes=(("help", f"convert the sum to {name}.dtype before it is stored"),),
        )

    def _check_resident(
        self, fixed: Mapping[str, int], constants: Mapping[str, object], found: Specialisation
    ) -> None:
        """A cooperative grid whose sizes are known must fit some device of its target."""
        arch = self._options.arch
        if not self._options.cooperative or arch is None:
            return
        sizes = self._sizes(fixed, constants)
        block = self._options_at(sizes).block
        x, y, z = self._grid(sizes)
        if isinstance(x, int) and isinstance(y, int) and isinstance(z, int):
            try:
                check_resident((x, y, z), block, found.all_shared, arch)
            except SpecError as error:
                raise at_kernel(error, self._signature) from None

    def _describe(
        self,
        fixed: Mapping[str, int],
        stars: Mapping[str, int],
        constants: Mapping[str, object],
        targets: Targets = (),
        *,
        by_reference: bool,
    ) -> Description:
        specs = (*self.in_specs, *self.out_specs)
        tensors = tuple(
            Tensor(name, spec.dtype, symbolic(spec, fixed), spec.sum_over, spec.accumulate)
            for name, spec in zip(self._signature.parameters, specs, strict=True)
        )
        count = len(self.in_specs)
        step = self._apply(
            fixed,
            constants,
            targets,
            inputs=tuple(
                InputValue(i) if isinstance(spec, Scalar) and not by_reference else InputAddress(i)
                for i, spec in enumerate(self.in_specs)
            ),
            outputs=tuple(OutputAddress(i) for i in range(len(self.out_specs))),
            dims={n: fixed.get(n, Symbol(n)) for n in (*self.dimension_names, *fixed)},
            by_reference=by_reference,
        )
        return Description(
            name=self.name,
            arch=self.arch,
            inputs=tensors[:count],
            outputs=tensors[count:],
            steps=(step,),
            stars=stars,
            aliases=self._options.aliases,
            dynamic=self.dynamic,
            retarget=lambda others: self._describe(
                fixed, stars, constants, others, by_reference=by_reference
            ),
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
    name: str | None = None,
    in_specs: Sequence[Spec] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Grid = (1, 1, 1),
    block: Block = (1, 1, 1),
    cluster: Block = (1, 1, 1),
    smem: int | None = None,
    arch: str = "auto",
    version: tuple[int, int] | str | None = None,
    contract: bool = False,
    parallel: Iterable[str] = (),
    dynamic: Iterable[str] = (),
    input_output_aliases: Mapping[int, int] | None = None,
    cooperative: bool = False,
    programmatic_stream_serialization: bool = False,
    **directives: int | Sequence[int] | bool | Sequence[tuple[str, Sequence[int]]],
) -> Callable[[Body], Kernel]: ...
@binding(SpecError, "kernel")
def kernel(
    function: Body | None = None,
    /,
    *,
    name: str | None = None,
    in_specs: Sequence[Spec] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Grid = (1, 1, 1),
    block: Block = (1, 1, 1),
    cluster: Block = (1, 1, 1),
    smem: int | None = None,
    arch: str = "auto",
    version: tuple[int, int] | str | None = None,
    contract: bool = False,
    parallel: Iterable[str] = (),
    dynamic: Iterable[str] = (),
    input_output_aliases: Mapping[int, int] | None = None,
    cooperative: bool = False,
    programmatic_stream_serialization: bool = False,
    **directives: int | Sequence[int] | bool | Sequence[tuple[str, Sequence[int]]],
) -> Kernel | Callable[[Body], Kernel]:
    """Make a kernel from a function whose body uses `reg`, `smem` and `ptx`.

    Keyword-only parameters of the function are compile-time values. Raises SpecError.

    Args:
        name: The kernel's name in PTX; by default the function's.
        in_specs: A Tile or Scalar for each positional parameter that is an input, in order.
        out_specs: A Tile for each positional parameter that is an output, in order.
        grid: Up to three sizes, or a function of what they depend on: named dimensions and
            compile-time keywords, by their names. A size may be text that names them and computes
            with them as a Tile does: `grid=("N//BM", 1)`.
        block: Threads of a CTA, as `grid`, from what has a size when the kernel is traced.
        cluster: CTAs of a cluster, as `block`.
        smem: Bytes of shared memory; by default what the body allocates.
        arch: Target such as "sm_90a"; by default "auto", that of the device that a program is
            lowered for, and sm_90a where there is none (`pyptx.target`).
        version: PTX version; by default the lowest that the instructions need.
        contract: Let the assembler fuse a `mul` and an `add` that were written apart.
        parallel: Named dimensions that are run-time values, one compiled kernel for all sizes.
            Each index of them is independent of the others, so `jax.vmap` can add indices and a
            sharding can split them. An output without one is a sum over it, and its Tile says so:
            `Tile("N", f32, sum_over="B")`. It is a promise: `k.check_parallel(*arrays)` looks for
            what breaks it.
        dynamic: Named dimensions that are run-time values and nothing more: one compiled kernel for
            all sizes. Their indices may depend on each other, so `jax.vmap` does not fold an axis
            into them and shardings do not split them.
        input_output_aliases: `{input: output}`, each by position, that share one buffer.
        cooperative: CUDA's launch attribute: all CTAs of the grid are resident at once, so they
            may wait for each other through global memory. A launch of more than the device holds
            fails. `jax.vmap` runs such a kernel once per element, unless the elements become
            indices of a parallel dimension.
        programmatic_stream_serialization: CUDA's launch attribute: the kernel may start before
            the kernel before it in the stream has ended, and waits with `griddepcontrol.wait`.
        directives: Performance directives by name: `maxnreg=64`, `minnctapersm=2`, ..., or
            several as `raw_directives=[("maxnreg", (64,))]`. `extern_smem=True` says nothing more
            than the body's `smem.base()`.
    """
    where = caller()
    options = Options(
        launch_grid(grid, where),
        (1, 1, 1),
        (1, 1, 1),
        None if smem is None else byte_count(smem, where),
        None if isinstance(arch, str) and arch == "auto" else parse_target(arch, where),  # pyright: ignore[reportUnnecessaryIsInstance]
        parse_version(version, where),
        (),
        flag("contract", contract, where),
        dimension_names(parallel, where),
        alias_pairs(input_output_aliases, where),
        flag("cooperative", cooperative, where),
        flag("programmatic_stream_serialization", programmatic_stream_serialization, where),
        dimension_names(dynamic, where, "dynamic"),
    )
    called = None if name is None else ptx_name(name, where)
    known = [name for name in inspect.signature(kernel).parameters if name not in _NOT_OPTIONS]
    options = with_launch(
        options, Late(block, cluster, listed_directives(directives, where), known, where)
    )
    inputs, outputs = specs("in_specs", in_specs, where), specs("out_specs", out_specs, where)

    @binding(SpecError, "kernel(...)")
    def decorate(body: Body) -> Kernel:
        run_time = (*options.parallel, *options.dynamic)
        made, constants = signature(body, run_time, inputs, outputs, where)
        if called is not None:
            made = replace(made, name=called)
        return Kernel(
            body,
            made,
            in_specs=inputs,
            out_specs=outputs,
            constants=constants,
            options=options,
        )

    return decorate if function is None else decorate(function)
