"""The repositories that analytics.ipynb looks at: three years of a team's refs, made by git, the same each time."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

TODAY = datetime(2026, 1, 12, tzinfo=UTC)
DAYS = 3 * 365
_COMMITS = 400


class Person(NamedTuple):
    """Who pushes, their time zone in hours, and at which hours of the day: earliest, latest, most often."""

    name: str
    zone: float
    hours: tuple[float, float, float]


PEOPLE = (
    Person("Asha Rao", 5.5, (8, 20, 11)),
    Person("Ben Okafor", 1, (7, 17, 9)),
    Person("Carla Diaz", -3, (9, 23, 16)),
    Person("Noah Kim", 9, (13, 24, 22)),
)
BOT = Person("release-bot", 0, (2, 3, 2.2))


class Push(NamedTuple):
    """A branch that is set to a commit, or a tag that is made there."""

    when: datetime
    who: Person
    ref: str
    is_annotated: bool = False


def build(path: Path) -> Path:
    """Make a bare repository in the files format: branches and tags with reflogs, and refs without."""
    _git("init", "-q", "--bare", "--ref-format=files", "--initial-branch=main", path)
    commits = _commits(path)
    rng = random.Random(6)
    without_log = [
        *(f"refs/heads/archive/2019-{month:02}" for month in range(1, 13)),
        *(f"refs/pull/{number}/head" for number in range(1, 1201)),
        *(f"refs/remotes/{remote}/topic-{number}" for remote in ("origin", "fork") for number in range(1, 231)),
        *(f"refs/remotes/{remote}/main" for remote in ("origin", "fork")),
        "refs/notes/commits",
    ]
    _update(path, *(f"create {name} {rng.choice(commits)}" for name in without_log))
    _git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main", at=path)
    _git("config", "core.logAllRefUpdates", "always", at=path)
    pushes = sorted(_pushes(rng))
    for number, push in enumerate(pushes):
        # The longer ago, the older the commit.
        _make(path, push, commits[number * len(commits) // len(pushes)])
        if number == len(pushes) * 9 // 10:
            _git("pack-refs", "--all", at=path)
    return path


def mirror(source: Path, path: Path) -> Path:
    """Make a bare repository with the refs of `source` in the reftable format, in one table, each with a log entry."""
    _git("init", "-q", "--bare", "--ref-format=reftable", "--initial-branch=main", path)
    objects = os.path.relpath(source / "objects", path / "objects")
    (path / "objects/info/alternates").write_text(f"{objects}\n")
    _git("config", "core.logAllRefUpdates", "always", at=path)
    refs = _git("for-each-ref", "--format=create %(refname) %(objectname)", at=source).splitlines()
    _update(path, *refs, who=BOT, when=TODAY)
    _git("pack-refs", at=path)
    return path


def commit(path: Path, number: int) -> None:
    """Set some branches of a mirror in one transaction: most times one, every seventh time forty."""
    rng = random.Random(number)
    names = _git("for-each-ref", "--format=%(refname)", "refs/heads/feature", at=path).splitlines()
    oids = _git("rev-list", "refs/heads/main", at=path).splitlines()
    moved = rng.sample(names, 40 if number % 7 == 6 else 1)
    when = TODAY + timedelta(hours=number)
    _update(path, *(f"update {name} {rng.choice(oids)}" for name in moved), who=rng.choice(PEOPLE), when=when)


def _pushes(rng: random.Random) -> Iterator[Push]:
    for day in range(DAYS, 0, -1):
        if rng.random() < 0.15:
            yield _push(rng, day, rng.choice(PEOPLE), "refs/heads/main")
    for number in range(300):
        kind, who = rng.choice(("feature", "feature", "fix", "experiment")), rng.choice(PEOPLE)
        # More branches were begun lately than long ago, and none is pushed to for long.
        day = int(DAYS * rng.random() ** 1.8) + 1
        while day > 0:
            yield _push(rng, day, who, f"refs/heads/{kind}/{number}")
            day = day - rng.randint(1, 12) if rng.random() < 0.7 else 0
    day, number = DAYS, 0
    while day > 0:
        yield _push(rng, day, rng.choice(PEOPLE), f"refs/tags/v{number // 10}.{number % 10}", is_annotated=True)
        for candidate in range(1, rng.randint(1, 4)):
            yield _push(rng, day + 2 * candidate, BOT, f"refs/tags/v{number // 10}.{number % 10}-rc{candidate}")
        # Releases come faster as the project grows.
        number, day = number + 1, day - rng.randint(10, 20 + day // 20)


def _push(rng: random.Random, day: int, who: Person, ref: str, *, is_annotated: bool = False) -> Push:
    """A push so many days ago, at an hour of that person's; people do not work at weekends."""
    date = TODAY - timedelta(days=day)
    while who is not BOT and date.weekday() > 4:
        date -= timedelta(days=1)
    when = date + timedelta(hours=rng.triangular(*who.hours) - who.zone)
    return Push(when, who, ref, is_annotated)


def _make(path: Path, push: Push, oid: str) -> None:
    if push.is_annotated:
        name = push.ref.removeprefix("refs/tags/")
        _git("tag", "-a", "-m", name, name, oid, at=path, who=push.who, when=push.when)
    else:
        _git("update-ref", "-m", "push", push.ref, oid, at=path, who=push.who, when=push.when)


def _commits(path: Path) -> list[str]:
    """A history of empty commits, a ref to the last of which is gone again; their object ids, oldest first."""
    feed = "".join(
        f"commit refs/seed\nmark :{mark}\ncommitter {BOT.name} <bot@example.com> {1_600_000_000 + mark} +0000\ndata 0\n"
        for mark in range(1, _COMMITS + 1)
    )
    _git("fast-import", "--quiet", at=path, text=feed)
    oids = _git("rev-list", "--reverse", "refs/seed", at=path).splitlines()
    _update(path, "delete refs/seed")
    return oids


def _update(path: Path, *commands: str, who: Person = BOT, when: datetime = TODAY) -> None:
    """One transaction."""
    _git("update-ref", "--stdin", "-m", "push", at=path, who=who, when=when, text="".join(f"{c}\n" for c in commands))


def _git(*args: str | Path, at: Path | None = None, who: Person = BOT, when: datetime = TODAY, text: str = "") -> str:
    """What git prints. It sees no configuration but the repository's, and that person and time."""
    sign, minutes = "-" if who.zone < 0 else "+", int(abs(who.zone) * 60)
    date = f"{int(when.timestamp())} {sign}{minutes // 60:02}{minutes % 60:02}"
    email = f"{who.name.split()[0].lower()}@example.com"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": who.name, f"GIT_{role}_EMAIL": email, f"GIT_{role}_DATE": date}
    where = [] if at is None else [f"--git-dir={at}"]
    done = subprocess.run(
        ["git", *where, *args], env=environment, input=text, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout
