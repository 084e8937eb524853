"""Plans are read as they are written."""

import pytest

from pyptx._launch.reading import read

TWO_STEPS = (
    "inputs=[? 512],[512];outputs=[? 512],[512],[132 512]\n"
    "kernel=rows;grid=132,1,1;block=128,1,1;cluster=1,1,1;shared=0;params=a0,a1,r0,r2,i64:a0.0;"
    "complete=r0,r2\n"
    "kernel=finish;grid=1,1,1;block=512,1,1;cluster=1,1,1;shared=0;params=e2,r1;complete=r1;"
    "programmatic_stream_serialization=1"
)
EVERYTHING = (
    "inputs=[],[3 ? 64];outputs=[]\n"
    "kernel=k;grid=a1.1 4 cdiv,1,1;block=32,2,1;cluster=2,1,1;shared=a1.1 8 *;"
    "params=v0,b8:0000803f00000000,i32:a1.1 -1 max,"
    "map:a1:X:f32:3|a1.1|64:a1.1 256 *|256:1|8|32:1|1|1:0:3:2:1;"
    "zeros=r0;init=r0:0000803f;cooperative=1;when=17 a1.1 -"
)
IMAGES = (
    "inputs=[2 8 8 64];outputs=[1]\n"
    "kernel=k;grid=1,1,1;block=32,1,1;cluster=1,1,1;shared=0;"
    "params=map:r0:Y:bf16:2|8|8|64:8192|1024|128:32|64:1|1|1|1:0:3:0:0:-1|-1:-1|-1"
)
PLANS = (TWO_STEPS, EVERYTHING, IMAGES)


@pytest.mark.parametrize("text", PLANS)
def test_a_plan_is_read_as_it_is_written(text):
    assert str(read(text)) == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("grid=132,1,1", "grid=132,1"),
        ("grid=132,1,1", "grid=+ 1,1,1"),
        ("grid=132,1,1", "grid=1 2,1,1"),
        ("grid=132,1,1", "grid=x,1,1"),
        ("block=128", "blocks=128"),
        ("params=a0", "params=q0"),
        ("[? 512],[512];", "? 512,[512];"),
        ("shared=0", "shared=0;shared=0"),
        ("complete=r0", "complete=a0"),
        ("i64:a0.0", "i64:a0"),
        ("i64:a0.0", "i64:" + "1 " * 33 + "+ " * 32),
        ("block=128", "block= 128"),
        ("block=128", "block=0"),
        ("block=128", "block=1025"),
        ("cluster=1", "cluster=0"),
        ("cluster=1", "cluster=-1"),
        ("params=a0", "params=a2"),
        ("params=a0", "params=r3"),
        ("params=a0", "params=v0"),
        ("complete=r0", "complete=r3"),
        ("complete=r0", "complete=r-1"),
        ("i64:a0.0", "i64:a0.2"),
        ("i64:a0.0", "i64:a2.0"),
        ("i64:a0.0", "i64:a\u0660.0"),
        ("i64:a0.0", "i0:a0.0"),
        ("i64:a0.0", "i64:9223372036854775808"),
        ("i64:a0.0", "i64:" + "9" * 5000),
        ("i64:a0.0", "b3:00"),
    ],
)
def test_what_is_no_plan_is_refused(old, new):
    text = TWO_STEPS.replace(old, new, 1)
    assert text != TWO_STEPS
    with pytest.raises(ValueError, match=r"."):
        read(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bf16", "bf17"),
        ("bf16", "pred"),
        (":0:3:0:0:", ":0:9:0:0:"),
        (":0:3:0:0:", ":0:3:0:7:"),
        ("32|64", "32"),
        ("32|64", "32|64|1"),
        ("2|8|8|64", "2|8|64"),
        ("8192|1024|128", "8192|1024"),
        ("8192|1024|128", ""),
        ("map:r0", "map:r1"),
        ("map:r0", "map:a1"),
        (":2|8|8|64:", ":2|8|8|a0.4:"),
    ],
)
def test_what_is_no_tensor_map_is_refused(old, new):
    text = IMAGES.replace(old, new, 1)
    assert text != IMAGES
    with pytest.raises(ValueError, match=r"."):
        read(text)
