"""The table of releases, and how releases and masks are named."""

import pytest

from kcoord.apis import APIS, BY_KEY
from kcoord.apis.served import served
from kcoord.config import Config, ConfigError
from kcoord.core.behaviour import LATEST
from kcoord.releases.masks import cut, served_versions
from kcoord.releases.ranges import ADVERTISED, KEYS, NAMES
from kcoord.releases.release import RELEASES, release_name
from kcoord.testing.defaults import config_for
from wire.schema import Versions


def offered(**settings):
    found = served(Config.from_settings({name.replace("_", "."): value for name, value in settings.items()}))
    return {api.name: (api.offered.lowest, api.offered.highest) for api in found.values()}


def test_there_is_a_row_for_every_api():
    assert {api.name: api.key for api in APIS} == KEYS


@pytest.mark.parametrize("name", NAMES)
def test_no_release_has_less_than_the_one_before(name):
    before = ADVERTISED[NAMES[max(NAMES.index(name) - 1, 0)]]
    assert ADVERTISED[name].keys() >= before.keys()
    assert all(ADVERTISED[name][key].highest >= versions.highest for key, versions in before.items())


@pytest.mark.parametrize(
    ("release", "api", "versions"),
    [
        ("0.11", "JoinGroup", (0, 2)),
        ("2.1", "JoinGroup", (0, 3)),
        ("2.2", "JoinGroup", (0, 4)),
        ("2.8", "Fetch", (0, 12)),
        ("3.9", "FindCoordinator", (0, 6)),
        ("4.0", "OffsetCommit", (2, 9)),
        ("4.3", "ApiVersions", (0, 4)),
        ("4.4", "ApiVersions", (0, 5)),
        ("4.3", "DeleteGroups", (0, 2)),
        ("4.4", "DeleteGroups", (0, 3)),
    ],
)
def test_what_releases_advertise(release, api, versions):
    assert RELEASES[release].ranges[KEYS[api]] == Versions(*versions)


def test_the_newest_has_no_switch_set_and_the_oldest_most():
    assert RELEASES["4.3"].behaviour == RELEASES["4.4"].behaviour == LATEST
    behaviours = [RELEASES[name].behaviour for name in NAMES]
    differing = [sum(getattr(one, field) != getattr(LATEST, field) for field in LATEST.__slots__) for one in behaviours]
    assert differing == sorted(differing, reverse=True)
    assert differing[0] == len(LATEST.__slots__)


@pytest.mark.parametrize(
    ("text", "name"),
    [("2.8", "2.8"), ("4", "4.4"), ("3", "3.9"), ("2", "2.8"), ("3.9.1", "3.9"), ("0.11.0.3", "0.11"), ("0", "0.11")],
)
def test_how_a_release_is_named(text, name):
    assert release_name(text) == name
    assert Config.from_settings({"as.version": text}).as_version == name


@pytest.mark.parametrize("text", ["", "5", "2.9", "0.10", "v3", "3.", "3.9-rc1", "latest"])
def test_an_unknown_release_is_one_sentence_with_the_known_ones(text):
    with pytest.raises(ConfigError, match=r"^as.version is '.*': it must be a release .*: 0\.11, 1\.0, .*, 4\.4$"):
        Config.from_settings({"as.version": text})


def test_without_release_and_mask_everything_is_served():
    assert served(Config()) is BY_KEY


def test_all_that_the_newest_release_offers_is_offered():
    newest = {name: RELEASES[NAMES[-1]].ranges[key] for name, key in KEYS.items()}
    assert offered() == {name: (versions.lowest, versions.highest) for name, versions in newest.items()}


def test_what_a_release_had_and_is_not_served_is_not_offered_but_for_produce():
    found = offered(as_version="0.11")
    assert found["OffsetCommit"] == (2, 3)
    assert found["Fetch"] == (4, 5)
    assert found["Produce"] == (0, 3)
    assert not found.keys() & {"OffsetForLeaderEpoch", "DescribeConfigs", "DeleteGroups", "OffsetDelete"}


@pytest.mark.parametrize("release", NAMES)
def test_each_release_offers_nothing_that_is_not_served_or_was_not_there(release):
    config = Config.from_settings({"as.version": release})
    for key, api in served(config).items():
        whole = BY_KEY[key]
        assert api.handle is whole.handle
        assert set(api.versions) <= set(whole.versions) & set(RELEASES[release].ranges[key])
        assert api.versions.highest == min(whole.versions.highest, RELEASES[release].ranges[key].highest)


def test_masks_leave_less():
    found = offered(mask="OffsetCommit=0-6, JoinGroup=4 ,OffsetDelete=none")
    assert found["OffsetCommit"] == (2, 6)
    assert found["JoinGroup"] == (4, 4)
    assert "OffsetDelete" not in found
    assert found["Fetch"] == (4, 18)


def test_a_mask_leaves_less_of_a_release():
    found = offered(as_version="2.8", mask=["JoinGroup=0-4", "OffsetCommit=0-2", "Heartbeat=none"])
    assert found["JoinGroup"] == (0, 4)
    assert found["OffsetCommit"] == (2, 2)
    assert "Heartbeat" not in found


def test_what_a_release_has_not_may_be_taken_away():
    assert offered(as_version="0.11", mask="OffsetDelete=none") == offered(as_version="0.11")


@pytest.mark.parametrize("api", ["FindCoordinator", "ApiVersions", "Metadata", "JoinGroup"])
def test_anything_may_be_taken_away(api):
    assert api not in offered(mask=f"{api}=none")


@pytest.mark.parametrize("release", [None, *NAMES])
def test_masks_are_measured_by_what_is_served(release):
    """A mask of the newest version that is served leaves that; one of the version behind it cannot be."""
    like = {} if release is None else {"as_version": release}
    found = served(Config.from_settings({"as.version": release} if like else {}))
    for api, key in KEYS.items():
        whole = served_versions(api, release)
        assert whole == (found[key].versions if key in found else None)
        if whole is not None:
            assert offered(**like, mask=f"{api}={whole.highest}")[api] == (whole.highest, whole.highest)
        impossible = 0 if whole is None else whole.highest + 1
        with pytest.raises(ConfigError, match=f"^mask has {api}={impossible}: "):
            offered(**like, mask=f"{api}={impossible}")


def test_masks_are_shown_as_they_are_given():
    config = Config.from_settings({"mask": "OffsetCommit=2-6,OffsetDelete=none"})
    assert ",".join(map(str, config.mask)) == "OffsetCommit=2-6,OffsetDelete=none"


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ("Join=1", "mask is 'Join=1': Join is no API that is served: there are Produce, Fetch,"),
        ("JoinGroup", "mask is 'JoinGroup': it must be of the form OffsetCommit=0-6,OffsetDelete=none"),
        ("JoinGroup=-1", "it must be of the form"),
        ("JoinGroup=5-2", "of JoinGroup there can be no versions from 5 to 2"),
        ("JoinGroup=1,JoinGroup=2", "JoinGroup is there twice"),
        ("OffsetCommit=99", "mask has OffsetCommit=99: versions 2-10 of OffsetCommit are served"),
        ("OffsetCommit=0-99", "mask has OffsetCommit=0-99: versions 2-10 of OffsetCommit are served"),
        ("OffsetCommit=0-1", "mask has OffsetCommit=0-1: versions 2-10 of OffsetCommit are served"),
        ("JoinGroup=10-12", "mask has JoinGroup=10-12: versions 0-9 of JoinGroup are served"),
        ("joingroup=1", "joingroup is no API that is served"),
        ("JoinGroup=0-99999", "it must be of the form"),
        ("JoinGroup=", "it must be of the form"),
        ("JoinGroup=0-", "it must be of the form"),
        ("JoinGroup=all", "it must be of the form"),
        (5, "mask is '5': it must be of the form"),
        (1.5, "mask is 1.5: it must be a text in quotes"),
        ({"JoinGroup": "1"}, "mask is a table: it must be a single value"),
    ],
)
def test_a_bad_mask_is_one_sentence(mask, sentence):
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({"mask": mask})
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("release", "mask", "sentence"),
    [
        ("2.8", "JoinGroup=8", "mask has JoinGroup=8: versions 0-7 of JoinGroup of Kafka 2.8 are served"),
        ("2.8", "JoinGroup=0-9", "mask has JoinGroup=0-9: versions 0-7 of JoinGroup of Kafka 2.8 are served"),
        ("2.3", "OffsetDelete=0", "mask has OffsetDelete=0: Kafka 2.3 has no OffsetDelete"),
        ("3", "DescribeGroups=6", "versions 0-5 of DescribeGroups of Kafka 3.9 are served"),
    ],
)
def test_masks_of_what_a_release_has_not(release, mask, sentence):
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({"as.version": release, "mask": mask})
    assert sentence in str(caught.value)


def test_the_fixture_takes_both():
    config = config_for(
        {}, None, kafka_defaults=False, as_version="2.8", mask={"OffsetCommit": "0-6", "OffsetDelete": None}
    )
    assert config.as_version == "2.8"
    assert [str(each) for each in config.mask] == ["OffsetCommit=0-6", "OffsetDelete=none"]


def test_versions_that_two_ranges_share():
    assert cut(Versions(0, 5), Versions(3, 9)) == Versions(3, 5)
    assert cut(Versions(0, 2), Versions(3, 9)) is None


def test_a_default_that_was_another_one_before_4_0():
    before, given, after = (
        Config.from_settings({"as.version": release, **settings})
        for release, settings in (("3.9", {}), ("3.9", {"log.message.timestamp.after.max.ms": 7}), ("4.0", {}))
    )
    assert [each.log_message_timestamp_after_max_ms for each in (before, given, after)] == [2**63 - 1, 7, 3_600_000]
    assert [each.is_set("log_message_timestamp_after_max_ms") for each in (before, given, after)] == [
        False,
        True,
        False,
    ]
