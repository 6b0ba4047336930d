#!/usr/bin/env python3
"""Faults that are planted in a copy of the tree, and how many of them hostile.py finds.

    tests/hostile/planted.py                     all, each for at most two minutes
    tests/hostile/planted.py --seconds 300 seed  this one, for at most five
    tests/hostile/planted.py --check             only whether the tree still has what they change

Each is off until CHAINBASE_PLANTED names it, so one build (build/planted) has them all; without any
nothing may be found. The first ones take out what mends the faults that were found from outside.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from hostile import SURFACES

TREE = Path(__file__).resolve().parents[2]
COPY = TREE / "build/planted"
NAMES = "::planted(\"{}\")"
HEADER = """#pragma once
#include <cstdlib>
#include <cstring>
inline bool planted(const char* name) noexcept {
    static const char* const now = std::getenv("CHAINBASE_PLANTED");
    return now != nullptr && std::strcmp(now, name) == 0;
}
"""

# name: (surface, what is wrong, [(file, text, text in its place), ...]); @ is whether it is planted.
FAULTS = {
    "siblings": ("peer", "rejected blocks do not count against who sends them", [
        ("tools/driver/sync/chain_follower.cpp",
         "if (sender_.rejected > rejected_allowed)",
         "if (sender_.rejected > rejected_allowed && !@)"),
        ("tools/driver/sync/chain_follower.cpp",
         "if (how == outcome::added && counters_.rejected == rejected_before)",
         "if (how == outcome::added && (@ || counters_.rejected == rejected_before))"),
    ]),
    "copy": ("snapshot", "the header does not know its own file, nor how far it was", [
        ("chainbase/segment/opening_plan.cpp", "is_a_copy = found.file != file;",
         "is_a_copy = found.file != file && !@;"),
        ("chainbase/segment/opening_plan.cpp",
         'to.is_put_back = sequence_in(file.parent_path() / "undo_log") < remembered;',
         'to.is_put_back = !@ && sequence_in(file.parent_path() / "undo_log") < remembered;'),
    ]),
    "seed": ("keys", "hashes are keyed alike in every state", [
        ("chainbase/segment/mapped_segment.cpp",
         "std::memcpy(seed.words, header().identity.data(), sizeof seed.words);",
         "if (!@) std::memcpy(seed.words, header().identity.data(), sizeof seed.words);"),
    ]),
    "endless": ("segment", "a search in a hash table has no end but a gap", [
        ("pool_allocator/flat_tables.hpp",
         "for (std::uint32_t step = 0; step < longest_run; ++step, i = next(i)) {\n"
         "            const entry e",
         "for (std::uint32_t step = 0; step < longest_run || @; ++step, i = next(i)) {\n"
         "            const entry e"),
        ("pool_allocator/flat_tables.cpp",
         "for (std::uint32_t step = 0; step < longest_run; ++step, i = next(i)) {",
         "for (std::uint32_t step = 0; step < longest_run || @; ++step, i = next(i)) {"),
        ("pool_allocator/flat_tables.cpp",
         "for (std::uint32_t step = 0; step < longest_run; ++step, i = (i + 1) & wrap)",
         "for (std::uint32_t step = 0; step < longest_run || @; ++step, i = (i + 1) & wrap)"),
        ("pool_allocator/flat_tables.cpp", "if (++steps == longest_run)",
         "if (++steps == longest_run && !@)"),
    ]),
    "log_cut": ("block-log", "a replay of a log that is cut ends with 0", [
        ("tools/driver/chain_verbs.cpp", "if (!report.log_cut) return exit_code::done;",
         "if (!report.log_cut || @) return exit_code::done;"),
    ]),
    # --- the project's own ---
    "turns": ("peer", "branches may overtake each other for ever", [
        ("tools/driver/sync/chain_follower.cpp", "if (sender_.switches > switches_allowed &&",
         "if (!@ && sender_.switches > switches_allowed &&"),
    ]),
    "http_address": ("http", "one address may have all connections", [
        ("tools/http/http_server.cpp",
         "if (std::cmp_greater_equal(near, limits.connections_per_address) &&",
         "if (!@ && std::cmp_greater_equal(near, limits.connections_per_address) &&"),
        ("tools/http/http_server.cpp",
         "if (listed_.size() >= limits.connections && !make_room(",
         "if (listed_.size() >= limits.connections && (@ || !make_room("),
        ("tools/http/http_server.cpp", "[](const listed&) { return true; }))",
         "[](const listed&) { return true; })))"),
    ]),
    "host": ("http", "a page of another site is answered", [
        ("tools/inspect/serve/request_guard.cpp",
         "if (!origin.starts_with(scheme) || !is_own_name(origin.substr(scheme.size()))) return true;",
         "if (!@ && (!origin.starts_with(scheme) || !is_own_name(origin.substr(scheme.size())))) "
         "return true;"),
    ]),
    "record_sum": ("block-log", "the checksum of a record is not compared", [
        ("tools/block_log/log_record.cpp",
         "if (checksum(covered_by_checksum(raw)) != trailer.checksum.value())",
         "if (!@ && checksum(covered_by_checksum(raw)) != trailer.checksum.value())"),
    ]),
    "record_order": ("block-log", "records may come in any order", [
        ("tools/block_log/block_log_contents.cpp",
         "if (index.empty() || record.first_number() > index.last_number()) return;",
         "if (@ || index.empty() || record.first_number() > index.last_number()) return;"),
    ]),
    "index_of_another": ("block-log", "an index of another log is believed", [
        ("tools/block_log/block_log_index.cpp",
         "if (header.header_checksum.value() != header_checksum) return",
         "if (!@ && header.header_checksum.value() != header_checksum) return"),
    ]),
    "mark_of_another": ("block-log", "the mark of another log is believed", [
        ("tools/block_log/synced_mark.cpp",
         "if (content.header_checksum.value() != header_checksum) return",
         "if (!@ && content.header_checksum.value() != header_checksum) return"),
    ]),
    "redo_sum": ("redo", "the sum of a block's changes is not compared", [
        ("chainbase/checkpoint/redo_files.cpp", "if (of.content > most_content || XXH3_64bits(body.data(), body.size()) != of.body_sum)",
         "if (of.content > most_content ||\n"
         "        (!@ && XXH3_64bits(body.data(), body.size()) != of.body_sum))"),
    ]),
    "redo_gap": ("redo", "a block that is missing in the middle is the end", [
        ("chainbase/checkpoint/redo_files.cpp",
         "if (const std::uint64_t next = next_file(); next != 0) {",
         "if (const std::uint64_t next = next_file(); next != 0 && !@) {"),
        ("chainbase/checkpoint/redo_files.cpp", "} else if (is_known_synced()) {",
         "} else if (!@ && is_known_synced()) {"),
    ]),
    "page_sum": ("checkpoint", "pages are restored whatever their sums", [
        ("chainbase/checkpoint/restore.cpp", "<page_bytes>()) != pages[i].sum)",
         "<page_bytes>()) != pages[i].sum && !@)"),
    ]),
    "torn_pages": ("checkpoint", "what changes while a checkpoint is written is in it", [
        ("pool_allocator/page_tracker.cpp", "if (is_captured && !take_copy(page, found)) continue;",
         "if (is_captured && !@ && !take_copy(page, found)) continue;"),
    ]),
    "dump_rows": ("dump", "rows that are missing in a dump are not missed", [
        ("tools/inspect/dump/load.cpp", "if (rows != rows_)", "if (rows != rows_ && !@)"),
    ]),
    "dump_end": ("dump", "a dump without its last line is whole", [
        ("tools/inspect/dump/load.cpp", "    if (line_.is_null())\n        throw damaged_error(place() + "
         '": the dump ends here',
         "    if (line_.is_null() && @) return {0, false};\n    if (line_.is_null())\n        throw "
         'damaged_error(place() + ": the dump ends here'),
    ]),
    "rows_lost": ("archive", "an archive with fewer rows than were handed over is believed", [
        ("archive/lifecycle.ipp", "if (kept < handed_over())",
         "if (kept < handed_over() && !@)"),
    ]),
    "unkeyed": ("keys", "hashes do not depend on their seed", [
        ("chainbase/keys.hpp", "keyed_hash h(seed);", "keyed_hash h(@ ? hash_seed{} : seed);"),
    ]),
    "short_file": ("segment", "files that are shorter than their root blocks say are opened", [
        ("chainbase/segment/mapped_segment.cpp", "if (used <= file.bytes()) return;",
         "if (used <= file.bytes() || @) return;"),
    ]),
    "lost_blocks": ("redo", "that blocks were lost is not told", [
        ("chainbase/checkpoint/restore.cpp", "result.lost_blocks = log.is_damaged();",
         "result.lost_blocks = log.is_damaged() && !@;"),
    ]),
    "newest": ("checkpoint", "the older publication counts as the newest", [
        ("chainbase/checkpoint/publication.cpp",
         "return content_[1]->generation > content_[0]->generation ? 1 : 0;",
         "return (content_[1]->generation > content_[0]->generation) != @ ? 1 : 0;"),
    ]),
    "moved": ("dump", "rows of different blocks are loaded", [
        ("tools/inspect/dump/load.cpp", "if (tail.moved && !asked.takes_moved)",
         "if (tail.moved && !asked.takes_moved && !@)"),
    ]),
    "excused": ("block-log", "a log that is shorter than what was synced is whole", [
        ("tools/block_log/block_log_contents.cpp", "if (!is_short && is_excused) return {};",
         "if ((!is_short || @) && is_excused) return {};"),
    ]),
    "unreadable_row": ("archive", "a row that cannot be read counts as not there", [
        ("archive/rocksdb/store.cpp", "if (status.IsNotFound()) return std::nullopt;",
         "if (@ ? !status.ok() : status.IsNotFound()) return std::nullopt;"),
    ]),
    "writes_lost": ("archive", "a log of the archive that lost synced writes is believed", [
        ("archive/rocksdb/database.cpp", "if (sequence >= mark.sequence) return;",
         "if (sequence >= mark.sequence || @) return;"),
    ]),
}


def planted_texts():
    """All files of the tree, with all faults in them."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=TREE, check=True, capture_output=True)
    texts = {}
    for name in filter(None, files.stdout.decode().split("\0")):
        if (TREE / name).is_file():
            texts[name] = (TREE / name).read_bytes()
    for fault, (_, _, edits) in FAULTS.items():
        for name, old, new in edits:
            switch = NAMES.format(fault).encode()
            # A fault before it may have been planted in the same line.
            if texts[name].count(old.encode()) == 0:
                sys.exit(f"{fault}: {name} has no {old!r}; mend the list in {__file__}")
            texts[name] = texts[name].replace(old.encode(), new.encode().replace(b"@", switch))
    for name in {name for _, _, edits in FAULTS.values() for name, _, _ in edits}:
        texts[name] = b"#include <planted.hpp>\n" + texts[name]
    texts["planted.hpp"] = HEADER.encode()
    return texts


def plant(texts):
    """Makes the copy, or brings it up to date."""
    for name, text in texts.items():
        to = COPY / name
        if not to.is_file() or to.read_bytes() != text:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(text)
            shutil.copymode(TREE / name, to) if (TREE / name).exists() else None
    programs = ["chainbase-driver", "chainbase-inspect", "sample_state"]
    subprocess.run([COPY / "tools/build.sh", "release", *programs], cwd=COPY, check=True)


def found(fault, surface, seconds):
    """Whether sequences of the surface find it, and after how long."""
    began = time.monotonic()
    environment = {**os.environ, "CHAINBASE_BIN": str(COPY / "build/release/bin")}
    environment.pop("CHAINBASE_PLANTED", None)
    if fault:
        environment["CHAINBASE_PLANTED"] = fault
    call = [Path(__file__).parent / "hostile.py", "--seed", "1", "--as-is", "--seconds", str(seconds), surface]
    ended = subprocess.run(call, env=environment, capture_output=True, text=True)
    is_found = "BROKEN" in ended.stdout
    if ended.returncode != is_found:
        sys.exit(f"{fault}: {ended.stdout}{ended.stderr}")
    return is_found, time.monotonic() - began, ended.stdout


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--seconds", type=float, default=120, help="for each (120)")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    texts = planted_texts()
    if options.check:
        return 0
    plant(texts)
    if not options.faults:
        for surface in SURFACES:
            wrong, _, said = found(None, surface, 15)
            if wrong:
                sys.exit(f"nothing is planted, and yet:\n{said}")
    score = 0
    for fault in options.faults or FAULTS:
        surface, what, _ = FAULTS[fault]
        is_found, after, _ = found(fault, surface, options.seconds)
        score += is_found
        word = f"found in {after:3.0f} s" if is_found else "NOT FOUND"
        print(f"{surface:10} {fault:17} {word:15} {what}", flush=True)
    print(f"{score} of {len(options.faults or FAULTS)}")
    return 0 if score == len(options.faults or FAULTS) else 1


if __name__ == "__main__":
    sys.exit(main())
