"""Tables with every kind of column that the Parquet reader knows, and their rows as Owlet's JSON shows them."""
import datetime
import decimal
import math
import random
import uuid

import pyarrow

WORDS = ["owl", "night", "Feder", "猫", "naïve", "", " ", "🦉", "line\nbreak", "a" * 40, 'quo"te', "tab\t"]


def json_time(value):
    nanos = value.microsecond * 1000
    digits = f"{nanos:09d}"
    if nanos == 0:
        return f"{value:%H:%M:%S}"
    return f"{value:%H:%M:%S}." + (digits[:3] if nanos % 1000000 == 0 else digits[:6])


def expected(value):
    """`value` as pyarrow's to_pylist gives it -> what Owlet's JSON holds."""
    if isinstance(value, dict):
        return {key: expected(item) for key, item in value.items()}
    if isinstance(value, tuple):  # an entry of a map
        return {"key": expected(value[0]), "value": expected(value[1])}
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d}T{json_time(value)}" + ("Z" if value.tzinfo else "")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.time):
        return json_time(value)
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def columns(rng, num_rows, null_share):
    """name -> (pyarrow type, values): flat and nested."""
    def maybe(make):
        return [None if rng.random() < null_share else make() for _ in range(num_rows)]

    def text():
        return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(6)))

    def message():
        return None if rng.random() < null_share / 2 else {
            "role": rng.choice(["user", "assistant", None]), "content": None if rng.random() < null_share else text()}

    def some(make, most=4):
        return [make() for _ in range(rng.randrange(most))]

    moment = datetime.datetime(2024, 5, 1, 12, 34, 56, 789012)
    step = datetime.timedelta(days=37, seconds=5, microseconds=1001)
    utc = datetime.timezone.utc
    number = lambda bits: rng.randrange(-2**(bits - 1), 2**(bits - 1)) if rng.random() < 0.5 else rng.randrange(100)
    pa = pyarrow
    message_type = pa.struct([("role", pa.string()), ("content", pa.string())])
    return {
        "text": (pa.string(), maybe(text)),
        "few": (pa.string(), maybe(lambda: rng.choice(WORDS))),
        "rising": (pa.string(), [f"https://example.org/{i:06d}/page" for i in range(num_rows)]),
        "raw": (pa.binary(), maybe(lambda: text().encode())),
        "fixed": (pa.binary(5), maybe(lambda: b"%05d" % rng.randrange(100000))),
        "flag": (pa.bool_(), maybe(lambda: rng.random() < 0.3)),
        "int8": (pa.int8(), maybe(lambda: number(8))),
        "int32": (pa.int32(), maybe(lambda: number(32))),
        "int64": (pa.int64(), maybe(lambda: number(64))),
        "uint32": (pa.uint32(), maybe(lambda: rng.randrange(2**32))),
        "uint64": (pa.uint64(), maybe(lambda: rng.randrange(2**64))),
        "count": (pa.int32(), list(range(num_rows))),
        "float": (pa.float32(), maybe(lambda: rng.choice([0.5, -1.25, 3e-5, 1e30]))),
        "double": (pa.float64(), maybe(lambda: rng.random() * 10**rng.randrange(-5, 5))),
        "money": (pa.decimal128(12, 2), maybe(lambda: decimal.Decimal(rng.randrange(-10**9, 10**9)) / 100)),
        "huge": (pa.decimal256(60, 5), maybe(lambda: decimal.Decimal(rng.randrange(-10**30, 10**30)).scaleb(-5))),
        "day": (pa.date32(), maybe(lambda: (moment + rng.randrange(-900, 900) * step).date())),
        "at_ms": (pa.timestamp("ms"), maybe(lambda: (moment + rng.randrange(-900, 900) * step).replace(microsecond=7000))),
        "at_us": (pa.timestamp("us", "UTC"), maybe(lambda: (moment + rng.randrange(-900, 900) * step).replace(tzinfo=utc))),
        "clock": (pa.time64("us"), maybe(lambda: (moment + rng.randrange(900) * step).time())),
        "tokens": (pa.list_(pa.int64()), maybe(lambda: some(lambda: rng.choice([None, 1, 50000])))),
        "names": (pa.list_(pa.string()), maybe(lambda: some(lambda: None if rng.random() < null_share else text()))),
        "messages": (pa.list_(message_type), maybe(lambda: some(message))),
        "meta": (pa.struct([("url", pa.string()), ("score", pa.float64()), ("tags", pa.list_(pa.string()))]),
                 maybe(lambda: {"url": rng.choice([None, "u"]), "score": 0.25, "tags": some(text, 3)})),
        "map": (pa.map_(pa.string(), pa.int32()), maybe(lambda: [(f"k{i}", rng.choice([None, i])) for i in range(rng.randrange(3))])),
        "deep": (pa.list_(pa.list_(pa.string())), maybe(lambda: some(lambda: rng.choice([None, [], ["x", None], ["y"]])))),
        "nothing": (pa.null(), [None] * num_rows),
    }


def table(names, num_rows, null_share=0.2, seed=1):
    """A pyarrow table with these of the columns above."""
    made = columns(random.Random(seed), num_rows, null_share)
    return pyarrow.table({name: pyarrow.array(made[name][1], made[name][0]) for name in names})


def rows(made_table):
    return [expected(row) for row in made_table.to_pylist()]
