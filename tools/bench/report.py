#!/usr/bin/python3
"""Makes the tables and pictures of README.md, and the figures of the main one, from the raw results in results/: the
--json of one run of each bench, and the --csv of `growth`.

    tools/bench/report.py                    writes them
    tools/bench/report.py --check            compares them; prints what differs, and then ends with 1
    tools/bench/report.py --measure [NAME..] runs the benches of build/release/bin first and keeps what they print

On a page a table stands between `<!-- NAME -->` and `<!-- end -->`. Pictures need gnuplot (Debian: gnuplot-nox);
another version than the one that drew them draws them otherwise, so --check compares those of the same one only.
"""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
PROGRAMS = TREE / "build/release/bin"
CHAINS = HERE.parent / "chains"
GENERATED = TREE / "build/social.blocks"
CALLS = {
    "bank": "--transfers 200000 --synced-batches 50",
    "account": "--engines chainbase,classical,heap,lmdb,rocksdb",
    "chain": f"--log {GENERATED} --log {CHAINS}/social/data/steem-2016.blocks "
             f"--log {CHAINS}/swap/data/eos-swap-2022.blocks --engines chainbase,classical,classical_hashed",
    "crash": "--objects 1000000",
    "readers": "--milliseconds 1000",
    "root": "",
}
OWN = "chainbase"
BATCHES = (1, 100, 10000)
UNSYNCED = ("chainbase", "chainbase_locked", "classical_hashed", "lmdb", "rocksdb")
SYNCED = ("chainbase_commit", "lmdb_sync", "rocksdb_sync")


# --- results ---


class Result:
    def __init__(self, about, rows):
        self.about = about
        self.values = {(row["engine"], row["operation"]): row["value"] for row in rows}
        self.engines = list(dict.fromkeys(row["engine"] for row in rows))
        self.scatter = [max(row["samples"]) / min(row["samples"]) for row in rows if min(row["samples"]) > 0]

    def get(self, engine, operation):
        return self.values.get((engine, operation))


def results():
    """By name; the bench `chain` has one for each log."""
    found = {}
    for name in CALLS:
        about = json.loads((HERE / f"results/{name}.json").read_text())
        if name != "chain":
            found[name] = Result(about, about["rows"])
            continue
        found[name] = {log["log"]: Result({**about, **log}, log["rows"]) for log in about["logs"]}
    return found


def measure(names):
    if "chain" in names and not GENERATED.exists():
        subprocess.run([PROGRAMS / "chainbase-driver", "generate", "--operations", "2000000", "--seed", "1", "--to",
                        GENERATED], check=True)
    (HERE / "results").mkdir(exist_ok=True)
    for name in names:
        call = [PROGRAMS / "chainbase-bench", name, *CALLS[name].split(), "--json"]
        printed = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout
        (HERE / f"results/{name}.json").write_text(printed)


# --- tables ---


def text(value):
    """Three digits, or all of a whole number."""
    if value is None:
        return ""
    if value < 0.001:
        return "0"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def table(head, rows, words=1):
    """The first `words` columns are of words, the others of figures."""
    lines = [head, ["---"] * words + ["---:"] * (len(head) - words), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def compared(values, better=min, own=1):
    """Cells; the first `own` are chainbase's, and bold where another engine is better."""
    others = [value for value in values[own:] if value is not None]
    cells = [text(value) for value in values]
    for place, value in enumerate(values[:own]):
        if value is not None and better([value, *others]) != value:
            cells[place] = f"**{cells[place]}**"
    return cells


def bank_table(bank, engines):
    def rates(operation):
        times = [bank.get(engine, operation) for engine in engines]
        own = sum(engine.startswith(OWN) for engine in engines)
        return compared([time and 1e6 / time for time in times], max, own)

    rows = []
    for batch in BATCHES:
        rows.append([f"batches of {batch:,}: transfers", *rates(f"transfer_{batch}")])
        rows.append(["the same, beside a reader", *rates(f"transfer_{batch}_beside_reader")])
        rows.append(["what that reads", *rates(f"read_beside_{batch}")])
    return table(["thousands a second", *map(code, engines)], rows)


def code(name):
    return f"`{name}`"


def plain_table(result, first, rows, engines=None):
    """Of (label, operation, divisor)."""
    engines = engines or result.engines
    return table([first, *map(code, engines)], rows_of(result, rows, engines))


def rows_of(result, rows, engines):
    return [[label, *compared([value and value / divisor for value in
                               (result.get(engine, operation) for engine in engines)])]
            for label, operation, divisor in rows]


ACCOUNT = (
    ("create", "create"), ("find by id", "find_by_id"), ("find by name, ordered", "find_by_name"),
    ("find by name, hashed", "find_by_name_hashed"), ("walk by name, each", "iterate_by_name"),
    ("modify", "modify"), ("modify a key", "modify_key"), ("remove", "remove"),
    ("create in a session", "session_create"), ("undo of that", "undo_create"),
    ("modify in a session", "session_modify"), ("undo of that", "undo_modify"),
    ("remove in a session", "session_remove"), ("undo of that", "undo_remove"),
    ("an empty session, 60 types", "empty_session"), ("a session of 3 changes, undone", "session_3_undo"),
    ("squash of a session of 10,000 objects", "squash"), ("commit of one", "commit_call"),
    ("bytes an object", "object_bytes"), ("the same after a third was removed", "object_bytes_after_third_removed"),
)


CHAIN = (("replay, ns an operation", "replay", 1), ("sync, ns an operation", "sync", 1),
         ("a live block, ms", "live_block", 1e6), ("memory, MiB", "state_bytes", 1 << 20))


def chain_rows(logs, engines):
    rows = []
    for log in logs.values():
        name = log.about["log"].removesuffix(".blocks")
        name = f"generated {log.about['operations'] // 10**6} M" if name == GENERATED.stem else name
        rows += rows_of(log, [(f"{name}: {label}", *what) for label, *what in CHAIN], engines)
    return rows


CRASH = {  # what a loss of power costs: all (0), some blocks (1), none (2)
    "chainbase": (1, "the last checkpoint, of each tenth block"), "chainbase_process": (0, "nothing"),
    "chainbase_commit": (2, "the block"), "chainbase_synced": (2, "the block"),
    "lmdb_sync": (2, "the block"), "lmdb_nosync": (0, "nothing that is sure to open"),
    "rocksdb_sync": (2, "the block"), "rocksdb_nosync": (1, "an earlier block"),
    "sqlite_full": (2, "the block"), "sqlite_normal": (1, "an earlier block"),
}


def crash_table(crash):
    columns = (("a block, ms", "block", 1e6), ("written for it, KiB", "written_bytes_per_block", 1024),
               ("open after a kill, ms", "reopen_after_kill", 1e6), ("open, ms", "open_clean", 1e6),
               ("close, ms", "close_clean", 1e6))

    def cell(engine, operation, divisor):
        value = crash.get(engine, operation)
        loses = value is not None and any(
            (crash.get(other, operation) or value) < value for other in crash.engines
            if not other.startswith(OWN) and CRASH[other][0] >= CRASH[engine][0])
        shown = text(value and value / divisor)
        return f"**{shown}**" if engine.startswith(OWN) and loses else shown

    return table(["", "left after a loss of power", *(name for name, *_ in columns)],
                 [[code(engine), CRASH[engine][1], *(cell(engine, *what) for _, *what in columns)]
                  for engine in crash.engines], 2)


def readers_table(readers):
    settings = (
        ("inspectors that stay: a look each second", "attached"),
        ("inspectors that pause for two seconds", "pausing"),
        ("inspectors without a pause, lowest priority", "low_priority"),
        ("inspectors without a pause", "busy"), ("threads with a read lock", "locked"),
        ("threads, a new snapshot each time", "snapshot"), ("threads, one snapshot each, renewed", "renewed"),
        ("threads with a `read_pool`", "pool"))
    alone = readers.get(OWN, "block_processor_alone")
    return table(["beside the writer", "a block, to one alone", "the writer's processor time, to that alone",
                  "waiting for the lock, to a block alone", "a look-up again, ns", "its p99"], [
        [label, text(readers.get(OWN, f"block_to_alone_{setting}")),
         text(readers.get(OWN, f"block_processor_{setting}") / alone),
         *(text(readers.get(OWN, row.format(setting))) for row in ("lock_to_block_{}", "{}_read", "{}_read_p99"))]
        for label, setting in settings])


ROOT = (
    ("50,000 changes and the new root, two threads, ms", "update_50000_two_threads", 1e6),
    ("the root of a block of 800 changes, behind its end, ms", "root_ready_after_block", 1e6),
    ("a proof, µs", "prove", 1e3), ("its verification, µs", "verify", 1e3), ("its bytes", "proof_bytes", 1),
    ("memory an object, bytes", "bytes_per_object", 1),
    ("a replay with a root for each block, to one without", "replay_with_root_to_without", 1),
    ("the same of payments", "payments_replay_with_root_to_without", 1),
)


def parts(result):
    return list(result.values()) if isinstance(result, dict) else [result]


def runs_table(found):
    def run(name, result):
        about = parts(result)[0].about
        call = CALLS[name]
        for folder in (f"{GENERATED.parent}/", f"{CHAINS}/"):
            call = call.replace(folder, "" if folder.startswith(str(GENERATED.parent)) else "tools/chains/")
        machine = about["machine"]
        scatter = median([each for part in parts(result) for each in part.scatter])
        return [code(f"chainbase-bench {name} {call}".strip()), machine["file_system"].split()[0], str(about["rounds"]),
                f"{machine['load']:.1f}", f"{scatter:.2f}" if about["rounds"] > 1 else ""]

    return table(["call", "files on", "rounds", "load at its beginning", "scatter"],
                 [run(*one) for one in found.items()], 2)


def machines(found):
    lines = []
    for result in found.values():
        machine = parts(result)[0].about["machine"]
        lines.append(f"{machine['cores']} cores of {machine['cpu']}, {machine['memory'] / 2**30:.0f} GiB, "
                     f"{machine['kernel']}, {machine['compiler']} -O3, huge pages {machine['huge_pages']}.\n")
    return "\n".join(dict.fromkeys(lines))


def summary_table(found):
    engines = (OWN, "classical")
    account = [(f"{label}, ns", operation, 1) for label, operation in (
        ("create, 3 keys", "create"), ("find by id", "find_by_id"), ("find by name, hashed", "find_by_name_hashed"),
        ("find by name, ordered", "find_by_name"), ("modify", "modify"), ("modify in a session", "session_modify"),
        ("undo of that", "undo_modify"))]
    account.append(("bytes an object", "object_bytes", 1))
    return table(["", *engines], rows_of(found["account"], account, engines) + chain_rows(found["chain"], engines))


def tables(found):
    """By page, and name."""
    account = [(label, operation, 1) for label, operation in ACCOUNT]
    chains = (OWN, "classical", "classical_hashed")
    return {TREE / "README.md": {"figures": summary_table(found)}, HERE / "README.md": {
        "machine": machines(found),
        "runs": runs_table(found),
        "bank": bank_table(found["bank"], UNSYNCED),
        "bank, synced": bank_table(found["bank"], SYNCED),
        "account": plain_table(found["account"], "ns, or bytes", account),
        "chain": table(["", *map(code, chains)], chain_rows(found["chain"], chains)),
        "crash": crash_table(found["crash"]),
        "readers": readers_table(found["readers"]),
        "root": plain_table(found["root"], "1,000,000 objects", ROOT, [OWN]),
    }}


# --- pictures ---

COLOURS = {"chainbase": "#1b6ca8", "classical": "#d1495b", "lmdb": "#edae49", "rocksdb": "#6a994e", "heap": "#888888"}
STYLE = """set terminal svg size {0},{1} font 'sans-serif,12' background '#ffffff'
set grid y lc '#dddddd'
set tics nomirror
set border 3
set style fill solid noborder
set style data histogram
set style histogram cluster gap 1
set boxwidth 0.9
set logscale y
"""


def colour(engine):
    return next(shade for name, shade in COLOURS.items() if engine.startswith(name))


def bars(title, groups, engines, value):
    """A panel: for each group a bar for each engine."""
    lines = [f'"{label}" ' + " ".join(str(value(engine, group) or "NaN") for engine in engines)
             for label, group in groups]
    columns = ", ".join(f"$d using {at}:xtic(1) title '{engine}' noenhanced lc '{colour(engine)}'"
                        for at, engine in enumerate(engines, 2))
    return "$d << END\n" + "\n".join(lines) + f"\nEND\nset title '{title}'\nplot {columns}\n"


def bank_picture(bank):
    def rate(row):
        def of(engine, batch):
            time = bank.get(engine, row.format(batch))
            return time and 1e9 / time
        return of

    groups = [(f"{batch:,}", batch) for batch in BATCHES]
    return (STYLE.format(960, 360) + "set multiplot layout 1,3\nset format y '%.0s%c'\nset bmargin 8\nset key below maxrows 4\n"
            + "set xlabel 'transfers in a batch'\nset ytics 10\n"
            + bars("transfers a second, no sync", groups, UNSYNCED, rate("transfer_{}"))
            + bars("transfers a second, each batch synced", groups, SYNCED, rate("transfer_{}"))
            + bars("reads a second beside them, no sync", groups, [each for each in UNSYNCED if each != "classical_hashed"],
                   rate("read_beside_{}")) + "unset multiplot\n")


def account_picture(account):
    groups = (("create", "create"), ("find\\nby id", "find_by_id"), ("find\\nby name", "find_by_name"),
              ("walk\\nby name", "iterate_by_name"), ("modify", "modify"), ("modify\\na key", "modify_key"),
              ("remove", "remove"), ("create,\\nsession", "session_create"), ("modify,\\nsession", "session_modify"),
              ("undo of\\na modify", "undo_modify"), ("3 changes,\\nundone", "session_3_undo"))

    def to_own(engine, row):
        value = account.get(engine, row)
        return value and value / account.get(OWN, row)

    return (STYLE.format(960, 340) + "set bmargin 4\nset key top right horizontal\nset ylabel 'times of chainbase'\nset yrange [0.01:*]\n"
            + "set arrow from graph 0, first 1 to graph 1, first 1 nohead lw 2 lc '#1b6ca8'\n"
            + bars("", groups, [each for each in account.engines if each != OWN], to_own))


def growth_picture():
    with open(HERE / "results/growth.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [(engine, row) for engine in ("classical", "chainbase") for row in ("payment", "create")]
    data = "".join(
        f"$d{at} << END\n" + "".join(f"{int(row['objects']) / 1e6} {row['value']}\n" for row in rows
                                    if (row["engine"], row["operation"]) == line) + "END\n"
        for at, line in enumerate(lines))
    return (STYLE.format(720, 300) + data + "set key outside right\nset xlabel 'million accounts'\nset ylabel 'ns'\n"
            + "set style data lines\nset xrange [0:*]\nset yrange [100:20000]\nplot "
            + ", ".join(f"$d{at} title '{engine}, {row}' lw 2 lc '{colour(engine)}' dt {1 + (row == 'create')}"
                        for at, (engine, row) in enumerate(lines)) + "\n")


def draw(script):
    try:
        return subprocess.run(["gnuplot"], input=script, check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        sys.exit("report: there is no gnuplot (Debian: gnuplot-nox; tools/setup.sh installs it)")


def pictures(found):
    return {"bank.svg": draw(bank_picture(found["bank"])), "account.svg": draw(account_picture(found["account"])),
            "growth.svg": draw(growth_picture())}


# --- the pages ---


def page(path, made):
    def fill(match):
        if match[1] not in made:
            sys.exit(f"report: {path} has a place for {match[1]}, which is not made")
        return f"<!-- {match[1]} -->\n{made.pop(match[1])}<!-- end -->"

    filled = re.sub(r"<!-- ([a-z, ]+) -->\n.*?<!-- end -->", fill, path.read_text(), flags=re.S)
    if made:
        sys.exit(f"report: {path} has no place for {', '.join(made)}")
    return filled


def drawn_by(picture):
    return re.search(r"<desc>(.*?)</desc>", picture)[1]


def main(words):
    if words[:1] == ["--measure"]:
        measure(words[1:] or CALLS)
    found = results()
    files = {path: page(path, made) for path, made in tables(found).items()}
    files |= {HERE / "pictures" / name: made for name, made in pictures(found).items()}
    if words != ["--check"]:
        for file, content in files.items():
            file.parent.mkdir(exist_ok=True)
            file.write_text(content)
        return 0
    differ = [str(file) for file, content in files.items() if not file.exists() or (
        file.read_text() != content
        and (file.suffix != ".svg" or drawn_by(file.read_text()) == drawn_by(content)))]
    for file in differ:
        print(f"{file} is not what tools/bench/report.py makes of results/")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
