"""`refspan export`: where it goes, whole or not at all, and what it needs to be installed."""

from __future__ import annotations

import hashlib
import os
import pty
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import refspan
from export_support import BINARIES, FORMATS, TEXTS, command, export, read, run
from refspan.cli import main
from refspan.cli.target import Sink
from store_support import FORMATS as FORMATS_OF_REFS
from store_support import Format, build, null
from support import Ref, write_packed

OID = b"ab" * 20
OLD = b"what was there before"

each_format = pytest.mark.parametrize("form", FORMATS)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A packed-refs file of which every format makes several pieces, and more than a pipe holds."""
    folder = tmp_path / "source"
    folder.mkdir()
    ids = (hashlib.sha1(b"%d" % i).hexdigest().encode() for i in range(20_000))
    refs = (Ref(b"refs/heads/%05d" % i, oid, None) for i, oid in enumerate(ids))
    return write_packed(folder / "packed-refs", refs)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where exports go."""
    path = tmp_path / "out"
    path.mkdir()
    return path


def is_complete(file: Path, form: str, source: Path) -> bool:
    return len(read(file, form)[1]) == len(refspan.PackedRefs(source))


@each_format
def test_an_export_to_stdout_is_the_one_to_a_file(source: Path, folder: Path, form: str) -> None:
    for args in ([], ["-o", "-"], ["-o", "/dev/stdout"]):
        done = run(source, "--format", form, "-q", *args)
        assert (done.returncode, done.stderr) == (0, b"")
        (folder / "piped").write_bytes(done.stdout)
        assert is_complete(folder / "piped", form, source)


@each_format
def test_a_file_is_replaced_and_keeps_its_mode(source: Path, folder: Path, form: str) -> None:
    file = folder / "file"
    file.write_bytes(OLD)
    file.chmod(0o640)
    with file.open("rb") as old:
        export(file, form, source)
        assert old.read() == OLD
    assert is_complete(file, form, source)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(folder.iterdir()) == [file]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_that_any_would_have(source: Path, folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        export(folder / "file", "csv", source)
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "file").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_leads_to_the_new_file(source: Path, folder: Path, exists: bool) -> None:
    link, file = folder / "link", folder / "file"
    link.symlink_to("file")
    if exists:
        file.write_bytes(OLD)
    export(link, "csv", source)
    assert link.is_symlink()
    assert not file.is_symlink()
    assert is_complete(file, "csv", source)


@each_format
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, MemoryError])
def test_a_failure_in_the_midst_leaves_the_old_file_and_no_other(
    source: Path, folder: Path, form: str, failure: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "file"
    file.write_bytes(OLD)
    write, written = Sink.write, []

    def fail(self: Sink, data: bytes) -> int:
        written.append(len(data))
        if sum(written) > 100_000:
            assert len(list(folder.iterdir())) == 2
            raise failure
        return write(self, data)

    monkeypatch.setattr(Sink, "write", fail)
    args = ["export", str(source), "--format", form, "-o", str(file), "-q"]
    if failure is MemoryError:
        with pytest.raises(MemoryError):
            main(args)
    else:
        assert main(args) == (130 if failure is KeyboardInterrupt else 1)
    assert file.read_bytes() == OLD
    assert list(folder.iterdir()) == [file]


@contextmanager
def started(*args: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """An export that runs, and is killed if it does not end."""
    with subprocess.Popen(command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until it holds, but not for ever."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise TimeoutError


@pytest.mark.parametrize("form", TEXTS)
def test_ctrl_c_in_the_midst_leaves_the_old_file_and_no_other(large_file: Path, folder: Path, form: str) -> None:
    file = folder / "file"
    file.write_bytes(OLD)
    with started(large_file, "--format", form, "-o", file) as process:
        # The temporary file, which must have grown.
        wait_for(lambda: any(found != file and found.stat().st_size for found in folder.iterdir()))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert file.read_bytes() == OLD
    assert list(folder.iterdir()) == [file]


@each_format
def test_ctrl_c_ends_an_export_whose_reader_is_slow(source: Path, folder: Path, form: str) -> None:
    os.mkfifo(folder / "fifo")
    with started(source, "--format", form, "-o", folder / "fifo") as process:
        with (folder / "fifo").open("rb") as fifo:
            first = fifo.read(1)
            process.send_signal(signal.SIGINT)
            rest = fifo.read()
        assert process.wait(60) == 130
    assert len(first) == 1
    # A binary file without its end is none.
    assert not rest.endswith((b"PAR1", b"ARROW1"))


@each_format
def test_a_pipe_with_a_name_is_written_to(source: Path, folder: Path, form: str) -> None:
    os.mkfifo(folder / "fifo")
    with started(source, "--format", form, "-o", folder / "fifo", "-q") as process:
        (folder / "file").write_bytes((folder / "fifo").read_bytes())
        assert process.wait(60) == 0
    assert is_complete(folder / "file", form, source)
    assert stat.S_ISFIFO((folder / "fifo").stat().st_mode)


@each_format
def test_the_null_device_is_written_to(source: Path, form: str) -> None:
    export(Path("/dev/null"), form, source)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_file_that_stdout_is_appended_to_keeps_what_it_has(source: Path, folder: Path) -> None:
    script = 'echo first > "$2"; "$0" -m refspan export "$1" --format csv -q -o /dev/stdout >> "$2"'
    subprocess.run(["sh", "-c", script, sys.executable, source, folder / "file"], check=True)
    first, rest = (folder / "file").read_bytes().split(b"\n", 1)
    assert first == b"first"
    (folder / "file").write_bytes(rest)
    assert is_complete(folder / "file", "csv", source)


def test_a_pipe_by_the_number_of_its_descriptor_is_written_to(source: Path, folder: Path) -> None:
    # As the shell's process substitution has it.
    script = '{ "$0" -m refspan export "$1" --format csv -q -o /dev/fd/7 7>&1 >/dev/null; } | cat > "$2"'
    subprocess.run(["sh", "-c", script, sys.executable, source, folder / "file"], check=True)
    assert is_complete(folder / "file", "csv", source)


@each_format
def test_a_full_disk_is_told_and_leaves_the_old_file(source: Path, folder: Path, form: str) -> None:
    file = folder / "file"
    file.write_bytes(OLD)
    script = 'ulimit -f 100; trap "" XFSZ; exec "$0" -m refspan export "$1" --format "$2" -o "$3" -q'
    done = subprocess.run(["sh", "-c", script, sys.executable, source, form, file], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"File too large: '%s'" % bytes(file) in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert file.read_bytes() == OLD
    assert list(folder.iterdir()) == [file]


@each_format
@pytest.mark.parametrize("args", [["-o", "/dev/full"], []], ids=["by name", "as stdout"])
def test_a_full_device_is_told(source: Path, form: str, args: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(source, "--format", form, "-q", *args), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


@each_format
def test_a_reader_that_goes_away_is_no_error(source: Path, form: str) -> None:
    with started(source, "--format", form, "-q") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.parametrize("form", BINARIES)
def test_a_failure_in_the_midst_makes_no_binary_file_on_stdout_that_looks_whole(tmp_path: Path, form: str) -> None:
    repo = build(tmp_path / "repo", bare=True)
    line = b"%s %s A <a@b> 1 +0000\tm\n" % (OID, OID)
    for i in range(3):
        repo.loose(f"logs/refs/heads/{i}", "").write_bytes(line * 40_000)
    with started(repo.path, "--what", "reflogs", "--format", form, "-q") as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        # By the time that the last log is read it is another one.
        repo.loose("logs/refs/heads/2", "rewritten\n")
        rest = process.stdout.read()
        assert process.wait(60) == 1
    assert len(first) == 1
    assert not rest.endswith((b"PAR1", b"ARROW1"))


@pytest.mark.parametrize(
    ("name", "told"), [("", b"Is a directory"), ("none/file", b"No such file"), ("file/file", b"Not a directory")]
)
def test_a_place_where_no_file_can_be_is_told(source: Path, folder: Path, name: str, told: bytes) -> None:
    (folder / "file").write_bytes(OLD)
    done = run(source, "--format", "csv", "-o", folder / name, "-q")
    assert (done.returncode, done.stdout) == (1, b"")
    assert told in done.stderr
    assert b"'%s'" % bytes(folder / name) in done.stderr
    assert [found.read_bytes() for found in folder.iterdir()] == [OLD]


def test_a_file_that_may_not_be_written_is_not_replaced(
    source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").write_bytes(OLD)
    # To the superuser it would be writable.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["export", str(source), "--format", "csv", "-o", str(folder / "file"), "-q"]) == 1
    assert f"Permission denied: '{folder / 'file'}'" in capfd.readouterr().err
    assert [found.read_bytes() for found in folder.iterdir()] == [OLD]


def test_the_file_may_be_the_source(source: Path) -> None:
    refs = list(refspan.PackedRefs(source).names())
    export(source, "csv", source)
    assert [row[0] for row in read(source, "csv")[1]] == [bytes(name).decode() for name in refs]


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("what", ["refs", "reflogs"])
@pytest.mark.parametrize("refs", FORMATS_OF_REFS)
def test_what_changes_meanwhile_is_not_exported(tmp_path: Path, refs: Format, what: str, form: str) -> None:
    repo = build(tmp_path / "repo", refs, bare=True)
    repo.git("config", "core.logAllRefUpdates", "always")
    # More than are read before a pipe is full.
    names = [f"refs/heads/{i:04d}-{'x' * 99}" for i in range(1500)]
    first, second, _ = repo.commits
    if refs == "reftable":
        repo.create(*names)
    else:
        write_packed(repo.gitdir / "packed-refs", [Ref(name.encode(), first.encode(), None) for name in names])
        for name in names:
            repo.loose(f"logs/{name}", f"{null()} {first} A <a@b> 1 +0000\tm\n")
    with started(repo.path, "--what", what, "--format", form, "-q") as process:
        assert process.stdout is not None
        begin = process.stdout.read(1)
        repo.create(*names[1200:1300], "refs/heads/new", at=1)
        repo.git("pack-refs", "--all")
        (tmp_path / "out").write_bytes(begin + process.stdout.read())
        assert process.wait(60) == 0
    fields, rows = read(tmp_path / "out", form)
    assert [row[0] for row in rows] == names
    assert {row[fields.index("oid" if what == "refs" else "new")] for row in rows} == {first}
    assert repo.store()[names[1200]].oid == second


def without(tmp_path: Path, *packages: str) -> dict[str, str]:
    """An environment in which these packages cannot be imported."""
    (tmp_path / "blocked").mkdir()
    for package in packages:
        (tmp_path / "blocked" / f"{package}.py").write_text(f'raise ImportError("no {package} here")\n')
    return os.environ | {"PYTHONPATH": str(tmp_path / "blocked")}


@pytest.mark.parametrize("form", BINARIES)
def test_binary_formats_name_the_extra_that_they_need(source: Path, folder: Path, tmp_path: Path, form: str) -> None:
    (folder / "file").write_bytes(OLD)
    args = command(source, "--format", form, "-o", folder / "file")
    done = subprocess.run(args, env=without(tmp_path, "pyarrow"), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"pip install 'refspan[analytics]'" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert [found.read_bytes() for found in folder.iterdir()] == [OLD]


@pytest.mark.parametrize("form", TEXTS)
def test_text_needs_no_extra(source: Path, folder: Path, tmp_path: Path, form: str) -> None:
    args = command(source, "--format", form, "-o", folder / "file")
    subprocess.run(args, env=without(tmp_path, "pyarrow", "rich", "polars"), check=True)
    assert is_complete(folder / "file", form, source)


class Terminal:
    """A terminal, and what was shown on it."""

    def __init__(self) -> None:
        self.shown = b""
        self._master, self.slave = pty.openpty()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while data := os.read(self._master, 4096):
                self.shown += data
        # So a terminal ends.
        except OSError:
            pass

    def close(self) -> bytes:
        """What was shown, once all who write to it are gone."""
        os.close(self.slave)
        self._reader.join()
        os.close(self._master)
        return self.shown


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@pytest.mark.parametrize("form", BINARIES)
def test_a_terminal_is_refused_by_binary_formats(source: Path, terminal: Terminal, form: str) -> None:
    args = command(source, "--format", form)
    done = subprocess.run(args, stdout=terminal.slave, stderr=subprocess.PIPE, check=False)
    assert terminal.close() == b""
    assert done.returncode == 129
    assert f"{form} is not for a terminal".encode() in done.stderr


def test_text_on_a_terminal_is_not_mixed_with_progress(tmp_path: Path, terminal: Terminal) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/a", OID, None)])
    subprocess.run(command(path, "--format", "csv"), stdout=terminal.slave, stderr=terminal.slave, check=True)
    assert terminal.close().split() == [b"name,oid,peeled,target", b"refs/heads/a,%s,," % OID]


def test_progress_is_a_bar_on_a_terminal(source: Path, folder: Path, terminal: Terminal) -> None:
    args = command(source, "--format", "csv", "-o", folder / "file")
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=terminal.slave, check=True)
    shown = terminal.close()
    assert done.stdout == b""
    assert b"refs: 20,000 of 20,000" in shown
    # It is drawn over itself, and the cursor, which it hides, comes back.
    assert shown.count(b"refs: ") > 1
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")


def test_progress_is_lines_on_a_terminal_without_rich(
    source: Path, folder: Path, tmp_path: Path, terminal: Terminal
) -> None:
    args = command(source, "--format", "csv", "-o", folder / "file")
    subprocess.run(args, env=without(tmp_path, "rich"), stderr=terminal.slave, check=True)
    assert terminal.close().endswith(b"refs: 20,000 of 20,000\r\n")


def test_ctrl_c_gives_the_cursor_back(large_file: Path, folder: Path, terminal: Terminal) -> None:
    args = command(large_file, "--format", "csv", "-o", folder / "file")
    with subprocess.Popen(args, stderr=terminal.slave) as process:
        wait_for(lambda: b"refs: " in terminal.shown and any(folder.iterdir()))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    shown = terminal.close()
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"Traceback" not in shown
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("what", "told"),
    [("refs", b"refs: 1 of 1\n"), ("reflogs", b"reflog entries: 2\n"), ("diff", b"changes: 0\n")],
)
def test_progress_is_lines_elsewhere(tmp_path: Path, what: str, told: bytes) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    other = [repo.path] if what == "diff" else []
    done = run(repo.path, *other, "--what", what, "--format", "csv")
    assert (done.returncode, done.stderr) == (0, told)


@pytest.mark.parametrize("stderr", ["terminal", "pipe"])
def test_quiet_shows_no_progress(source: Path, folder: Path, terminal: Terminal, stderr: str) -> None:
    target = terminal.slave if stderr == "terminal" else subprocess.PIPE
    args = command(source, "--format", "csv", "-o", folder / "file", "-q")
    done = subprocess.run(args, stderr=target, check=True)
    assert (done.stderr or b"") + terminal.close() == b""


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2>&1 >&3 | true"])
def test_a_stderr_that_takes_nothing_is_no_failure(source: Path, folder: Path, redirection: str) -> None:
    script = f'{{ "$0" -m refspan export "$1" --format csv -o "$2" {redirection}; }} 3>&1; echo done'
    subprocess.run(["sh", "-c", script, sys.executable, source, folder / "file"], check=True, stdout=subprocess.PIPE)
    assert is_complete(folder / "file", "csv", source)


def test_a_terminal_that_goes_away_is_no_failure(large_file: Path, folder: Path) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(command(large_file, "--format", "csv", "-o", folder / "file"), stderr=slave) as process:
        os.close(slave)
        while b"refs: " not in os.read(master, 4096):
            pass
        os.close(master)
        assert process.wait(60) == 0
    assert (folder / "file").read_bytes().count(b"\n") == len(refspan.PackedRefs(large_file)) + 1
