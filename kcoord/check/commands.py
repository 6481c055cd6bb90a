"""`kcoord check`: the command line of the rules. Exit status 0: all kept; 1: one is broken; 2: not all could be run."""

import errno
import fnmatch
import os
import resource
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import IO, Annotated, Final, Literal, NoReturn

import trio
from cyclopts import Parameter

from kcoord.check.connecting import PATIENCE, Endpoint, Sasl, address_of
from kcoord.check.differences import Comparison
from kcoord.check.first_answer import FIRST_ANSWER
from kcoord.check.outcome import CannotRun
from kcoord.check.report.differences_html import differences_as_html
from kcoord.check.report.differences_json import differences_as_json
from kcoord.check.report.differences_junit import differences_as_junit
from kcoord.check.report.differences_table import print_differences
from kcoord.check.report.html import as_html
from kcoord.check.report.json import as_json
from kcoord.check.report.junit import as_junit
from kcoord.check.report.table import print_table
from kcoord.check.result import Report, Verdict
from kcoord.check.rule import NEWEST, Rule, release, release_text
from kcoord.check.rules import all_rules
from kcoord.check.runner import SIDE_BY_SIDE, Plan, check, of_another_release
from kcoord.check.running import complain, until_a_signal
from kcoord.check.several import Broker, compare
from kcoord.check.tls import tls_context
from kcoord.shown import is_unicode

BROKEN: Final = 1
COULD_NOT_RUN: Final = 2
LONGEST_PATIENCE: Final = 3600
STDOUT: Final = "-"
VARIABLE: Final = "KAFKA_PASSWORD"
"""The variable of the environment that may have the password. Those that begin with KCOORD_ are settings."""
_FORMS: Final[dict[str, Callable[[Report], str]]] = {"json": as_json, "junit": as_junit, "html": as_html}
_FORMS_OF_SEVERAL: Final[dict[str, Callable[[Comparison], str]]] = {
    "json": differences_as_json,
    "junit": differences_as_junit,
    "html": differences_as_html,
}


class Misused(CannotRun):
    """The command line asks for what cannot be; the text is one sentence."""


def check_command(
    *brokers: Annotated[str, Parameter(allow_leading_hyphen=False)],
    only: Annotated[list[str] | None, Parameter(name="--only", negative=())] = None,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    explain: Annotated[str | None, Parameter(name="--explain")] = None,
    json: Annotated[str | None, Parameter(name="--json", allow_leading_hyphen=True)] = None,
    junit: Annotated[str | None, Parameter(name="--junit", allow_leading_hyphen=True)] = None,
    html: Annotated[str | None, Parameter(name="--html", allow_leading_hyphen=True)] = None,
    transcripts: Annotated[Literal["broken", "all"], Parameter(name="--transcripts")] = "broken",
    long: Annotated[bool, Parameter(name="--long", negative=())] = False,
    at_once: Annotated[int, Parameter(name="--at-once")] = SIDE_BY_SIDE,
    kafka: Annotated[str | None, Parameter(name="--kafka")] = None,
    patience: Annotated[float, Parameter(name="--patience")] = FIRST_ANSWER,
    tls: Annotated[bool, Parameter(name="--tls", negative=())] = False,
    ca: Annotated[Path | None, Parameter(name="--ca")] = None,
    cert: Annotated[Path | None, Parameter(name="--cert")] = None,
    key: Annotated[Path | None, Parameter(name="--key")] = None,
    insecure: Annotated[bool, Parameter(name="--insecure", negative=())] = False,
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None, Parameter(name="--sasl-mechanism")
    ] = None,
    username: Annotated[str | None, Parameter(name="--username")] = None,
    password_file: Annotated[Path | None, Parameter(name="--password-file")] = None,
) -> None:
    """Judge the broker at HOST:PORT, which must be alone, by the rules of the group protocol, or compare several.

    It makes topics and groups of its own, whose names begin with kcoord-check, and removes them in the end, also
    after an interrupt or when its terminal is closed; only if it is killed they stay. Nobody else's are touched. Rules
    that wait run side by side; one that is broken is run once more afterwards, with less beside it, before that counts.

    The exit status is 0 if all rules that apply are kept, 1 if one is broken, and 2 if none could be run, or the
    broker was gone before all were.

    With two or more brokers the same rules run at all of them, at the same time, and the result is where the others
    differ from the first: in verdicts, and in what was said. Times, ids and the like are not compared. What differs in
    what was said is asked once more before that counts. All flags hold for all brokers. The exit status is 0 if
    nothing differs, 1 if something does, and 2 if one of the brokers could not be judged.

    Parameters
    ----------
    brokers
        HOST:PORT of the broker, or of each broker that is compared.
    only
        Ids of rules or names of APIs, with commas between them; may be repeated. "fetch-*" are all that begin so.
    list_
        List the rules, with --kafka those of that release, and run none.
    explain
        Tell all about one rule, and run none.
    json
        FILE to write the results to as JSON; "-" is standard output, instead of the table.
    junit
        FILE to write the results to as JUnit XML; "-" is standard output, instead of the table.
    html
        FILE to write the results to as a page that needs nothing else; "-" is standard output, instead of the table.
    transcripts
        Of which rules the files have what was said: of those that are broken (or differ), or of all.
    long
        Run rules, too, that take more than a minute each.
    at_once
        How many rules run side by side.
    kafka
        The release of Apache Kafka by whose rules the broker is judged (4.4).
    patience
        Seconds in which the broker must be connected, and then give its first answer.
    tls
        Connect by TLS.
    ca
        FILE with the certificates (PEM) that the broker's must come from, instead of those of the system.
    cert
        FILE with the certificate (PEM) to show to the broker.
    key
        FILE with the key (PEM) of that certificate, if it is not in the same file.
    insecure
        Do not check the broker's certificate.
    sasl_mechanism
        How to authenticate.
    username
        As whom to authenticate.
    password_file
        FILE with the password; else it is taken from KAFKA_PASSWORD in the environment.

    """
    try:
        if not __debug__:
            raise Misused("rules are assertions, which python -O leaves out; run it without -O")
        judged_by = NEWEST if kafka is None else _release(kafka)
        rules = chosen(all_rules(), only)
        if explain is not None:
            _say(_explained(_one(all_rules(), explain)))
            return
        if list_:
            of_release = rules if kafka is None else [each for each in rules if not of_another_release(each, judged_by)]
            if not of_release:
                raise Misused(f"none of these rules is one of Kafka {kafka}")
            _say(_listed(of_release))
            return
        if not brokers:
            raise Misused("which broker? Give HOST:PORT, or --list or --explain")
        if twice := [each for at, each in enumerate(brokers) if each in brokers[:at]]:
            raise Misused(f"{twice[0]} is named twice, and can only be compared with another broker")
        files = {form: file for form, file in (("json", json), ("junit", junit), ("html", html)) if file is not None}
        _can_be_written(files)
        secure, login = _tls(tls, ca, cert, key, insecure), _sasl(sasl_mechanism, username, password_file)
        seconds = _seconds(patience)
        ready_in = max(seconds, PATIENCE)
        several = [Broker(each, Endpoint(*address_of(each), secure, login, ready_in).open) for each in brokers]
        plan = Plan(
            rules=rules,
            side_by_side=_positive(at_once),
            long=long,
            transcripts=transcripts == "all",
            release=judged_by,
            patience=seconds,
        )
        _allow_many_files()
        broken, stopped = _judge(several[0], plan, files) if len(several) == 1 else _compare(several, plan, files)
    except CannotRun as error:
        _fail(str(error))
    sys.stdout.flush()
    if stopped:
        _fail(stopped)
    if broken:
        sys.exit(BROKEN)


def _judge(broker: Broker, plan: Plan, files: dict[str, str]) -> tuple[bool, str]:
    """Run the rules at one broker, tell the results, and return whether one is broken and why the run was stopped."""
    run = partial(check, broker.opener, broker.address, plan, broker.progress)
    report = trio.run(until_a_signal, run, lambda: {"": broker.progress})
    _tell({form: partial(write, report) for form, write in _FORMS.items()}, partial(print_table, report), files)
    return report.count(Verdict.BROKEN) > 0, report.stopped


def _compare(brokers: list[Broker], plan: Plan, files: dict[str, str]) -> tuple[bool, str]:
    """Run the rules at several brokers; the same of what differs."""
    run = partial(compare, brokers, plan)
    found = trio.run(until_a_signal, run, lambda: {each.address: each.progress for each in brokers})
    forms = {form: partial(write, found) for form, write in _FORMS_OF_SEVERAL.items()}
    _tell(forms, partial(print_differences, found), files)
    return found.is_different, found.stopped


def chosen(rules: dict[str, Rule], only: Iterable[str] | None) -> list[Rule]:
    """Return the rules that are asked for by id or API, in their order. Raises Misused for a name that is neither.

    `*` and `?` in a name mean what they mean to a shell.
    """
    if only is None:
        return list(rules.values())
    wanted = [each.strip() for text in only for each in text.split(",") if each.strip()]
    found: set[str] = set()
    for name in wanted:
        ids = {each.id for each in rules.values() if fnmatch.filter(_names(each), name.lower())}
        if not ids:
            raise Misused(f"--only has {name!r}, which is neither a rule nor an API of one; --list shows them all")
        found |= ids
    if not found:
        raise Misused("--only names nothing")
    return [each for each in rules.values() if each.id in found]


def _names(rule: Rule) -> set[str]:
    return {name.lower() for name in (rule.id, rule.api, *rule.also)}


def _one(rules: dict[str, Rule], name: str) -> Rule:
    for each in rules.values():
        if name.lower() in _names(each) - {each.api.lower()}:
            return each
    raise Misused(f"there is no rule {name!r}; --list shows them all")


def _listed(rules: Sequence[Rule]) -> str:
    width = max(len(each.id) for each in rules)
    api = max(len(each.api) for each in rules)
    return "\n".join(f"{each.id:{width}}  {each.api:{api}}  {each.says}" for each in rules)


def _explained(rule: Rule) -> str:
    parts = [
        f"{rule.id}: {rule.says}",
        "",
        f"source    {rule.source}",
        f"API       {rule.api} {rule.versions}",
        f"cost      {rule.cost:g} s" + (f" in each of {len(rule.cases)} cases" if len(rule.cases) > 1 else ""),
    ]
    if rule.also:
        parts.append(f"also      {', '.join(rule.also)}")
    if rule.settings:
        parts.append(f"settings  {', '.join(f'{name}={value}' for name, value in rule.settings.items())}")
    if rule.since or rule.until:
        bounds = (f"{word} {each[0]}.{each[1]}" for word, each in (("from", rule.since), ("to", rule.until)) if each)
        parts.append(f"Kafka     {' '.join(bounds)}")
    if rule.alone:
        parts.append("alone     nothing runs beside it")
    if rule.varies:
        parts.append(f"varies    {rule.varies}")
    if len(rule.cases) > 1:
        parts.append(f"cases     {'; '.join(each.label for each in rule.cases)}")
    return "\n".join([*parts, "", textwrap.indent(rule.text(), "    ")])


def _can_be_written(files: dict[str, str]) -> None:
    """Find out before the run what would be a pity after it."""
    if list(files.values()).count(STDOUT) > 1:
        raise Misused("standard output can have the results in one form only")
    real = [Path(file).resolve() for file in files.values() if file != STDOUT]
    if len(set(real)) < len(real):
        raise Misused("each form of the results needs a FILE of its own")
    for form, file in files.items():
        if not file:
            raise Misused(f"--{form} needs a FILE")
        if file != STDOUT and file.startswith(STDOUT):
            raise Misused(f"--{form} needs a FILE, and {file} looks like a flag; ./{file} would not")
        if file != STDOUT and (reason := _why_not(Path(file))):
            raise Misused(f"--{form} cannot write {file}: {os.strerror(reason)}")


def _why_not(file: Path) -> int:
    """Return the number of the error with which a file would not be written, as far as can be told; 0 if it would."""
    if file.is_dir():
        return errno.EISDIR
    if not file.parent.is_dir():
        return errno.ENOENT
    return 0 if os.access(file if file.exists() else file.parent, os.W_OK) else errno.EACCES


def _tell(
    forms: Mapping[str, Callable[[], str]], print_for_people: Callable[[IO[str]], None], files: dict[str, str]
) -> None:
    """Write the results to the files, or print them. Raises CannotRun for a file that takes none, after all others."""
    lost: list[str] = []
    for form, file in files.items():
        text = forms[form]()
        if file == STDOUT:
            sys.stdout.write(text)
            continue
        try:
            Path(file).write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            lost.append(f"cannot write {file}: {error.strerror}")
    if STDOUT not in files.values():
        print_for_people(sys.stdout)
    if lost:
        sys.stdout.flush()
        raise CannotRun("; ".join(lost))


def _say(text: str) -> None:
    print(text)


def _tls(wanted: bool, ca: Path | None, cert: Path | None, key: Path | None, insecure: bool) -> SSLContext | None:
    if wanted:
        return tls_context(ca=ca, cert=cert, key=key, insecure=insecure)
    if ca or cert or key or insecure:
        raise Misused("--ca, --cert, --key and --insecure mean nothing without --tls")
    return None


def _sasl(mechanism: str | None, username: str | None, password_file: Path | None) -> Sasl | None:
    if mechanism is None:
        if username is not None or password_file is not None:
            raise Misused("--username and --password-file mean nothing without --sasl-mechanism")
        return None
    if username is None:
        raise Misused("--sasl-mechanism needs --username")
    if not is_unicode(username):
        raise Misused("--username is not in UTF-8")
    if password_file is not None:
        try:
            password = password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise Misused(f"cannot read the password from {password_file}: {error}") from None
    elif (found := os.environ.get(VARIABLE)) is not None:
        password = found
    else:
        raise Misused(f"--sasl-mechanism needs a password, from --password-file or {VARIABLE} in the environment")
    if not is_unicode(password):
        raise Misused(f"the password in {VARIABLE} is not in UTF-8")
    return Sasl(mechanism, username, password)


def _positive(number: int) -> int:
    if number < 1:
        raise Misused(f"--at-once is {number}: it must be 1 or more")
    return number


def _seconds(number: float) -> float:
    if not 0 < number <= LONGEST_PATIENCE:
        raise Misused(
            f"--patience is {number:g}: it must be a number of seconds above 0, and at most {LONGEST_PATIENCE}"
        )
    return number


def _release(text: str) -> tuple[int, int]:
    try:
        judged_by = release(text)
    except ValueError:
        raise Misused(f"--kafka is {text!r}: it must be a release like 4.0") from None
    if judged_by > NEWEST:
        raise Misused(f"--kafka is {text}: the newest release that the rules tell of is {release_text(NEWEST)}")
    return judged_by


def _allow_many_files() -> None:
    """Raise the limit of open files as far as this process may: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _fail(sentence: str) -> NoReturn:
    complain(sentence)
    sys.exit(COULD_NOT_RUN)
