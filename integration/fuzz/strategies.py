"""Sequences as Hypothesis draws them: mostly what clients do that behave, with something wrong now and then."""

from hypothesis import strategies as st

from integration.fuzz.operations import ACTORS, Actor, Busy, Kind, Operation, Sequence, Timing, Twist

IDS = (Twist.NO_ID, Twist.UNKNOWN_ID, Twist.OTHERS_ID, Twist.FORMER_ID, Twist.HANDED_OUT_ID)
GENERATIONS = (Twist.OLDER, Twist.NEWER)
INSTANCES = (Twist.OTHERS_INSTANCE, Twist.UNKNOWN_INSTANCE, Twist.NO_INSTANCE, Twist.INSTANCE)
WRONG_IDS = (Twist.UNKNOWN_ID, *IDS)
WRONG_INSTANCES = (Twist.OTHERS_INSTANCE, Twist.UNKNOWN_INSTANCE, Twist.OTHERS_INSTANCE, Twist.NO_INSTANCE)
OTHER_GROUPS = (Twist.UNKNOWN_GROUP, Twist.SECOND_GROUP)
GROUPS = (Twist.NO_GROUP, *OTHER_GROUPS)
"""The first for what the group of the empty id is refused, as that is the same group for all sequences."""

TWISTS: dict[Kind, tuple[Twist, ...]] = {
    Kind.HEARTBEAT: (*IDS, *GENERATIONS, *INSTANCES, *GROUPS),
    Kind.JOIN: (
        *IDS,
        *INSTANCES,
        *GROUPS,
        Twist.OTHER_TYPE,
        Twist.NO_TYPE,
        Twist.OTHER_PROTOCOL,
        Twist.NO_PROTOCOL,
        *(Twist.MORE_PROTOCOLS, Twist.CHANGED, Twist.NO_ID, Twist.OTHERS_INSTANCE) * 3,
        Twist.SHORT_SESSION,
        Twist.LONG_SESSION,
        Twist.REASON,
    ),
    Kind.SYNC: (
        *IDS,
        *GENERATIONS,
        *INSTANCES,
        *GROUPS,
        Twist.OTHER_TYPE,
        Twist.NO_TYPE,
        Twist.OTHER_PROTOCOL,
        Twist.NO_PROTOCOL,
        *(Twist.NOTHING, Twist.PARTIAL, Twist.EXTRA, Twist.DUPLICATE, Twist.FOR_ALL) * 2,
    ),
    Kind.LEAVE: (*IDS, *INSTANCES, *GROUPS, *(Twist.BATCH, Twist.TWICE, Twist.BY_INSTANCE) * 2, Twist.NOTHING),
    Kind.COMMIT: (
        *IDS,
        *GENERATIONS,
        *INSTANCES,
        *OTHER_GROUPS,
        *(Twist.SIMPLE,) * 6,
        Twist.SEVERAL,
        Twist.TWICE,
        Twist.UNKNOWN_TOPIC,
        Twist.UNKNOWN_PARTITION,
        Twist.LONG_METADATA,
        Twist.NULL_METADATA,
        Twist.UNICODE,
        Twist.NEGATIVE,
        Twist.NO_TOPICS,
        Twist.RETENTION,
    ),
    Kind.FETCH: (
        *OTHER_GROUPS,
        *(Twist.ALL, Twist.SEVERAL) * 3,
        Twist.TWICE,
        Twist.UNKNOWN_TOPIC,
        Twist.UNKNOWN_PARTITION,
        Twist.NO_TOPICS,
        Twist.AS_MEMBER,
        Twist.STABLE,
    ),
    Kind.DESCRIBE: (*OTHER_GROUPS, Twist.SEVERAL, Twist.TWICE, Twist.OPERATIONS),
    Kind.LIST: (Twist.STATES, Twist.STATES, Twist.UNKNOWN_STATE, Twist.TYPES, Twist.UNKNOWN_TYPE),
    Kind.OFFSET_DELETE: (
        *OTHER_GROUPS,
        Twist.SEVERAL,
        Twist.TWICE,
        Twist.UNKNOWN_TOPIC,
        Twist.UNKNOWN_PARTITION,
        Twist.NO_TOPICS,
    ),
    Kind.DELETE_GROUPS: (*OTHER_GROUPS, Twist.SEVERAL, Twist.TWICE),
    Kind.FIND: (Twist.NO_GROUP, Twist.SEVERAL, Twist.TWICE, Twist.KEY_TYPE),
}
"""What can be unusual about each; the more often it stands there, the likelier it is."""

CHECKED: dict[Kind, tuple[Twist, ...]] = {
    Kind.HEARTBEAT: (Twist.UNKNOWN_ID, Twist.OLDER, Twist.OTHERS_INSTANCE, Twist.NO_GROUP),
    Kind.JOIN: (Twist.UNKNOWN_ID, Twist.OTHER_PROTOCOL, Twist.OTHERS_INSTANCE, Twist.SHORT_SESSION),
    Kind.SYNC: (Twist.UNKNOWN_ID, *(Twist.OLDER, Twist.OTHER_PROTOCOL, Twist.OTHER_TYPE) * 2, Twist.OTHERS_INSTANCE),
    Kind.COMMIT: (Twist.UNKNOWN_ID, Twist.OLDER, Twist.OTHERS_INSTANCE, Twist.LONG_METADATA, Twist.UNKNOWN_TOPIC),
}
"""What of each is checked. Which error comes first shows where two of them are wrong."""

WRONG: dict[Kind, tuple[tuple[Twist, ...], ...]] = {
    Kind.HEARTBEAT: (GROUPS, WRONG_IDS, WRONG_INSTANCES, GENERATIONS),
    Kind.JOIN: (
        (Twist.NO_GROUP, Twist.UNKNOWN_GROUP),
        WRONG_IDS,
        (Twist.OTHERS_INSTANCE,),
        (Twist.SHORT_SESSION, Twist.LONG_SESSION),
        (Twist.OTHER_TYPE, Twist.NO_TYPE, Twist.OTHER_PROTOCOL, Twist.NO_PROTOCOL),
    ),
    Kind.SYNC: (
        GROUPS,
        WRONG_IDS,
        WRONG_INSTANCES,
        GENERATIONS,
        (Twist.OTHER_TYPE,),
        (Twist.OTHER_PROTOCOL,),
        (Twist.NO_TYPE, Twist.NO_PROTOCOL),
    ),
    Kind.LEAVE: (GROUPS, WRONG_IDS, WRONG_INSTANCES),
    Kind.COMMIT: (
        OTHER_GROUPS,
        WRONG_IDS,
        WRONG_INSTANCES,
        (*GENERATIONS, Twist.NO_GENERATION),
        (Twist.UNKNOWN_TOPIC, Twist.UNKNOWN_PARTITION, Twist.NO_TOPICS),
        (Twist.LONG_METADATA,),
    ),
}
"""What can be wrong about each that is checked, those together of which a request has one at most. A JoinGroup has
nothing with which it would bring in a member that no actor is, for whom the others would wait ever after."""

WEIGHTS = {
    Kind.ADVANCE: 14,
    Kind.ROUND: 7,
    Kind.MOST: 5,
    Kind.RESTART: 3,
    Kind.HEARTBEAT: 4,
    Kind.JOIN: 9,
    Kind.SYNC: 6,
    Kind.LEAVE: 4,
    Kind.COMMIT: 7,
    Kind.FETCH: 3,
    Kind.DESCRIBE: 4,
    Kind.LIST: 1,
    Kind.OFFSET_DELETE: 2,
    Kind.DELETE_GROUPS: 1,
    Kind.FIND: 1,
    Kind.DROP: 1,
}
MOST_WAYS = 3
"""Of how many things two are wrong at a time where time counts: it is three requests then."""
KINDS = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]
TIMED_KINDS = [*KINDS, *[Kind.WAIT] * 7, *[Kind.PAUSE] * 4]
NEW_CONNECTION = [Busy.ASIDE] * 6 + [Busy.PIPELINE] * 3 + [Busy.REPLACE] * 2 + [Busy.SECOND]
AGES = [0] * 16 + list(range(1, 10))

actors = st.builds(
    Actor,
    static=st.sampled_from([False, False, False, True, True]),
    age=st.sampled_from(AGES),
    protocols=st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4]),
    short=st.sampled_from([True, True, True, False]),
)


@st.composite
def wrong(draw: st.DrawFn, most: int) -> Operation:
    """Requests that are each wrong in two ways, out of up to `most` that are drawn."""
    kind = draw(st.sampled_from(list(WRONG)))
    ways = draw(st.lists(st.sampled_from(WRONG[kind]), min_size=2, max_size=most, unique=True))
    twists = tuple(draw(st.sampled_from(way)) for way in ways)
    age, number = draw(st.sampled_from(AGES)), draw(st.integers(0, 5))
    return Operation(kind, draw(st.integers(0, ACTORS - 1)), twists, age=age, number=number, by_twos=True)


@st.composite
def operations(draw: st.DrawFn, kinds: list[Kind]) -> Operation:
    """One operation; a third of those that can be have something unusual."""
    if draw(st.integers(0, 8)) == 8:
        return draw(wrong(len(WRONG[Kind.SYNC]) if kinds is KINDS else MOST_WAYS))
    kind = draw(st.sampled_from(kinds))
    if kind in {Kind.ROUND, Kind.PAUSE, Kind.WAIT}:
        return Operation(kind)
    actor = draw(st.integers(0, ACTORS - 1))
    if kind in {Kind.ADVANCE, Kind.MOST, Kind.DROP}:
        return Operation(kind, actor)
    number = draw(st.integers(0, 5))
    if kind is Kind.RESTART:
        return Operation(kind, actor, age=draw(st.integers(0, 5)), number=number)
    twists: tuple[Twist, ...] = ()
    # A JoinGroup and a LeaveGroup are unusual in themselves: ADVANCE makes the usual ones.
    if draw(st.integers(0, 5)) > (2 if kind in {Kind.JOIN, Kind.SYNC, Kind.COMMIT, Kind.FETCH} else 3):
        several = draw(st.integers(0, 5))
        among = CHECKED[kind] if several > 2 and kind in CHECKED else TWISTS[kind]
        twists = tuple(draw(st.sampled_from(among)) for _ in range(2 if several > 1 else 1))
    busy = draw(st.sampled_from(NEW_CONNECTION))
    age = draw(st.sampled_from(AGES))
    return Operation(kind, actor, twists, busy, age, number)


@st.composite
def sequences(draw: st.DrawFn, *, waits: bool = False) -> Sequence:
    """A sequence of up to 30 operations. `waits` is for brokers at which a new group waits for more members."""
    timing = draw(st.sampled_from([Timing.NONE] * 6 + [Timing.SESSION] * 3 + [Timing.REBALANCE] * 2))
    if waits and timing is Timing.REBALANCE:
        timing = Timing.NONE
    who = tuple(draw(actors) for _ in range(ACTORS))
    kinds = TIMED_KINDS if waits or timing is not Timing.NONE else KINDS
    # Drawn, so that most are long and yet the shortest is what shrinking leads to.
    least = draw(st.sampled_from([0, 12, 14, 16, 18, 20, 22, 24]))
    done = draw(st.lists(operations(kinds), min_size=least, max_size=30))
    kind = draw(st.sampled_from(["consumer"] * 7 + ["connect"]))
    # Others wait meanwhile, so it must not take long.
    empty = draw(st.integers(0, 39)) == 39 and kinds is KINDS
    return Sequence(who, tuple(done), timing, kind, empty=empty)
