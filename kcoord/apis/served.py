"""What one server offers of what there is: all, or what a release of Apache Kafka had, less what is masked."""

from collections.abc import Mapping
from functools import lru_cache

from kcoord.apis import BY_KEY
from kcoord.apis.api import Api
from kcoord.config import Config
from kcoord.releases.masks import Mask, cut
from kcoord.releases.release import RELEASES
from wire.schema import Versions


def served(config: Config) -> Mapping[int, Api]:
    """Return the APIs by their keys."""
    if config.as_version is None and not config.mask:
        return BY_KEY
    return _clamped(config.as_version, config.mask)


@lru_cache(maxsize=64)
def _clamped(release: str | None, masks: tuple[Mask, ...]) -> Mapping[int, Api]:
    found = dict(BY_KEY)
    if release is not None:
        ranges = RELEASES[release].ranges
        found = {
            key: clamped
            for key, api in found.items()
            if key in ranges and (clamped := _within(api, ranges[key])) is not None
        }
    for mask in masks:
        api = found.pop(mask.key, None)
        clamped = None if api is None or mask.versions is None else _within(api, mask.versions)
        if clamped is not None:
            found[mask.key] = clamped
    return {key: found[key] for key in BY_KEY if key in found}


def _within(api: Api, ranges: Versions) -> Api | None:
    """Return an API in those of its versions that are in a range, or None if none is.

    What is offered without being served (Produce) is offered as far as that range goes.
    """
    versions, offered = cut(api.versions, ranges), cut(api.offered, ranges)
    if versions is None or offered is None:
        return None
    return Api(
        request=api.request,
        versions=f"{versions.lowest}-{versions.highest}",
        handle=api.handle,
        weight=api.weight,
        offered=f"{offered.lowest}-{offered.highest}",
    )
