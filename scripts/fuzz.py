#!/usr/bin/env python3
"""Asks kcoord and Apache Kafka the same, at random, and tells where they answer differently.

    python scripts/fuzz.py --sequences 2000 --seed 1
    python scripts/fuzz.py --sequences 50 --against 127.0.0.1:9092 --profile "at once"

Each difference is shown by the smallest sequence of requests that was found for it, with what both answered. The seed
draws the same sequences again (with the same Hypothesis). Kafka is started by scripts/reference.py, unless there is a
broker to ask instead (`--against`); it must have the settings of the profile, which are printed. `--subject` asks
another broker in the place of this checkout's kcoord. See integration/fuzz.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).parent.parent))

from integration.fuzz.brokers import PROFILES, Profile, kcoord
from integration.fuzz.campaign import Campaign, Drawn
from integration.fuzz.playing import Played, texts
from integration.fuzz.shrinking import shrunk
from scripts.ending import in_order
from scripts.reference import Unusable, started

SHOWN = 200
"""How much of a difference that did not show again is printed; `--keep` has all of it."""


def positive(text: str) -> int:
    """Read a number from 1 on. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a number from 1, not {text}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 if nothing differs, 1 if something does, 2 if Kafka cannot be run."""
    wanted = options().parse_args(arguments)
    profiles = [one for one in PROFILES if wanted.profile in {None, one.name}]
    seed = random.SystemRandom().randrange(2**32) if wanted.seed is None else wanted.seed
    print(f"seed {seed}", flush=True)
    differences = 0
    try:
        for profile in profiles:
            count = max(1, wanted.sequences * profile.share // sum(one.share for one in profiles))
            differences += fuzz(profile, count, seed, wanted)
    except Unusable as why:
        print(why, file=sys.stderr)
        return 2
    print(f"\n{differences} differences; seed {seed}")
    return 1 if differences else 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=positive, default=2000, help="how many, of all profiles together")
    parser.add_argument("--seed", type=int, help="what they are drawn from; one is made up and printed by default")
    parser.add_argument("--against", metavar="HOST:PORT", help="a broker to be right instead of Apache Kafka")
    parser.add_argument("--subject", metavar="HOST:PORT", help="a broker to be asked instead of this kcoord")
    parser.add_argument("--profile", choices=[one.name for one in PROFILES], help="only with these settings")
    parser.add_argument("--shrink", type=float, default=120, help="seconds to make one difference small; 0 for none")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="where plays go that differed the first time")
    return parser


def fuzz(profile: Profile, count: int, seed: int, wanted: argparse.Namespace) -> int:
    """Play that many sequences with these settings; return how many sorts of differences there are."""
    told = " ".join(f"--override {key}={value}" for key, value in profile.settings.items())
    print(f"\n{count} sequences, {profile.name}: {told}", flush=True)
    with (
        reference(profile, wanted.against) as right,
        subject(profile, wanted.subject) as asked,
    ):
        drawn = Drawn(seed, count, waits=profile.delay_ms > 0)
        campaign = Campaign(drawn, profile, (right, ("kcoord", asked)))
        start = time.monotonic()
        trio.run(campaign.run)
        print(f"played in {time.monotonic() - start:.0f} s; {campaign.unfinished} not to their end")
        print("\n".join(campaign.tally.lines()), flush=True)
        trio.run(campaign.confirm)
        print(
            f"{campaign.candidates} differed; of {campaign.tried}, played again, {campaign.unconfirmed} did not again"
        )
        for number, played in campaign.chance.items():
            print(f"by chance   {number}, {right[0]} differs from itself: {sort_of(played)[:SHOWN]}")
        for sort, times in campaign.vanished().most_common():
            print(f"not again   {times} x {sort[:SHOWN]}")
        if wanted.keep is not None:
            keep(campaign, wanted.keep / profile.name.replace(" ", "-"))
        for sort, played in campaign.alike().items():
            print(f"\nmaking small: {sort}", flush=True)
            small = shrunk(campaign, played[0], wanted.shrink) if wanted.shrink else played[0]
            number = next(number for number, one in campaign.confirmed.items() if one is played[0])
            print(f"\nDIFFERENCE in {len(played)} of {count} sequences, first in number {number}: {sort}")
            print("\n".join(texts(small)), flush=True)
        return len(campaign.alike())


def keep(campaign: Campaign, directory: Path) -> None:
    """Write each play of a sequence that differed the first time to a file."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, played in campaign.kept():
        directory.joinpath(f"{name}.txt").write_text("\n".join([sort_of(played), *texts(played)]) + "\n")


def sort_of(played: Played) -> str:
    """What came of a play, in a line."""
    return played.difference.sort if played.difference else played.cut or "alike"


@contextmanager
def reference(profile: Profile, address: str | None) -> Iterator[tuple[str, str]]:
    """Run the broker that is right; give its name and address. Raises Unusable."""
    if address is not None:
        yield "reference", address
        return
    with started("kafka", overrides=profile.settings) as running:
        yield "Kafka", running.bootstrap


@contextmanager
def subject(profile: Profile, address: str | None) -> Iterator[str]:
    """Run the broker that is asked; give its address."""
    if address is not None:
        yield address
        return
    with tempfile.TemporaryDirectory() as directory, kcoord(profile.settings, Path(directory) / "log") as running:
        yield running


if __name__ == "__main__":
    with in_order():
        sys.exit(main())
