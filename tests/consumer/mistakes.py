#!/usr/bin/env python3
"""Each mistake in the table of chainbase/types.md is one error of the compiler, in the words that it says.

    mistakes.py ROOT COMPILER...
"""

import re
import subprocess
import sys
from pathlib import Path

HEAD = """
#include <chainbase/database.hpp>
#include <string>
using namespace chainbase;
struct by_x;
struct by_y;
struct other { int z = 0; };
"""
TYPE = """
struct account {{
    {first}
    int x = 0;
    int y = 0;
    {member}
    {keys}
}};
{describe}
"""
BODY = """
int main() {{
    database db("state");
    db.add_type<account>("account");
    const account& made = db.create<account>([](account& a) {{ a.x = 1; }});
    db.modify(made, [](account& a) {{ a.y = 2; }});
    {call}
    db.remove(made);
}}
"""
KEYS = "using keys = chainbase::keys<{}>;".format
BY_X = "ordered_unique<by_x, &account::x>"
FIND = "if (db.find<account, by_x>(1)) return 1;"


def source(first="chainbase::id<account> id;", member="", keys=KEYS(BY_X), names="id, x, y", call=FIND, before=""):
    describe = f"BOOST_DESCRIBE_STRUCT(account, (), ({names}))" if names else ""
    return HEAD + before + TYPE.format(first=first, member=member, keys=keys, describe=describe) + BODY.format(call=call)


MISTAKES = {
    "`std::string name;` in a type": source(member="std::string name;", names="id, x, y, name"),
    "`char* name;` in a type": source(member="char* name = nullptr;", names="id, x, y, name"),
    "a member that is not described": source(names="id, x"),
    "no `BOOST_DESCRIBE_STRUCT`": source(names=""),
    "`id` is not the first member": source(first="int w = 0; chainbase::id<account> id;", names="w, id, x, y"),
    "no member type `keys`": source(keys=""),
    "one tag for two keys": source(keys=KEYS(BY_X + ", ordered_unique<by_x, &account::y>")),
    "a part of a key is another type's member": source(keys=KEYS("ordered_unique<by_x, &other::z>")),
    "a part of a key is no part: `ordered_unique<by_x, 5>`": source(keys=KEYS("ordered_unique<by_x, 5>")),
    "`find` by a tag that no key has": source(call="if (db.find<account, by_y>(1)) return 1;"),
    "an ordered key of a type without `operator<`": source(
        member="other o;", names="id, x, y, o", keys=KEYS("ordered_unique<by_x, &account::o>"), call=""),
    "a hashed key of a `double`": source(
        member="double d = 0;", names="id, x, y, d", keys=KEYS("hashed_unique<by_x, &account::d>"), call=""),
    "a btree key of a `double`": source(
        member="double d = 0;", names="id, x, y, d", keys=KEYS("btree_unique<by_x, &account::d>"), call=""),
    "a btree key of a function": source(
        member="int worth() const { return x; }", keys=KEYS("btree_unique<by_x, &account::worth>"), call=""),
    "a part of a hashed key as `compared_by`": source(
        before="struct less { bool operator()(int a, int b) const { return a < b; } };",
        keys=KEYS("hashed_unique<by_x, compared_by<&account::x, less>>"), call=""),
    "`find` by some of the values of a hashed key": source(
        keys=KEYS("hashed_unique<by_x, &account::x, &account::y>")),
    "more values than the key has parts": source(call="if (db.find<account, by_x>(1, 2)) return 1;"),
    "`find` by a value of another type: `find<account, by_x>(std::string(\"1\"))`": source(
        call='if (db.find<account, by_x>(std::string("1"))) return 1;'),
    "`get_or_create` by a tag that no key has": source(
        call="(void)db.get_or_create<account, by_y>(1, [](account&) {});"),
    "`get_or_create` by some of the values of a key": source(
        keys=KEYS("ordered_unique<by_x, &account::x, &account::y>"),
        call="(void)db.get_or_create<account, by_x>(1, [](account&) {});"),
    "a part of a key is a member function that is not const": source(
        member="int worth() { return x; }", keys=KEYS("ordered_unique<by_x, &account::worth>"), call=""),
    "a comparator of other values": source(
        before="struct less { bool operator()(const char* a, const char* b) const { return a < b; } };",
        keys=KEYS("ordered_unique<by_x, compared_by<&account::x, less>>"), call=""),
    "a vector of `std::string`": source(member="shared_vector<std::string> names;", names="id, x, y, names"),
}


def errors(compiler, root, text):
    call = [compiler, "-std=c++20", "-fsyntax-only", f"-I{root}", "-x", "c++", "-"]
    run = subprocess.run(call, input=text, capture_output=True, text=True)
    return run.returncode, run.stderr


def main():
    root, *compilers = sys.argv[1:]
    page = (Path(root) / "chainbase/types.md").read_text()
    table = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", page.split("## Mistakes")[1], re.M)[1:])
    wrong = []
    if set(table) != set(MISTAKES):
        wrong.append(f"the table and this test differ: {set(table) ^ set(MISTAKES)}")
    for compiler in compilers:
        code, said = errors(compiler, root, source())
        if code != 0:
            wrong.append(f"{compiler}: without any mistake\n{said[:3000]}")
        for mistake, text in MISTAKES.items():
            code, said = errors(compiler, root, text)
            lines = [line for line in said.splitlines() if re.search(r"\berror: ", line)]
            if code == 0 or len(lines) != 1 or table[mistake] not in lines[0]:
                wrong.append(f"{compiler}: {mistake}: wanted one error, with \"{table[mistake]}\"\n" + "\n".join(
                    line[:300] for line in lines or ["no error"]))
            elif "account" not in said and "shared_vector<" not in said:
                wrong.append(f"{compiler}: {mistake}: does not name the type\n{said[:2000]}")
    print("\n\n".join(wrong) or f"{len(MISTAKES)} mistakes, one error each")
    return bool(wrong)


sys.exit(main())
