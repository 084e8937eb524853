"""What is lifted is the program it was lifted from: the same module, the same machine code."""

from pathlib import Path

import pytest
from tests.lift.comparing import alone, kernels, machine_code, one_label_for_each_place
from tests.text.test_laws import CORPUS, for_every_day, traced

from pyptx._text import parse, write

DOCUMENTED = [Path(__file__).parents[2] / "docs" / "clip.ptx"]


@pytest.mark.parametrize("module", list(traced()))
def test_a_traced_kernel_is_traced_again_from_what_is_lifted(module):
    text = write(module()).ptx
    read = parse(text)
    (lifted,) = kernels(read).values()
    again = lifted.module()
    assert one_label_for_each_place(again) == one_label_for_each_place(read)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", [*for_every_day((*CORPUS, *DOCUMENTED))])
def test_the_machine_code_of_a_file_is_that_of_what_is_lifted(path: Path, tmp_path):
    module = parse(path.read_text(), path.name)
    lifted = kernels(module, path.name)
    assert list(lifted) == [k.name for k in module.kernels]
    for k in lifted.values():
        traced = k.module()
        assert machine_code(traced, tmp_path) == machine_code(alone(module, traced), tmp_path)
