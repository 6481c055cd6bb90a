"""Whatever is given for settings: they are refused in one sentence, or the server can be built and send them."""

from contextlib import suppress
from dataclasses import replace

import trio
from hypothesis import given
from hypothesis import strategies as st

from kcoord.broker import Broker
from kcoord.clock import Clock
from kcoord.config import SETTINGS, Config, ConfigError
from kcoord.store.memory import MemoryStore
from kcoord.store.opening import UnknownStore, open_store
from wire.codec import encode
from wire.messages import MetadataResponse, MetadataResponseBroker

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=[])),
    st.text(st.sampled_from("0123456789+-_. \t\0٣"), max_size=25),
    st.text(st.sampled_from("abAB019.:/[]%,-_ \0\n\udcffü"), max_size=40),
    st.from_regex(r"([A-C]{1,2}://)?(\[[0-9a-f:.%]{0,9}\]|[a-z0-9._-]{0,70}):[0-9]{1,6}", fullmatch=True),
    st.lists(st.sampled_from(["A://h:1", "B://h:1", "b://[::1]:0", "h:1", "C://:2", ""]), max_size=4).map(",".join),
    st.integers(1, 40_000).map(lambda size: "ü" * size),
    st.sampled_from(["true", "FALSE", "memory:", "x://[", "//\u2100"]),
)
VALUES = st.one_of(
    TEXTS,
    st.integers(),
    st.sampled_from([10**5000, -(10**5000)]),
    st.booleans(),
    st.floats(),
    st.dates(),
    st.lists(TEXTS, max_size=3),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(), st.integers(), max_size=2),
)
KEYS = st.one_of(st.sampled_from(sorted(SETTINGS)), TEXTS)
TOPICS = st.one_of(TEXTS, st.from_regex(r"[a-c._-]{1,4}", fullmatch=True), st.sampled_from(["__consumer.offsets"]))


async def built(config):
    return Broker(config, Clock(), MemoryStore())


@given(st.dictionaries(KEYS, VALUES, max_size=3), st.dictionaries(TOPICS, VALUES, max_size=3))
def test_only_a_sentence_comes_out_or_a_server(settings, topics):
    refused = ""
    try:
        config = Config.from_settings(settings, topics)
    except ConfigError as error:
        refused = str(error)
        return
    finally:
        assert refused.isprintable()
        assert len(refused) < 1500
    with suppress(UnknownStore):
        open_store(config.store)
    # Of one partition, to be quick.
    broker = trio.run(built, replace(config, offsets_topic_num_partitions=1, topics=dict.fromkeys(config.topics, 1)))
    for listener in (*config.listeners, *config.advertised_listeners):
        host = listener.address.host
        assert host.encode("idna") == host.encode("ascii")
        first = broker.nodes.first
        node = MetadataResponseBroker(node_id=first.id, host=host, port=listener.address.port, rack=first.rack)
        for version in (2, 12):
            encode(MetadataResponse(brokers=[node], cluster_id=broker.cluster_id), version)
    assert config.listeners


@given(st.sampled_from(sorted(SETTINGS)), VALUES)
def test_what_is_read_is_read_again_from_how_it_is_shown(key, value):
    try:
        config = Config.from_settings({key: value})
    except ConfigError:
        return
    setting = SETTINGS[key]
    read = getattr(config, setting.attribute)
    shown = ",".join(map(str, read)) if isinstance(read, tuple) else str(read)
    assert setting.read(key, shown) == read
