"""The OpenAPI description: valid, current, and of what there is. Answers are checked by the client of the tests."""

from openapi_spec_validator import validate

from kcoord.web.actions import ACTIONS
from kcoord.web.app import control_app
from kcoord.web.openapi import FILE, document
from tests.web.conftest import description


def test_it_is_valid():
    validate(description())


def test_it_is_what_the_table_of_actions_makes():
    assert FILE.read_text() == document(), "python -m kcoord.web.openapi writes it anew"


def operations():
    return {(method.upper(), path) for path, methods in description()["paths"].items() for method in methods}


async def test_every_route_is_described_and_everything_described_is_a_route(autojump_clock, bench):
    routes = {
        (method, route.path)
        for route in control_app(bench.control).routes
        for method in route.methods
        if method != "HEAD"
    }
    assert routes == operations()


def test_every_operation_has_a_name_of_its_own():
    names = [each["operationId"] for methods in description()["paths"].values() for each in methods.values()]
    assert len(names) == len(set(names)) == len(ACTIONS) + 1


def test_it_speaks_of_json_to_readers_of_any_language():
    def told(value):
        if isinstance(value, dict):
            for name, each in value.items():
                if name in {"description", "summary"} and isinstance(each, str):
                    yield each
                yield from told(each)
        elif isinstance(value, list):
            for each in value:
                yield from told(each)

    texts = list(told(description()))
    assert "Seconds. null while a request that it has waiting keeps the session from ending." in texts
    assert [text for text in texts if "None" in text.split() or "Raises" in text] == []
