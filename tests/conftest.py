"""Options and fixtures of the whole suite: how long it runs, git shut off from its surroundings, repositories."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from reftable_support import StackBuilder, build_stack
from support import GIT_ENVIRONMENT, Builder, Hash, Ref, build_repository, write_packed

# Machines differ too much in speed for an example to have a deadline.
settings.register_profile("refspan", deadline=None)
settings.load_profile("refspan")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the slow tests at full length, over a million refs")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the slow tests run at full length."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="session")
def many(full: bool) -> int:
    """As many refs as a large test takes."""
    return 1_000_000 if full else 20_000


@pytest.fixture(scope="session", autouse=True)
def isolated_git() -> Iterator[None]:
    """Git sees no configuration, repository, identity or clock but ours."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(name)
        for name, value in GIT_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> None:
    """Ctrl-C is heard also where a shell started the tests in the background: the processes they start inherit that."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Repositories with that many refs and that hash, each built once. Not to be changed."""

    @functools.cache
    def build(count: int, hash_: Hash = "sha1") -> Path:
        return build_repository(tmp_path_factory.mktemp(f"{hash_}-{count}"), count, hash_)

    return build


@pytest.fixture(scope="session")
def stacked(repository: Builder, tmp_path_factory: pytest.TempPathFactory) -> StackBuilder:
    """The same repositories with their refs in one reftable, each built once. Not to be changed."""

    @functools.cache
    def build(
        count: int, hash_: Hash = "sha1", *, block_size: int = 4096, interval: int = 16, objects: bool = True
    ) -> Path:
        repo = tmp_path_factory.mktemp(f"stack-{hash_}-{count}") / "repo.git"
        return build_stack(repository(count, hash_), repo, block_size=block_size, interval=interval, objects=objects)

    return build


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path for the small files of property tests, written anew for each example."""
    return tmp_path_factory.mktemp("scratch") / "packed-refs"


@pytest.fixture(scope="session")
def large_file(tmp_path_factory: pytest.TempPathFactory, full: bool) -> Path:
    """A packed-refs file of tens of megabytes. Its objects exist nowhere."""
    count = 1_000_000 if full else 500_000
    refs = (Ref(b"refs/pull/%07d/head" % i, b"%040x" % (i + 1), None) for i in range(count))
    return write_packed(tmp_path_factory.mktemp("large") / "packed-refs", refs)
