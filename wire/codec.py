"""From message to bytes and back.

    decode(JoinGroupRequest, 9, frame, offset) -> message
    encode(message, 9) -> bytes

For each (class, version) and direction one Python function is generated from the table in the class, compiled on
first use and kept. A generated function walks the message in a straight line: no table is looked at, no field is
dispatched on. The emitters below write that line; `reader_source` and `writer_source` show it.

What the emitters do for speed, both ways:

* Neighbouring fields of fixed width share one `struct.Struct`. A plain length, or the first byte of a varint, is
  itself of fixed width, so it joins the fields in front of it.
* The usual case is in line: a string shorter than 127 bytes, an array of fewer than 127 elements, a null that is
  allowed, an empty tag buffer. All else - longer, forbidden, malformed - goes back to the first byte of the value
  and takes the full reader in `wire.primitives`, which either copes or says what is wrong.

Reading past the end cannot go unnoticed: indexing and `struct` raise, which becomes `Truncated`, and slices, which
do not raise, are always taken with a bound that was compared to the end. Writing relies on `struct` for the ranges of
numbers. So only `WireError` leaves this module, whatever bytes or message are put in.
"""

import struct
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from wire import primitives
from wire.errors import Truncated, UnexpectedNull, Unsendable, Unsupported
from wire.schema import Array, Field, Primitive, Struct, Versioned, WireType

_V = TypeVar("_V", bound=Versioned)

Reader = Callable[[bytes, int], tuple[_V, int]]
Writer = Callable[[_V], bytes]

_READERS: dict[tuple[type[Versioned], int], Reader[Any]] = {}
_WRITERS: dict[tuple[type[Versioned], int], Writer[Any]] = {}


def decode(cls: type[_V], version: int, data: bytes, offset: int = 0) -> _V:
    """Read one message that begins at `offset`; bytes left over after it are ignored, as Apache Kafka does.

    Raises:
        Unsupported: `cls` has no such version.
        Truncated, BadLength, UnexpectedNull: `data` holds no such message.

    """
    return reader(cls, version)(data, offset)[0]


def encode(message: Versioned, version: int) -> bytes:
    """Write one message.

    Raises:
        Unsupported: Its class has no such version.
        Unsendable: The version cannot carry the message; see the exception.

    """
    return writer(type(message), version)(message)


def reader(cls: type[_V], version: int) -> Reader[_V]:
    """Return the function `(data, offset) -> (message, end)` for one version of a message.

    Raises:
        Unsupported: `cls` has no such version.

    """
    made = _READERS.get((cls, version))
    if made is None:
        text, names = reader_source(cls, version)
        made = _READERS[cls, version] = _compiled(text, names, f"<reader of {cls.__name__} v{version}>")
    return made


def writer(cls: type[_V], version: int) -> Writer[_V]:
    """Return the function `(message) -> bytes` for one version of a message.

    Raises:
        Unsupported: `cls` has no such version.

    """
    made = _WRITERS.get((cls, version))
    if made is None:
        text, names = writer_source(cls, version)
        made = _WRITERS[cls, version] = _compiled(text, names, f"<writer of {cls.__name__} v{version}>")
    return made


def reader_source(cls: type[Versioned], version: int) -> tuple[str, dict[str, Any]]:
    """Generate the reader of one version: its text, and the names the text uses.

    Raises:
        Unsupported: `cls` has no such version.

    """
    _check_version(cls, version)
    emitter = _ReaderEmitter(version, flexible=version in cls.FLEXIBLE)
    emitter.line("def generated(data, pos):")
    with emitter:
        emitter.line("end = len(data)")
        emitter.line("try:")
        with emitter:
            emitter.line(f"return {emitter.struct(cls)}, pos")
        emitter.line("except (StructError, IndexError):")
        with emitter:
            emitter.line(f"raise Truncated('the bytes end inside {cls.__name__} v{version}') from None")
    return emitter.text(), emitter.names


def writer_source(cls: type[Versioned], version: int) -> tuple[str, dict[str, Any]]:
    """Generate the writer of one version: its text, and the names the text uses.

    Raises:
        Unsupported: `cls` has no such version.

    """
    _check_version(cls, version)
    emitter = _WriterEmitter(version, flexible=version in cls.FLEXIBLE)
    emitter.line("def generated(m):")
    with emitter:
        emitter.line("try:")
        with emitter:
            emitter.struct(cls, "m")
            emitter.line(f"return {emitter.joined()}")
        emitter.line("except (StructError, AttributeError, TypeError, UnicodeEncodeError, OverflowError) as error:")
        with emitter:
            emitter.line(f"raise Unsendable(f'{cls.__name__} v{version}: {{error}}') from error")
    return emitter.text(), emitter.names


def _check_version(cls: type[Versioned], version: int) -> None:
    if version not in cls.VERSIONS:
        raise Unsupported(f"{cls.__name__} has no version {version}")


def _compiled(text: str, names: dict[str, Any], origin: str) -> Any:
    exec(compile(text, origin, "exec"), names)  # noqa: S102 - the text comes from the emitters, never from the wire
    return names["generated"]


class _Emitter:
    """Lines of Python under construction, and the names they will need."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.names: dict[str, Any] = {"StructError": struct.error}
        self.functions: list[str] = []
        self._lines: list[str] = []
        self._depth = 0
        self.fresh = 0

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def text(self) -> str:
        return "\n".join([*self.functions, *self._lines, ""])

    def var(self, prefix: str) -> str:
        """A variable name not used before."""
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def name(self, prefix: str, value: Any) -> str:
        """A global name for `value`; the same value gets the same name again."""
        for known, held in self.names.items():
            if held is value:
                return known
        name = f"{prefix}_{len(self.names)}"
        self.names[name] = value
        return name

    def packing(self, form: str, method: str) -> str:
        """A global name for one bound method of the `struct.Struct` of a format."""
        name = f"{method}_{form.replace('?', 'o')}"
        if name not in self.names:
            self.names[name] = getattr(struct.Struct(">" + form), method)
        return name

    def default(self, value: Any) -> str:
        """An expression for a default value, fresh where it is mutable."""
        if isinstance(value, Struct):
            return f"{self.name(type(value).__name__, type(value))}()"
        if isinstance(value, uuid.UUID):
            return self.name("no_uuid", value)
        return repr(value)

    def present(self, fields: tuple[Field, ...]) -> list[Field]:
        """The ordinary fields of this version, in wire order."""
        return [f for f in fields if f.tag is None and self.version in f.versions]

    def tagged(self, fields: tuple[Field, ...]) -> list[Field]:
        """The tagged fields of this version, in ascending order of tags."""
        tagged = [f for f in fields if f.tag is not None and self.version in f.versions]
        return sorted(tagged, key=lambda f: f.tag or 0)


class _ReaderEmitter(_Emitter):
    """Writes readers. At every point of the text, `pos` is where the next unread byte is, once `flush` was called."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        super().__init__(version, flexible=flexible)
        self._pending: list[tuple[str, str]] = []
        compact = "compact_" if flexible else ""
        self.names |= {
            "new": object.__new__,
            "unpack_from": struct.unpack_from,
            "uuid_of": primitives.uuid_of,
            "read_string": getattr(primitives, f"read_{compact}string"),
            "read_bytes": getattr(primitives, f"read_{compact}bytes"),
            "read_count": getattr(primitives, f"read_{compact}count"),
            "read_tag_count": primitives.read_tag_count,
            "read_tag": primitives.read_tag,
            "skip_tag": primitives.skip_tag,
            "skip_tags": primitives.skip_tags,
            "Truncated": Truncated,
            "UnexpectedNull": UnexpectedNull,
        }

    def later(self, form: str, target: str) -> None:
        """Note a value of fixed width to be read into a variable at the next `flush`."""
        self._pending.append((form, target))

    def flush(self) -> None:
        """Read what was noted, in one step."""
        if not self._pending:
            return
        form = "".join(char for char, _ in self._pending)
        targets = ", ".join(target for _, target in self._pending)
        self._pending.clear()
        if form == "B":
            self.line(f"{targets} = data[pos]; pos += 1")
        else:
            self.line(
                f"{targets}, = {self.packing(form, 'unpack_from')}(data, pos); pos += {struct.calcsize('>' + form)}"
            )

    def struct(self, cls: type[Struct]) -> str:
        """Read the fields of a struct and make it; return the variable that holds it."""
        values = {f.name: self.default(f.default) for f in cls.FIELDS}
        for f in self.present(cls.FIELDS):
            values[f.name] = self.value(f.type, nullable=self.version in f.nullable, what=f"{cls.__name__}.{f.name}")
        if self.flexible:
            self.tag_buffer(cls, values)
        self.flush()
        made, class_name = self.var("m"), self.name(cls.__name__, cls)
        if cls.FROZEN:
            self.line(f"{made} = {class_name}({', '.join(values.values())})")
        else:  # half the price of calling the class, and nothing here needs its __init__
            self.line(f"{made} = new({class_name})")
            for name, value in values.items():
                self.line(f"{made}.{name} = {value}")
        return made

    def value(self, of: WireType, *, nullable: bool, what: str) -> str:
        """Read a value of any type; return the variable that will hold it after the next `flush`."""
        if isinstance(of, Array):
            return self.array(of, nullable=nullable, what=what)
        if not isinstance(of, Primitive):
            return self.struct_or_null(of) if nullable else self.struct(of)
        if of in (Primitive.STRING, Primitive.BYTES, Primitive.RECORDS):
            return self.sized(of, nullable=nullable, what=what)
        target = self.var("v")
        self.later(primitives.FIXED[of], target)
        return f"uuid_of({target})" if of is Primitive.UUID else target

    def struct_or_null(self, of: type[Struct]) -> str:
        """Read a struct that has a byte in front of it; a negative one means null."""
        target, mark = self.var("v"), self.var("n")
        self.later("b", mark)
        self.flush()
        self.line(f"if {mark} < 0:")
        with self:
            self.line(f"{target} = None")
        self.line("else:")
        with self:
            self.line(f"{target} = {self.struct(of)}")
        return target

    def sized(self, of: Primitive, *, nullable: bool, what: str) -> str:
        """Read a string or bytes."""
        text = of is Primitive.STRING
        target, size = self.var("v"), self.var("n")
        if self.flexible:
            form, width, short, null = "B", 1, f"0 < {size} < 128", f"{size} == 0"
        else:
            form, width, short, null = "h" if text else "i", 2 if text else 4, f"{size} >= 0", f"{size} < 0"
        self.later(form, size)
        self.flush()
        self.line(f"stop = pos + {size}{' - 1' if self.flexible else ''}")
        self.line(f"if {short} and stop <= end:")
        with self:
            self.line(f"{target} = data[pos:stop]" + (f".decode('utf-8', {primitives.AS_JAVA!r})" if text else ""))
            self.line("pos = stop")
        if nullable:
            self.line(f"elif {null}:")
            with self:
                self.line(f"{target} = None")
        self.line("else:")
        with self:
            self.line(f"{target}, pos = read_{'string' if text else 'bytes'}(data, pos - {width})")
            if not nullable:
                self.line(f"if {target} is None:")
                with self:
                    self.line(f"raise UnexpectedNull({what!r})")
        return target

    def array(self, of: Array, *, nullable: bool, what: str) -> str:
        """Read a counted sequence."""
        target, count = self.var("v"), self.var("n")
        self.later("B" if self.flexible else "i", count)
        self.flush()
        self.line(f"if {f'{count} > 127 or {count} - 1' if self.flexible else count} > end - pos:")
        with self:
            self.line(f"{count}, pos = read_count(data, pos - {1 if self.flexible else 4})")
        if self.flexible:
            self.line("else:")
            with self:
                self.line(f"{count} -= 1")
        self.line(f"if {count} < 0:")
        with self:
            self.line(f"{target} = None" if nullable else f"raise UnexpectedNull({what!r})")
        self.line("else:")
        with self:
            form = primitives.FIXED.get(of.item, "") if isinstance(of.item, Primitive) else ""
            if len(form) == 1:
                width = struct.calcsize(">" + form)
                self.line(f"stop = pos + {width} * {count}" if width > 1 else f"stop = pos + {count}")
                self.line("if stop > end:")
                with self:
                    self.line(f"raise Truncated({what!r})")
                unpacked = f"unpack_from(f'>{{{count}}}{form}', data, pos)"
                self.line(f"{target} = {unpacked if of.container is tuple else f'[*{unpacked}]'}")
                self.line("pos = stop")
            else:
                self.line(f"{target} = []")
                self.line(f"for _ in range({count}):")
                with self:
                    item = self.value(of.item, nullable=False, what=what)
                    self.flush()
                    self.line(f"{target}.append({item})")
                if of.container is tuple:
                    self.line(f"{target} = tuple({target})")
        return target

    def tag_buffer(self, cls: type[Struct], values: dict[str, str]) -> None:
        """Read the tag buffer at the end of a struct; the size of an entry only counts if its tag is unknown."""
        tagged = self.tagged(cls.FIELDS)
        for f in tagged:
            held = self.var("t")
            self.line(f"{held} = {values[f.name]}")
            values[f.name] = held
        count = self.var("n")
        self.later("B", count)
        self.flush()
        self.line(f"if {count}:")
        with self:
            if not tagged:
                self.line("pos = skip_tags(data, pos - 1)")
                return
            self.line(f"{count}, pos = read_tag_count(data, pos - 1)")
            self.line(f"for _ in range({count}):")
            with self:
                self.line("tag, size, pos = read_tag(data, pos)")
                for at, f in enumerate(tagged):
                    self.line(f"{'elif' if at else 'if'} tag == {f.tag}:")
                    with self:
                        what = f"{cls.__name__}.{f.name}"
                        value = self.value(f.type, nullable=self.version in f.nullable, what=what)
                        self.flush()
                        self.line(f"{values[f.name]} = {value}")
                self.line("else:")
                with self:
                    self.line("pos = skip_tag(data, pos, size)")


class _WriterEmitter(_Emitter):
    """Writes writers. Pieces of output are collected as expressions and joined, or appended, as late as possible."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        super().__init__(version, flexible=flexible)
        self._fixed: list[tuple[str, str]] = []
        self._pieces: list[str] = []
        self._open = False
        self.names |= {
            "pack": struct.pack,
            "SIZES": primitives.SIZES,
            "write_uvarint": primitives.write_uvarint,
            "string_size": primitives.string_size,
            "Unsendable": Unsendable,
        }

    def fixed(self, form: str, value: str) -> None:
        """Add a value of fixed width; neighbours will share one `pack`."""
        self._fixed.append((form, value))

    def piece(self, value: str) -> None:
        """Add an expression that yields bytes."""
        if self._fixed:
            form = "".join(char for char, _ in self._fixed)
            values = ", ".join(value for _, value in self._fixed)
            self._fixed.clear()
            self._pieces.append(f"{self.packing(form, 'pack')}({values})")
        if value:
            self._pieces.append(value)

    def flush(self) -> None:
        """Bring all that was added into the list `out`, because a loop is about to begin or end."""
        self.piece("")
        pieces, self._pieces = self._pieces, []
        if not self._open:
            self.line(f"out = [{', '.join(pieces)}]")
            self._open = True
        elif pieces:
            self.line(f"out += ({', '.join(pieces)},)")

    def joined(self) -> str:
        """An expression for all that was added, as bytes."""
        if self._open:
            self.flush()
            return "b''.join(out)"
        self.piece("")
        return f"b''.join([{', '.join(self._pieces)}])"

    def struct(self, cls: type[Struct], at: str) -> None:
        """Write a struct that the expression `at` yields."""
        for f in cls.FIELDS:
            if self.version not in f.versions and not f.ignorable:
                self.line(f"if {self.differs(f, f'{at}.{f.name}')}:")
                with self:
                    self.line(f"raise Unsendable('{cls.__name__}.{f.name} is not in v{self.version}')")
        for f in self.present(cls.FIELDS):
            self.value(f.type, f"{at}.{f.name}", nullable=self.version in f.nullable)
        if self.flexible:
            self.tag_buffer(self.tagged(cls.FIELDS), at)

    def differs(self, f: Field, value: str) -> str:
        """An expression for whether a value is other than the field's default."""
        return f"{value} is not None" if f.default is None else f"{value} != {self.default(f.default)}"

    def value(self, of: WireType, at: str, *, nullable: bool) -> None:
        """Write a value of any type that the expression `at` yields."""
        if isinstance(of, Array):
            self.array(of, at, nullable=nullable)
        elif not isinstance(of, Primitive):
            if nullable:
                self.struct_or_null(of, at)
            else:
                self.struct(of, at)
        elif of in (Primitive.STRING, Primitive.BYTES, Primitive.RECORDS):
            self.sized(of, at, nullable=nullable)
        else:
            self.fixed(primitives.FIXED[of], f"{at}.bytes" if of is Primitive.UUID else at)

    def struct_or_null(self, of: type[Struct], at: str) -> None:
        """Write a struct with the byte that says whether there is one."""
        held = self.var("v")
        self.flush()
        self.line(f"{held} = {at}")
        self.line(f"if {held} is None:")
        with self:
            self.fixed("b", "-1")
            self.flush()
        self.line("else:")
        with self:
            self.fixed("b", "1")
            self.struct(of, held)
            self.flush()

    def sized(self, of: Primitive, at: str, *, nullable: bool) -> None:
        """Write a string or bytes."""
        text = of is Primitive.STRING
        held, size = self.var("v"), self.var("n")
        encoded = ".encode()" if text else ""
        measured = f"{size} = len({held}){' + 1' if self.flexible else ''}"
        if nullable:
            self.line(f"{held} = {at}")
            self.line(f"if {held} is None:")
            with self:
                self.line(f"{held}, {size} = b'', {0 if self.flexible else -1}")
            self.line("else:")
            with self:
                if text:
                    self.line(f"{held} = {held}{encoded}")
                self.line(measured)
        else:
            self.line(f"{held} = {at}{encoded}")
            self.line(measured)
        if self.flexible:
            self.piece(f"SIZES[{size}] if {size} < 128 else {'string_size' if text else 'write_uvarint'}({size})")
        else:
            self.fixed("h" if text else "i", size)
        self.piece(held)

    def array(self, of: Array, at: str, *, nullable: bool) -> None:
        """Write a counted sequence."""
        held, size = self.var("v"), self.var("n")
        self.line(f"{held} = {at}")
        extra = " + 1" if self.flexible else ""
        if nullable:
            self.line(f"{size} = {0 if self.flexible else -1} if {held} is None else len({held}){extra}")
            held = f"({held} or ())"
        else:
            self.line(f"{size} = len({held}){extra}")
        if self.flexible:
            self.piece(f"SIZES[{size}] if {size} < 128 else write_uvarint({size})")
        else:
            self.fixed("i", size)
        form = primitives.FIXED.get(of.item, "") if isinstance(of.item, Primitive) else ""
        if len(form) == 1:
            self.piece(f"pack(f'>{{len({held})}}{form}', *{held})")
            return
        self.flush()
        item = self.var("e")
        self.line(f"for {item} in {held}:")
        with self:
            self.value(of.item, item, nullable=False)
            self.flush()

    def tag_buffer(self, tagged: list[Field], at: str) -> None:
        """Write the tag buffer at the end of a struct: the fields that differ from their defaults."""
        if not tagged:
            self.piece("b'\\0'")
            return
        tags = self.var("t")
        self.line(f"{tags} = []")
        for f in tagged:
            self.line(f"if {self.differs(f, f'{at}.{f.name}')}:")
            with self:
                body = self.var("b")
                self.line(f"{body} = {self.tag_function(f)}({at}.{f.name})")
                self.line(f"{tags} += (write_uvarint({f.tag}), write_uvarint(len({body})), {body})")
        self.piece(f"write_uvarint(len({tags}) // 3)")
        self.piece(f"*{tags}")

    def tag_function(self, f: Field) -> str:
        """Write a function of its own for a tagged field: its bytes must be counted before they are sent."""
        inner = type(self)(self.version, flexible=True)
        inner.fresh, inner.names = self.fresh, self.names
        name = self.var(f"tag_{f.name}_")
        inner.line(f"def {name}(m):")
        with inner:
            inner.value(f.type, "m", nullable=self.version in f.nullable)
            inner.line(f"return {inner.joined()}")
        self.functions.append(inner.text())
        return name
