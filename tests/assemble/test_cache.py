"""The disk cache: content keys, damage, interruption, concurrent processes, its bound."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap

import pytest

from pyptx import _assemble as assemble
from pyptx._assemble import cache, ptxas
from pyptx._cli.doctor import cache_folder

PTX = (
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry empty()\n{\n"
    "\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 0;\n\tret;\n}\n"
)

OWNED = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files here have no owner and mode")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def runs(monkeypatch):
    """The command lines of ptxas that assembled something."""
    commands = []
    run = ptxas._run

    def counted(tool, command, folder):
        if "kernel.ptx" in command:
            commands.append(command)
        return run(tool, command, folder)

    monkeypatch.setattr(ptxas, "_run", counted)
    return commands


def test_the_same_input_is_assembled_once(runs):
    first = assemble.assemble(PTX, "sm_90a")
    assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 1


def test_everything_that_matters_is_in_the_key(runs, monkeypatch):
    assemble.assemble(PTX, "sm_90a")
    assemble.assemble(PTX.replace("%r1, 0", "%r1, 1"), "sm_90a")
    assemble.assemble(PTX.replace("sm_90a", "sm_90"), "sm_90")
    assemble.assemble(PTX, "sm_90a", contract=True)
    assemble.assemble(PTX, "sm_90a", line_info=True)
    assemble.assemble(PTX, "sm_90a", flags=["-O1"])
    assert len(runs) == 6
    monkeypatch.setattr(ptxas, "version", lambda: "99.0.0")
    assert assemble.assemble(PTX, "sm_90a").assembler == "99.0.0"
    assert len(runs) == 7


def test_parts_do_not_run_together():
    assert cache.key("ab", "c") != cache.key("a", "bc")


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_entry_is_made_again(runs, folder, damage):
    first = assemble.assemble(PTX, "sm_90a")
    (entry,) = folder.glob("*.cubin")
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes({"cut": data[:-9], "flipped": data, "empty": b""}[damage])
    assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 2
    assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 2


def test_an_entry_of_another_format_is_made_again(runs, folder):
    first = assemble.assemble(PTX, "sm_90a")
    (entry,) = folder.glob("*.cubin")
    deep = b"[" * 100_000
    texts = (b"{}", b"1", b"[]", b'"text"', b"null", deep)
    headers = [len(text).to_bytes(8, "little") + text for text in texts]
    for payload in (b"{}", *headers, b"\xff" * 40):
        cache.store(entry.stem, payload)
        assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 3 + len(texts)


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "other"},
        {"kernel": 1},
        {"target": "sm_100a"},
        {"assembler": "1.2.3"},
        {"registers": "8"},
        {"registers": True},
        {"shared": -1},
        {"spill_loads": None},
        {"messages": [{"severity": "error"}]},
        {"messages": [7]},
        {"code": b"text"},
        {"more": 1},
    ],
    ids=str,
)
def test_an_entry_of_another_kernel_is_made_again(runs, folder, change):
    """One whose digest is right: a file of that name that something else has put there."""
    first = assemble.assemble(PTX, "sm_90a")
    (entry,) = folder.glob("*.cubin")
    record = dataclasses.asdict(first) | change
    code = record.pop("code")
    header = json.dumps(record).encode()
    cache.store(entry.stem, len(header).to_bytes(8, "little") + header + code)
    assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 2
    assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 2, "the right one is kept again"


@OWNED
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(runs, folder, mode):
    first = assemble.assemble(PTX, "sm_90a")
    folder.chmod(mode)
    for n in (2, 3):
        with pytest.warns(RuntimeWarning, match=f"others may write to it .mode {mode:04o}"):
            assert assemble.assemble(PTX, "sm_90a") == first
        assert len(runs) == n
    with pytest.warns(RuntimeWarning, match="not kept"):
        cache.store("new", b"payload")
    assert not (folder / "new.cubin").exists()
    folder.chmod(0o755)
    assert assemble.assemble(PTX, "sm_90a") == first
    assert len(runs) == 3, "others may read it"


@OWNED
def test_a_folder_of_another_user_is_not_used(monkeypatch, folder):
    cache.store("name", b"payload")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.warns(RuntimeWarning, match=f"belongs to user {user}, and this is user {user + 1}"):
        assert cache.load("name") is None


@OWNED
def test_an_entry_that_others_may_write_to_is_not_used(folder):
    cache.store("name", b"payload")
    (folder / "name.cubin").chmod(0o666)
    assert cache.load("name") is None
    cache.store("name", b"payload")
    assert cache.load("name") == b"payload"
    assert (folder / "name.cubin").stat().st_mode & 0o777 == 0o600


@OWNED
def test_the_folder_is_made_for_the_user_alone(monkeypatch, folder):
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(folder / "made" / "here"))
    before = os.umask(0)
    try:
        cache.store("name", b"payload")
    finally:
        os.umask(before)
    assert (folder / "made" / "here").stat().st_mode & 0o777 == 0o700
    assert cache.load("name") == b"payload"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_fifo_does_not_block(folder):
    os.mkfifo(folder / "name.cubin", 0o600)
    program = "from pyptx._assemble import cache; assert cache.load('name') is None"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    cache.store("name", b"payload")
    assert cache.load("name") == b"payload"


def test_a_folder_in_the_place_of_an_entry(folder):
    (folder / "name.cubin" / "below").mkdir(parents=True)
    assert cache.load("name") is None
    cache.store("name", b"payload")
    assert [path.name for path in folder.iterdir()] == ["name.cubin"]


def test_without_a_home_directory(monkeypatch, runs):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("PYPTX_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert cache.directory() is None
    assert assemble.assemble(PTX, "sm_90a") == assemble.assemble(PTX, "sm_90a")
    assert len(runs) == 2
    assert "no home directory" in cache_folder().help


def test_an_interrupted_write_leaves_nothing(monkeypatch, folder):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.store("name", b"payload")
    monkeypatch.undo()
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_costs_only_time(monkeypatch, folder, runs):
    (folder / "file").write_text("")
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(folder / "file" / "below"))
    assert assemble.assemble(PTX, "sm_90a") == assemble.assemble(PTX, "sm_90a")
    assert len(runs) == 2


def test_the_least_recently_used_go_first(monkeypatch, folder):
    monkeypatch.setattr(cache, "LIMIT", 1000)
    for age, name in enumerate(("c", "b", "a")):
        cache.store(name, b"x" * 250)
        os.utime(folder / f"{name}.cubin", (1000 - age, 1000 - age))
    (folder / ".dead.tmp").write_bytes(b"x" * 250)
    os.utime(folder / ".dead.tmp", (1, 1))
    assert cache.load("a") == b"x" * 250, "a use makes it the newest"
    cache.store("d", b"x" * 250)
    assert sorted(p.name for p in folder.iterdir()) == ["a.cubin", "c.cubin", "d.cubin"]


def test_concurrent_processes_agree(folder):
    program = textwrap.dedent("""
        import sys
        from pyptx import _assemble as assemble
        ptx = sys.stdin.read()
        for i in range(3):
            for n in range(3):
                found = assemble.assemble(ptx.replace("%r1, 0", f"%r1, {n}"), "sm_90a")
                assert found.code[:4] == b"\\x7fELF"
    """)
    processes = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        process.stdin.write(PTX)
        process.stdin.close()
    assert [process.wait(120) for process in processes] == [0] * 4
    assert len(list(folder.glob("*.cubin"))) == 3
    assert not list(folder.glob("*.tmp"))


KILLED = textwrap.dedent(
    """
    import os, shutil, sys
    from pyptx._assemble import cache

    OLD, NEW = bytes(range(256)) * 16, bytes(reversed(range(256))) * 16
    LOOKED_AT = {
        "open", "os.mkdir", "os.rename", "os.remove", "os.utime", "tempfile.mkstemp", "os.scandir"
    }

    class Cut:
        '''A file of which so many bytes are on the disk when the process is killed.'''

        def __init__(self, file, count):
            self.file, self.count = file, count

        def __enter__(self):
            return self

        def __exit__(self, *why):
            self.file.close()

        def write(self, data):
            os.write(self.file.fileno(), data[: self.count])
            os._exit(9)

    def at_event(n):
        seen = 0
        def hook(event, arguments):
            nonlocal seen
            if event in LOOKED_AT:
                seen += 1
                if seen == n:
                    os._exit(9)
        sys.addaudithook(hook)

    def at_byte(n):
        fdopen = os.fdopen
        os.fdopen = lambda *arguments: Cut(fdopen(*arguments), n)

    def child(kill, n):
        process = os.fork()
        if process == 0:
            kill(n)
            cache.store("entry", NEW)
            cache.load("entry")
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def first_of_all(n):
        '''The folder does not exist when the process starts.'''
        shutil.rmtree(cache.directory(), ignore_errors=True)
        code = child(at_event, n)
        held = cache.load("entry")
        assert held in (None, NEW), held
        cache.store("entry", NEW)
        assert cache.load("entry") == NEW
        assert cache.problem(cache.directory()) == ""
        return code

    def after():
        held = cache.load("entry")
        assert held in (before, NEW), held
        cache.store("entry", NEW)
        assert cache.load("entry") == NEW
        assert cache.load("other") == OLD
        return held == NEW

    codes = [9]
    while codes[-1] == 9:
        codes.append(first_of_all(len(codes)))
    assert codes[-1] == 0 and len(codes) > 7, codes

    outcomes = []
    cache.store("other", OLD)
    for before in (None, OLD):
        for kill, cases in ((at_event, range(1, 100)), (at_byte, (0, 1, 31, 32, 33, 4127, 4128))):
            for n in cases:
                path = cache.directory() / "entry.cubin"
                path.unlink(missing_ok=True)
                if before is not None:
                    cache.store("entry", before)
                code = child(kill, n)
                outcomes.append((code, after()))
                if code == 0:
                    break
    print(sorted(set(outcomes)), sum(code == 9 for code, _ in outcomes))
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_process_may_be_killed_at_every_step(folder):
    """The entry is then the old one, the new one, or none; and the next one is stored."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes, kills = done.stdout.rsplit(" ", 1)
    assert outcomes == "[(0, True), (9, False), (9, True)]"
    assert int(kills) >= 24
