"""The floors of the core, and the other rules that its source keeps: see `src/lib.rs`.

The source is read as tokens, without comments and literals. Each check is tried on bad snippets too.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUST = {path.relative_to(ROOT / "src").as_posix(): path.read_text() for path in sorted(ROOT.glob("src/**/*.rs"))}
PYTHON = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.glob("python/**/*.py"))}

RANKS = {"model": 0, "fs": 1, "packed": 2, "loose": 2, "reftable": 2, "store": 3, "python": 4}
MAY_BE_UNSAFE = {
    "fs/backing.rs",
    "python/arrow/gil.rs",
    "python/arrow/stream.rs",
    "python/arrow/views.rs",
    "python/ref_view.rs",
    "python/source.rs",
}
MOST_LINES = 500
FORMATS = [file for file in RUST if file.startswith(("packed/", "loose/", "reftable/"))]
# What could let a hostile file panic; the compiler checks it where the floor says so.
DENIED = {"indexing_slicing", "unwrap_used", "expect_used", "panic", "arithmetic_side_effects"}
IMPURE = re.compile(r"\bstd::(?:env|fs|net|process|time)\b")

COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | \b(?:br|cr|r)(?P<hashes>\#*)".*?"(?P=hashes)
      | \b[bc]?"(?:\\.|[^"\\])*"
      | "(?:\\.|[^"\\])*"
      | \bb?'(?:\\[^\n']+|\\'|[^\\\n'])'
      | '(?:\\[^\n']+|\\'|[^\\\n'])'""",
    re.VERBOSE | re.DOTALL,
)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\S")
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{")


def code(text: str) -> str:
    """The source with comments and literals blanked out; what is left stays where it was."""
    return COMMENT_OR_LITERAL.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def denied(text: str) -> set[str]:
    """The clippy lints that a file denies for its whole module."""
    inner = re.findall(r"#!\[deny\(([^)]*)\)\]", code(text))
    return {lint.strip().removeprefix("clippy::") for lints in inner for lint in lints.split(",") if lint.strip()}


def without_tests(text: str) -> str:
    """The code of a file without its test modules."""
    text = code(text)
    while found := TEST_MODULE.search(text):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def paths(tokens: list[str], module: list[str]) -> Iterator[list[str]]:
    """Every path from the crate's root that a file names through `crate` or `super`; groups count as several paths."""
    blocks: list[str | None] = []  # What each open brace belongs to: the name of a module, or None.
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token == "{":
            blocks.append(tokens[i - 1] if i >= 2 and tokens[i - 2] == "mod" else None)
        elif token == "}":
            blocks.pop()
        elif token in ("crate", "super") and tokens[i - 1] != "::":
            here = [*module, *(name for name in blocks if name)] if token == "super" else []
            is_visibility = i >= 2 and tokens[i - 2] == "pub" and tokens[i + 1] == ")"
            if not is_visibility:
                for rest in tree(tokens, i):
                    ups = sum(1 for name in rest if name == "super")
                    yield here[: max(len(here) - ups, 0)] + [n for n in rest if n not in ("super", "crate", "self")]
                i = end_of_tree(tokens, i)
                continue
        i += 1


def end_of_tree(tokens: list[str], i: int) -> int:
    """The index behind the path, or the use tree, that starts at `i`."""
    while i + 1 < len(tokens) and tokens[i + 1] == "::":
        i += 2
        if tokens[i] == "{":
            depth = 1
            while depth:
                i += 1
                depth += {"{": 1, "}": -1}.get(tokens[i], 0)
    return i + 1


def tree(tokens: list[str], i: int) -> Iterator[list[str]]:
    """The paths of the use tree that starts at `i`."""
    head = []
    while True:
        head.append(tokens[i])
        if tokens[i + 1 : i + 2] != ["::"]:
            break
        i += 2
        if tokens[i] == "{":
            end, i = end_of_tree(tokens, i - 2) - 1, i + 1
            while i < end:
                for rest in tree(tokens, i):
                    yield head + rest
                i = end_of_tree(tokens, i)
                while i < end and tokens[i] != ",":
                    i += 1
                i += 1
            return
    yield head


def floor_violations(file: str, text: str) -> list[str]:
    """The paths in a file that lead to another floor than it may use."""
    module = file.removesuffix(".rs").removesuffix("/mod").split("/")
    floor = module[0]
    if file == "lib.rs":
        return []
    if floor not in RANKS:
        return [f"{file}: no floor is called {floor}"]
    wrong = []
    for path in paths(TOKEN.findall(code(text)), module):
        # The root alone, or all of it, would hide which floors are meant.
        there = path[0] if path and path[0] != "*" else "the root"
        if there != floor and RANKS.get(there, 9) >= RANKS[floor]:
            wrong.append(f"{file}: uses {there}")
    return wrong


def unsafe_violations(file: str, text: str) -> list[str]:
    """Where a file has `unsafe` without leave, or an unsafe block without a reason right above its line."""
    wrong = []
    lines = text.splitlines()
    for number, line in enumerate(code(text).splitlines()):
        if not re.search(r"\bunsafe\b", line):
            continue
        if file not in MAY_BE_UNSAFE:
            wrong.append(f"{file}:{number + 1}: unsafe does not belong here")
        above = number - 1
        while above > 0 and lines[above].strip().startswith("//") and "SAFETY:" not in lines[above]:
            above -= 1
        if re.search(r"\bunsafe\s*(\{|$)", line) and not lines[above].strip().startswith("// SAFETY: "):
            wrong.append(f"{file}:{number + 1}: no SAFETY comment")
    return wrong


def panics(text: str) -> list[str]:
    """Calls that end in a panic when they are wrong."""
    return re.findall(r"\.unwrap\(\)|\.expect\(|\b(?:panic|todo|unimplemented|unreachable)!", without_tests(text))


def test_there_is_source_to_check() -> None:
    assert {"lib.rs", "model/mod.rs", "fs/mod.rs", "packed/mod.rs", "store/mod.rs", "python/mod.rs"} <= set(RUST)
    assert "python/refspan/__init__.py" in PYTHON


@pytest.mark.parametrize("file", list(RUST))
def test_a_file_uses_its_own_and_lower_floors(file: str) -> None:
    assert floor_violations(file, RUST[file]) == []


@pytest.mark.parametrize("file", [file for file in FORMATS if file.endswith("/mod.rs")])
def test_a_format_floor_denies_what_could_panic(file: str) -> None:
    assert denied(RUST[file]) >= DENIED


@pytest.mark.parametrize("file", FORMATS)
def test_a_format_asks_neither_the_system_nor_the_clock(file: str) -> None:
    assert IMPURE.findall(without_tests(RUST[file])) == []


@pytest.mark.parametrize("file", list(RUST))
def test_unsafe_stays_where_it_is_explained(file: str) -> None:
    assert unsafe_violations(file, RUST[file]) == []


@pytest.mark.parametrize("file", list(RUST))
def test_the_core_has_no_way_to_panic_on_purpose(file: str) -> None:
    assert panics(RUST[file]) == []


@pytest.mark.parametrize("file", [*RUST, *PYTHON])
def test_files_stay_small(file: str) -> None:
    assert len({**RUST, **PYTHON}[file].splitlines()) <= MOST_LINES


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("model/oid.rs", "use crate::fs::open;"),
        ("model/oid.rs", "fn f() { crate::store::x() }"),
        ("fs/open.rs", "use crate::{model::Span, packed::Record};"),
        ("fs/open.rs", "use crate::{\n    model::{Span, Oid},\n    store,\n};"),
        ("packed/record.rs", "use crate::loose::x;"),
        ("packed/record.rs", "use crate::{fs, reftable as r};"),
        ("packed/record.rs", "use super::super::store::PackedFile;"),
        ("packed/record.rs", "use super::{Damage, super::python};"),
        ("packed/mod.rs", "use super::store;"),
        ("packed/mod.rs", "pub(crate) use super::{fs::Backing, store::x};"),
        ("packed/record.rs", "mod tests { use super::super::super::store; }"),
        ("packed/record.rs", "mod a {} fn f() { super::super::store::x() }"),
        ("packed/record.rs", "const QUOTE: u8 = b'\"'; use crate::store::x; const OTHER: u8 = b'\"';"),
        ("packed/record.rs", "fn f<'a>(x: &'a u8) -> &'a crate::store::X {}"),
        ("packed/record.rs", 'const RAW: &str = r#"a"b"#; use crate::store::x;'),
        ("store/mod.rs", "use crate as root;"),
        ("store/mod.rs", "use crate::*;"),
        ("store/packed_file.rs", "use super::super::*;"),
        ("store/packed_file.rs", '#[cfg(feature = "python")] use crate::python::x;'),
        ("network/mod.rs", ""),
    ],
)
def test_going_up_is_noticed(file: str, text: str) -> None:
    assert len(floor_violations(file, text)) == 1


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("store/mod.rs", "use crate::{fs::{self, Backing}, model, packed::{Cursor as C, Record}};"),
        ("packed/record.rs", "use super::{Damage, Reason}; pub(super) fn f() {} pub(crate) fn g() {}"),
        ("packed/record.rs", '// use crate::store;\n/* crate::store */ const X: &str = "crate::store";'),
        ("packed/record.rs", "mod tests { use super::super::store; }"),
        ("packed/mod.rs", "pub(in crate::packed) fn f() { super::model::x() }"),
        ("packed/a/b.rs", "use super::super::store;"),
        ("lib.rs", "use crate::python;"),
        ("python/mod.rs", "fn f() { pyo3::store::x(); let store = crate::store::y(); }"),
    ],
)
def test_staying_or_going_down_is_allowed(file: str, text: str) -> None:
    assert floor_violations(file, text) == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("model/oid.rs", "unsafe fn f() {}"),
        ("python/args.rs", "#[unsafe(no_mangle)] fn f() {}"),
        ("fs/backing.rs", "fn f() { unsafe { g() } }"),
        ("fs/backing.rs", "// SAFETY: sound.\n\nlet x = unsafe { g() };"),
        ("fs/backing.rs", "// Fine.\nlet x = unsafe { g() };"),
        ("fs/backing.rs", "let x = unsafe\n{ g() };"),
    ],
)
def test_stray_or_unexplained_unsafe_is_noticed(file: str, text: str) -> None:
    assert len(unsafe_violations(file, text)) == 1


def test_explained_unsafe_is_allowed() -> None:
    text = "#[expect(unsafe_code)] // unsafe\nfn f() {\n    // SAFETY: for two\n    // lines.\n    unsafe { g() }\n}"
    assert unsafe_violations("fs/backing.rs", text) == []


def test_panics_are_noticed_outside_tests_only() -> None:
    tests = '#[cfg(test)]\nmod tests { fn f() { x.unwrap(); if true { panic!("}") } } }'
    assert panics(tests) == []
    assert panics("#[expect(x)] fn f() { y.expect_scan(); z.unwrap_or(0); /* panic!() */ }") == []
    assert panics(tests + 'fn g() { x.unwrap(); y.expect("z"); panic!() }') == [".unwrap()", ".expect(", "panic!"]


def test_lints_and_system_calls_are_told_apart_from_what_looks_like_them() -> None:
    assert denied("//! #![deny(clippy::panic)]\n#![deny(clippy::a, clippy::b,)]\n#[deny(clippy::c)] mod x {}") == {
        "a",
        "b",
    }
    assert IMPURE.findall(code("use std::fs; std::time::Instant::now(); // std::env")) == ["std::fs", "std::time"]
    assert IMPURE.findall(code('use crate::fs; use std::io::ErrorKind; const X: &str = "std::fs";')) == []
