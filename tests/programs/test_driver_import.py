"""chainbase-driver import: tables become logs; what is malformed is named; no half log is left."""

import collections
import os
from pathlib import Path

import block_logs
import pytest
from block_logs import packed
from chains import CHAINS, EOS, STEEM, Replays, carried_log

DATA = ("steem-2016", "eos-swap-2022")


class Tables:
    """A folder of tables, and the log that is imported of them."""

    def __init__(self, driver, folder, data):
        self.driver, self.folder, self.data, self.log = driver, folder, data, folder / "log"

    def write(self, **tables):
        for name, content in tables.items():
            raw = content if isinstance(content, bytes) else packed(content)
            (self.folder / f"{name.replace('_', '.')}.zst").write_bytes(raw)
        return self

    def run(self, code=0):
        call = ["import", self.data, "--from", self.folder, "--to", self.log, "--json"]
        result = self.driver(*call, code=code)
        if code:
            assert not (self.folder / "log.unfinished").exists()
        return result

    def blocks(self):
        """The imported blocks, as print shows them."""
        self.log.unlink(missing_ok=True)
        report = self.run().json
        shown = self.driver("block-log", "print", self.log, "--operations").json_lines
        assert report["chain"] == self.data
        assert report["blocks"] == len(shown)
        assert report["bytes"] == self.log.stat().st_size
        for what in ("transactions", "operations"):
            assert report[what] == sum(one[what] for one in shown)
        return shown

    def refused(self, *words):
        self.run(code=1).says(*words)
        assert not self.log.exists()


@pytest.fixture
def eos(driver, scratch):
    return Tables(driver, scratch, "eos-swap-2022")


@pytest.fixture
def steem(driver, scratch):
    return Tables(driver, scratch, "steem-2016")


# --- eos-swap-2022 ---

COLUMNS = (
    "block_num,timestamp,transaction,owner,pair_id,quantity_in,"
    "quantity_out,fee,reserve0,reserve1\n"
)
REST = ",alice,7,0.0536 EOS,14.90 SX,0.0002 EOS,100.0000 EOS,2797.00 SX\n"
GOOD = "20,1000,1" + REST


def test_rows_become_blocks_transactions_and_operations_in_their_order(eos):
    rows = ["20,1000,1", "20,1000,1", "20,1000,2", "25,1002,3"]
    blocks = eos.write(swaps_csv=COLUMNS + "".join(row + REST for row in rows)).blocks()
    assert [(one["number"], one["time"]) for one in blocks] == [(20, 1000), (25, 1002)]
    assert [[len(part) for part in one["content"]] for one in blocks] == [[2, 1], [1]]

    def asset(amount, decimals, symbol):
        return {"amount": amount, "decimals": decimals, "symbol": symbol}

    assert blocks[1]["content"][0][0] == {
        "kind": "swap",
        "owner": "alice",
        "pair_id": 7,
        "quantity_in": asset(536, 4, "EOS"),
        "quantity_out": asset(1490, 2, "SX"),
        "fee": asset(2, 4, "EOS"),
        "reserve0": asset(1000000, 4, "EOS"),
        "reserve1": asset(279700, 2, "SX"),
    }


def test_an_import_shows_how_far_the_table_is_read(eos):
    rows = "".join(f"{20 + number},{1000 + number},{1 + number}{REST}" for number in range(100_000))
    eos.write(swaps_csv=COLUMNS + rows)
    call = ["import", eos.data, "--from", eos.folder, "--to", eos.log]
    result = eos.driver(*call, env={"CHAINBASE_PROGRESS_SECONDS": "0.001"})
    result.says("reading swaps.csv.zst: ", " %")


@pytest.mark.parametrize(
    "rows, words",
    [
        (GOOD + "20,1000\n", "swaps.csv.zst: line 3: has 2 columns"),
        (GOOD + "x,1000,1" + REST, 'line 3, column 1 (block_num): "x"'),
        ("-1,1000,1" + REST, "line 2, column 1 (block_num)"),
        (GOOD + "19,1000,2" + REST, "below the row before"),
        (GOOD + "20,1001,1" + REST, 'column 2 (timestamp): "1001"'),
        (GOOD + "21,999,2" + REST, "column 2 (timestamp)"),
        (GOOD + "20,1000,3" + REST, "column 3 (transaction)"),
        (GOOD + "21,1000,1" + REST, "column 3 (transaction)"),
        ("20,1000,1,,7,1 A,1 A,1 A,1 A,1 A\n", "column 4 (owner)"),
        ("20,1000,1,a,4294967296,1 A,1 A,1 A,1 A,1 A\n", "column 5 (pair_id)"),
        ("20,1000,1,a,7,1 A,1 A,0.5,1 A,1 A\n", 'column 8 (fee): "0.5"'),
        ("20,1000,1,a,7,1 A,1 A,1 A,1 A,1 A,\n", "has 11 columns"),
        ("\n", "line 2: has 1 columns"),
    ],
)
def test_a_malformed_row_is_refused_with_line_and_column_and_no_log_is_left(rows, words, eos):
    eos.write(swaps_csv=COLUMNS + rows).refused(words)


def test_a_table_with_other_columns_or_none_is_refused(eos):
    eos.write(swaps_csv="block_num,time" + COLUMNS[19:]).refused("line 1, column 2 (timestamp)")
    eos.write(swaps_csv="").refused("line 1")


def test_a_missing_foreign_or_truncated_table_is_refused_by_name(eos):
    table = str(eos.folder / "swaps.csv.zst")
    eos.refused(table)
    eos.write(swaps_csv=(COLUMNS + GOOD).encode()).refused(table)
    whole = packed(COLUMNS + GOOD)
    for size in range(len(whole)):
        eos.write(swaps_csv=whole[:size]).refused(table)
    eos.write(swaps_csv=whole).run()


def test_tables_of_any_size_and_frame_structure_are_read_to_the_last_byte(eos):
    # More than the 128 KiB that zstd hands out at a time.
    rows = [f"{21 + i},1000,{1 + i}{REST}" for i in range((600 << 10) // len(GOOD))]
    text = "".join(rows)

    def operations(content):
        eos.log.unlink(missing_ok=True)
        return eos.write(swaps_csv=content).run().json["operations"]

    assert operations(COLUMNS + text) == len(rows)
    half = len(text) // 2
    frames = packed(COLUMNS + text[:half]) + packed("") + packed(text[half:])
    assert operations(frames) == len(rows)
    assert operations(COLUMNS + text[:-1]) == len(rows)  # the last line needs no end
    # A first part of 100 KiB: the frame's parts no longer match the 128 KiB, and text is held back
    # when the input is used up.
    same = COLUMNS + 6000 * GOOD
    assert operations(packed(same[: 100 << 10], same[100 << 10 :])) == 6000
    # Text that ends exactly where the output buffer does.
    room, left = divmod((128 << 10) - len(COLUMNS), len(GOOD))
    owners = ["alice" + "o" * (left // room + (i < left % room)) for i in range(room)]
    exact = COLUMNS + "".join(GOOD.replace("alice", owner) for owner in owners)
    assert len(exact) == 128 << 10
    assert operations(exact) == room


@pytest.mark.parametrize("data", DATA)
def test_an_import_that_fails_ends_with_1_one_over_an_existing_file_with_2(data, driver, scratch):
    there = scratch / "there"
    there.write_text("something")
    driver("import", data, "--from", scratch, "--to", scratch / "x", code=1)
    driver("import", data, "--from", scratch, "--to", there, code=2)
    assert os.listdir(scratch) == ["there"] and there.read_text() == "something"


def test_an_existing_block_log_is_not_overwritten_a_leftover_is(eos):
    eos.write(swaps_csv=COLUMNS + GOOD)
    eos.log.write_text("precious")
    eos.run(code=2)
    assert eos.log.read_text() == "precious"
    eos.log.unlink()
    leftover = eos.folder / "log.unfinished"
    leftover.write_text("half")
    assert eos.run().json["operations"] == 1
    assert not leftover.exists()


# --- steem-2016 ---

POSTS = (
    "created,author,permlink,parent_author,parent_permlink,last_payout,total_payout,"
    "curator_payout,net_rshares,children,title_bytes,body_bytes\n"
)
VOTES = "voter,author,permlink,time,percent,rshares\n"
DAY = 1470009600  # 2016-08-01T00:00:00, when the posts of these tests are created
CREATED = "2016-08-01T00:00:00"


def post_row(permlink="p", payout=""):
    return f"{CREATED},bob,{permlink},,cat,{payout},1.5,0.25,-9,4,10,20\n"


POST = post_row()


def of_steem(steem, accounts="", posts=POST, votes=""):
    return steem.write(accounts_txt=accounts, posts_csv=POSTS + posts, votes_csv=VOTES + votes)


def timeline(steem, **tables):
    """Operations and the times of their blocks."""
    return [
        (one["time"], operation)
        for one in of_steem(steem, **tables).blocks()
        for part in one["content"]
        for operation in part
    ]


def vote_times(steem, **tables):
    """Voters and the times of their votes, from the post's creation on."""
    return [
        (one["voter"], time - DAY) for time, one in timeline(steem, **tables) if one["kind"] == "vote"
    ]


def test_accounts_come_first_sorted_with_those_that_the_table_lacks(steem):
    seen = timeline(steem, accounts="zed\nalice\n", votes="carol,bob,p,,,1\n")
    assert [(time, one["name"]) for time, one in seen[:4]] == [
        (DAY - 3, name) for name in ("alice", "bob", "carol", "zed")
    ]
    assert [time for time, _ in seen[4:]][0] == DAY and len(seen) == 6


def test_accounts_fill_blocks_of_a_thousand_in_the_slots_before_the_first_post(steem):
    names = "".join(f"account-{i}\n" for i in range(2001))
    times = [time for time, _ in timeline(steem, accounts=names)]
    counted = collections.Counter(times)
    assert counted == {DAY - 9: 1000, DAY - 6: 1000, DAY - 3: 2, DAY: 1}


def test_a_post_carries_what_the_table_says_a_payout_without_a_time_is_left_out(steem):
    posts = post_row("paid", "2016-08-02T00:00:00") + post_row("open")
    seen = [one for _, one in timeline(steem, posts=posts)]
    expected = {
        "kind": "comment",
        "author": "bob",
        "permlink": "paid",
        "parent_author": "",
        "parent_permlink": "cat",
        "title_bytes": 10,
        "body_bytes": 20,
        "cashout_time": DAY + 86400,
        "author_payout": 1500,
        "curator_payout": 250,
        "net_rshares": -9,
        "children": 4,
    }
    unpaid = {"permlink": "open", "cashout_time": 0, "author_payout": 0, "curator_payout": 0}
    assert seen[1:] == [expected, {**expected, **unpaid}]


def test_votes_without_a_time_are_spread_evenly_over_a_day_at_most(steem):
    votes = "".join(f"v{i},bob,p,,,1\n" for i in range(3))
    for payout, times in (
        ("", (21600, 43200, 64800)),
        ("2016-08-31T00:00:00", (21600, 43200, 64800)),
        ("2016-08-01T01:00:00", (900, 1800, 2700)),
        ("2016-08-01T00:00:10", (0, 3, 6)),  # 10/4, 20/4, 30/4, rounded down to the slot
    ):
        expected = [(f"v{i}", time) for i, time in enumerate(times)]
        assert vote_times(steem, posts=post_row(payout=payout), votes=votes) == expected
    # Those with a time do not count among them.
    votes = "v0,bob,p,,,1\nv1,bob,p,2016-08-01T00:00:30,,1\nv2,bob,p,,,1\n"
    assert vote_times(steem, votes=votes) == [("v1", 30), ("v0", 28800), ("v2", 57600)]


def test_a_votes_own_time_counts_kept_between_creation_and_cash_out(steem):
    for time, payout, expected in (
        ("2016-08-01T00:30:00", "2016-08-01T01:00:00", 1800),
        ("2016-08-01T00:30:02", "2016-08-01T01:00:00", 1800),
        ("2016-07-31T00:00:00", "2016-08-01T01:00:00", 0),
        ("2016-08-01T00:59:59", "2016-08-01T01:00:00", 3597),
        ("2016-08-01T01:00:00", "2016-08-01T01:00:00", 3597),
        ("2016-09-01T00:00:00", "2016-08-01T01:00:00", 3597),
        ("2016-08-02T00:00:00", "", 86400),
    ):
        vote = f"v,bob,p,{time},,1\n"
        assert vote_times(steem, posts=post_row(payout=payout), votes=vote) == [("v", expected)]


@pytest.mark.parametrize(
    "rest, percent, rshares",
    [
        ("10000,5", 10000, 5),
        ("-10000,5", -10000, 5),
        ("10001,5", 0, 5),
        ("2394000083171782907,5", 0, 5),
        (",-5", 0, -5),
        ("7,", 7, 0),
    ],
)
def test_what_is_unknown_of_a_vote_is_0(rest, percent, rshares, steem):
    vote = timeline(steem, votes=f"v,bob,p,,{rest}\n")[3][1]
    assert (vote["percent"], vote["rshares"]) == (percent, rshares)


def test_blocks_count_from_1_one_for_each_slot_up_to_the_last_cash_out(steem):
    posts = post_row("p", "2016-08-01T00:00:10") + (
        "2016-08-01T00:00:01,bob,q,bob,p,2016-09-01T00:00:01,0,0,0,0,0,0\n"
    )
    vote = "v,bob,p,2016-08-01T00:00:06,,1\n"
    blocks = of_steem(steem, accounts="a\n", posts=posts, votes=vote).blocks()
    times = (DAY - 3, DAY, DAY + 6, DAY + 31 * 86400 + 3)
    assert [(one["number"], one["time"]) for one in blocks] == list(enumerate(times, 1))
    assert [one["transactions"] for one in blocks] == [3, 2, 1, 0]


def _malformed():
    yield {"accounts": "a\n\n"}, "accounts.txt.zst: line 2"
    yield {"accounts": "seventeen-letters\n"}, "line 1"
    yield {"posts": ""}, "holds no post"
    yield {"posts": POST + POST}, "posts.csv.zst: line 3, column 3"
    yield {"posts": post_row(payout=CREATED)}, "column 6 (last_payout)"
    yield {"posts": post_row("p" * 257)}, "column 3"
    yield {"votes": "v,bob,q,,,1\n"}, "votes.csv.zst: line 2, column 3"
    yield {"votes": ",bob,p,,,1\n"}, "column 1 (voter)"
    yield {"votes": "v,bob,p,,x,1\n"}, 'column 5 (percent): "x"'
    yield {"votes": "v,bob,p,,,9223372036854775808\n"}, "column 6 (rshares)"
    for time in (
        *("2016-13-01T00:00:00", "2016-02-30T00:00:00", "2016-08-01T24:00:00"),
        *("2016-08-01T00:60:00", "2016-08-01T00:00:60", "2016-08-01 00:00:00"),
        *("2016-08-01T00:00:0", "2016-08-01T00:00:000", "+016-08-01T00:00:00"),
    ):
        yield {"votes": f"v,bob,p,{time},,1\n"}, "column 4 (time)"
    for amount in ("", ".5", "1.", "-1", "1.2345", "1e3", "1 ", "99999999999999999"):
        yield {"posts": f"{CREATED},bob,p,,c,,{amount},0,0,0,0,0\n"}, "column 7 (total_payout)"


@pytest.mark.parametrize("tables, words", _malformed())
def test_a_malformed_table_is_refused_with_file_line_and_column(tables, words, steem):
    of_steem(steem, **tables).refused(words)


# --- the logs that the project carries, held against what is known of the data ---


def operations_of(driver, chain, folder):
    """Each block's number, time and transactions, and its operations."""
    for block in driver("block-log", "print", carried_log(chain, folder), "--operations").json_lines:
        yield block, [one for part in block["content"] for one in part]


def test_the_steem_2016_log_is_in_an_order_that_a_chain_accepts_and_holds_the_data(driver, scratch):
    accounts, posts, authors, voters = set(), {}, set(), set()
    count = collections.Counter()
    now = 0
    for number, (block, operations) in enumerate(operations_of(driver, STEEM, scratch), 1):
        assert block["number"] == number
        assert block["time"] > now and block["time"] % 3 == 0
        now = block["time"]
        for one in operations:
            if one["kind"] == "account_create":
                assert one["name"] not in accounts
                accounts.add(one["name"])
            elif one["kind"] == "comment":
                key, cashout = (one["author"], one["permlink"]), one["cashout_time"]
                assert one["author"] in accounts and key not in posts
                assert cashout == 0 or cashout > now
                posts[key] = cashout
                authors.add(one["author"])
                count["paid" if cashout else "unpaid"] += 1
                count["author_paid"] += one["author_payout"]
                count["curator_paid"] += one["curator_payout"]
                count["authors_paid_above_zero"] += one["author_payout"] > 0
                parent = (one["parent_author"], one["parent_permlink"])
                count["orphans"] += parent[0] != "" and parent not in posts
            else:
                assert one["kind"] == "vote" and one["voter"] in accounts
                cashout = posts[one["author"], one["permlink"]]
                assert cashout == 0 or now < cashout
                voters.add(one["voter"])
                count["votes"] += 1
                count["votes_on_paid"] += cashout != 0
    assert (number, len(accounts), len(posts)) == (162689, 92462, 7054)
    assert (len(authors), len(voters)) == (1709, 11117)
    assert count == {
        "paid": 3566,
        "unpaid": 3488,
        "orphans": 1660,
        "votes": 174597,
        "votes_on_paid": 21757,
        "author_paid": 53183942,
        "authors_paid_above_zero": 611,
        "curator_paid": 15249522,
    }
    assert now == 1474938429 // 3 * 3  # the last cash-out, 2016-09-27T01:07:09


def test_the_eos_swap_2022_log_holds_what_the_data_is_known_to_hold(driver, scratch):
    def token(one):
        return one["decimals"], one["symbol"]

    reserves, owners, count = {}, set(), collections.Counter()
    for block, operations in operations_of(driver, EOS, scratch):
        count["blocks"] += 1
        count["transactions"] += block["transactions"]
        for one in operations:
            count["swaps"] += 1
            owners.add(one["owner"])
            first, second = one["reserve0"], one["reserve1"]
            if token(one["quantity_in"]) == token(first):
                into, out = first, second
            else:
                into, out = second, first
            assert token(one["quantity_in"]) == token(into)
            assert token(one["quantity_out"]) == token(out)
            before = reserves.get(one["pair_id"])
            if before:
                amount = one["quantity_in"]["amount"]
                gone = before[token(out)] - one["quantity_out"]["amount"]
                came = before[token(into)] + amount - amount // 1000
                count["out_exact" if out["amount"] == gone else "out_other"] += 1
                count["in_exact" if into["amount"] == came else "in_other"] += 1
            reserves[one["pair_id"]] = {token(first): first["amount"], token(second): second["amount"]}
    assert (len(reserves), len(owners)) == (322, 4621)
    assert count == {
        "blocks": 81069,
        "transactions": 113071,
        "swaps": 146145,
        "out_exact": 142939,
        "out_other": 2884,
        "in_exact": 130611,
        "in_other": 146145 - 322 - 130611,
    }


@pytest.mark.parametrize("chain", CHAINS)
def test_importing_the_source_tables_again_gives_the_logs_that_the_project_carries(
    chain, driver, scratch
):
    source = os.environ.get("CHAINBASE_SOURCE_DATA")
    if not source:
        pytest.skip("CHAINBASE_SOURCE_DATA names no folder with the source tables")
    log = scratch / "log"
    call = ["import", chain, "--from", Path(source) / chain, "--to", log]
    said = driver.json(*call)
    assert (said["chain"], said["blocks"], said["operations"]) == (
        *(chain, chain.blocks, chain.operations),
    )
    assert said["bytes"] == log.stat().st_size
    carried = carried_log(chain, scratch, "carried")
    digest = ["block-log", "digest"]
    assert driver.json(*digest, log) == driver.json(*digest, carried)
    if block_logs.zstd_version() == 10504:  # another zstd packs the same blocks otherwise
        assert log.read_bytes() == carried.read_bytes()
    assert Replays(driver, scratch, chain, log)()["state_digest"] == chain.digest
