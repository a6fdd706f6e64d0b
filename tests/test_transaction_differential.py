"""Generated transactions, made by refspan in one repository and by git in its twin: the same files come of them.

Where git 2.47.3 is not the measure:

- A new value is checked before what the ref holds, as git does since 2.55 (CONTRACT.md, 10). For an edit with both
  faults git 2.47.3 tells of the other one.
- git stops at the first fault that it meets, and looks for packed refs in the way last; refspan tells of the first edit
  in the order given. So where they differ, git is asked about that edit alone, and about those before it.
- git leaves empty directories behind: see `Twins.level_folders`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import pytest
from differential_support import Edit, Twins, build_twins, category, value_of
from hypothesis import given, settings
from hypothesis import strategies as st
from refspan import ANY, Transaction
from refspan.errors import (
    ConflictError,
    Error,
    InvalidValueError,
    RefExistsError,
    RefNotFoundError,
    StaleError,
    TransactionStateError,
)
from store_support import LATIN1
from support import HASHES, Hash

NAMES = (
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/a/b/c",
    "refs/heads/a-",
    "refs/heads/a.b",
    "refs/heads/a0",
    "refs/heads/main",
    "refs/heads/größe",
    "refs/heads/größe/\U0001f600",
    LATIN1,
    "refs/tags/t",
    "refs/tags/t/u",
    "refs/x/y/z",
    "refs/x/y",
    "refs/bisect/bad",
    "ORIG_HEAD",
)
OWN = NAMES[-2:]
COMMITS = ("first", "second", "third")
OTHERS = ("tag", "nested", "tag-of-blob", "blob", "tree")
SHORT = 100
REFUSALS = {ConflictError, InvalidValueError, RefExistsError, RefNotFoundError, StaleError, TransactionStateError}


class Wish(NamedTuple):
    """An edit whose values depend on what the ref holds when it is made."""

    verb: Literal["set", "create", "update", "delete", "verify"]
    name: str
    new: str
    old: Literal["any", "none", "right", "wrong"]


class Batch(NamedTuple):
    wishes: list[Wish]


class Pack(NamedTuple):
    args: tuple[str, ...]


class Folder(NamedTuple):
    name: str
    junk: bool


Script = list[Batch | Pack | Folder]
Outcomes = Iterable[type[Error] | None]


@st.composite
def some_wish(draw: st.DrawFn, names: tuple[str, ...]) -> Wish:
    """Mostly one that is no fault by itself: of several edits, one fault refuses them all."""
    name = draw(st.sampled_from(names))
    fit = COMMITS if name.startswith("refs/heads/") else COMMITS + OTHERS
    new = draw(st.sampled_from((*fit * 4, "tag", "missing")))
    verb = draw(st.sampled_from(("set", "set", "set", "set", "update", "delete", "delete", "verify", "create")))
    old = draw(st.sampled_from(("right", "right", "right", "any", "any", "right", "none", "wrong")))
    return Wish(verb, name, new, old)


@st.composite
def some_batch(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Batch:
    wishes = draw(st.lists(some_wish(names), min_size=1, max_size=6, unique_by=lambda wish: wish.name))
    if draw(st.integers(0, 19)) == 19:
        wishes.append(wishes[0]._replace(verb="update", new="first", old="any"))
    return Batch(wishes)


some_pack = st.sampled_from((("--all",), ("--all", "--no-prune"))).map(Pack)
# One in five holds a lock that nobody will remove.
some_folder = st.builds(
    Folder, st.sampled_from([*NAMES[:3], "refs/x/y/z/q", "refs/tags/t"]), st.sampled_from((False,) * 4 + (True,))
)
some_script = st.lists(st.one_of(*[some_batch()] * 3, some_pack, some_folder), min_size=6, max_size=16)
# Refs of one worktree's own are never packed. Without any ref git writes a file without records, we none: there is one.
some_packed_script = st.lists(
    st.one_of(*[some_batch(tuple(name for name in NAMES if name not in OWN))] * 4, some_folder), min_size=6, max_size=16
).map(lambda steps: [Batch([Wish("create", "refs/base", "nested", "none")]), *steps])


@pytest.fixture(scope="module", name="twins")
def twin_repositories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Hash, Twins]]:
    twins = {hash_: build_twins(tmp_path_factory.mktemp(f"twins-{hash_}"), hash_) for hash_ in HASHES}
    yield twins
    for pair in twins.values():
        pair.session.stop()


def edit_of(wish: Wish, twins: Twins) -> Edit:
    """The edit that a wish is, as things are."""
    held = value_of(twins.gits.gitdir, wish.name)
    new = twins.objects[wish.new]
    first, second, *_ = twins.objects.values()
    right = held if wish.old != "wrong" else second if held == first else first
    verb = wish.verb
    if verb == "set":
        verb = "create" if held is None else "update"
    match verb:
        case "create":
            return verb, wish.name, new, None
        case "update":
            return verb, wish.name, new, {"any": ANY, "none": None}.get(wish.old, right)
        case "delete":
            return verb, wish.name, None, ANY if wish.old in ("any", "none") or right is None else right
        case "verify":
            return verb, wish.name, None, None if wish.old == "none" else right


def is_unfit(edit: Edit, twins: Twins) -> bool:
    """Whether the ref cannot be set to that: no object, or on a branch no commit."""
    _, name, new, _ = edit
    commits = [twins.objects[key] for key in COMMITS]
    return (
        new is not None and new not in commits and (name.startswith("refs/heads/") or new == twins.objects["missing"])
    )


def related(edits: list[Edit], *names: str) -> list[Edit]:
    """The edits of these names, in that order."""
    return [edit for name in names for edit in edits if edit[1] == name]


def check_refusal(error: Error, edits: list[Edit], twins: Twins) -> None:
    """The error tells of the first edit that git refuses, and of what git refuses that for."""
    name = vars(error)["name"]
    (at,) = (at for at, edit in enumerate(edits) if edit[1] == name)
    assert twins.refusal(edits[:at]) is None, "an edit before it would be refused"
    others = related(edits, getattr(error, "other", ""))
    assert is_reason(error, edits[at], [[], others], twins)


def is_reason(error: Error, edit: Edit, beside: Iterable[list[Edit]], twins: Twins) -> bool:
    """Whether git refuses the edit for that, beside one of these lists of others."""
    if is_unfit(edit, twins) or isinstance(error, InvalidValueError):
        return is_unfit(edit, twins) and isinstance(error, InvalidValueError)
    return any(twins.refusal([edit, *others]) is type(error) for others in beside)


def attempt(transaction: Transaction, edits: list[Edit]) -> Error | None:
    """Make the edits with refspan; why not, if they are refused."""
    try:
        with transaction:
            transaction.apply(edits)
    except Error as error:
        assert transaction.state == "aborted"
        return error
    assert transaction.state == "committed"
    return None


def transact(twins: Twins, edits: list[Edit], into: Literal["auto", "packed"] = "auto") -> type[Error] | None:
    """Make the edits in both; the same comes of it. Why they are refused, if they are."""
    kept = twins.kept_if_refused()
    refused = attempt(Transaction(twins.store, into=into), edits)
    told = twins.session.transact(edits)
    assert (refused is None) == (told is None), (refused, told)
    if into == "packed" and told is None:
        twins.session.stop()
        twins.gits.git("pack-refs", "--all")
    twins.compare(kept if refused else frozenset())
    if refused is None or told is None:
        return None
    if type(refused) is not category(told):
        check_refusal(refused, edits, twins)
    return type(refused)


def transact_singly(twins: Twins, edits: list[Edit]) -> list[type[Error]]:
    """Make what of the edits is not refused: git makes just those too, and none of the others beside them."""
    kept = twins.kept_if_refused()
    transaction = Transaction(twins.store, atomic=False)
    refused = attempt(transaction, edits)
    if refused is not None:
        assert type(refused) is twins.refusal(edits) is TransactionStateError, "only a ref edited twice stops all"
        twins.compare(kept)
        return [TransactionStateError]
    rejected = [(edit.verb, edit.name, edit.new, edit.old) for edit, _ in transaction.rejected]
    made = [edit for edit in edits if edit not in rejected]
    assert [edit for edit in edits if edit not in made] == rejected, "in the order given"
    reasons = [reason for _, reason in transaction.rejected]
    for edit, reason in zip(rejected, reasons, strict=True):
        assert isinstance(reason, Error)
        assert is_reason(reason, edit, [made], twins)
    assert twins.session.transact(made) is None
    twins.compare(kept)
    return [type(reason) for reason in reasons]


def run(
    twins: dict[Hash, Twins],
    scripts: st.SearchStrategy[Script],
    make: Callable[[Twins, list[Edit]], Outcomes],
    count: int,
) -> Counter[type[Error] | None]:
    """Play so many scripts on twins without refs; what came of the transactions."""
    seen: Counter[type[Error] | None] = Counter()

    # The short run is the same each time.
    @settings(max_examples=count, derandomize=count < SHORT)
    @given(script=scripts, hash_=st.sampled_from(HASHES), z=st.booleans())
    def play(script: Script, hash_: Hash, z: bool) -> None:
        pair = twins[hash_]
        pair.session.stop()
        pair.reset(z=z)
        for step in script:
            match step:
                case Batch(wishes):
                    seen.update(make(pair, [edit_of(wish, pair) for wish in wishes]))
                case Pack(args):
                    pair.pack(*args)
                case Folder(name, junk):
                    pair.folder(name, junk=junk)
        pair.compare_listings()

    play()
    print(seen, seen.total())
    return seen


@pytest.mark.slow
def test_generated_transactions_do_what_gits_do(twins: dict[Hash, Twins], full: bool) -> None:
    seen = run(twins, some_script, lambda pair, edits: [transact(pair, edits)], 1000 if full else 70)
    assert seen.keys() == {*REFUSALS, None}
    assert seen[None] > seen.total() / 4


@pytest.mark.slow
def test_generated_transactions_make_the_edits_that_git_would_not_refuse(twins: dict[Hash, Twins], full: bool) -> None:
    seen = run(twins, some_script, transact_singly, 500 if full else 40)
    assert seen.keys() == REFUSALS


@pytest.mark.slow
def test_generated_batches_leave_what_gits_leave_when_they_are_packed(twins: dict[Hash, Twins], full: bool) -> None:
    """Git makes the edits, then packs all refs. There are no loose ones then, as refspan makes none."""
    seen = run(twins, some_packed_script, lambda pair, edits: [transact(pair, edits, "packed")], 500 if full else 40)
    assert seen.keys() == {*REFUSALS, None}
