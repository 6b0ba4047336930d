"""chainbase-driver generate: logs that are valid, the same every time, and distributed as the real
data is; their branches; what it compares and refuses."""

import collections
import os
import time

import pytest
from chains import EOS, STEEM, carried_log

DELETING = [  # many comments are deleted when they were paid, and written again
    "--mix=comment=30,comment_delete=10,vote=20,custom=30,transfer=10",
    *("--paid-percent", 100, "--transactions-per-block", 1, "--cash-out-percent", 1),
]

# Digests of logs of 20,000 operations with the seed 7: of the social chain, of the same with a skew
# of 0.3, of the payments chain.
SOCIAL_7 = "0910c04726aa34f7e72be55ebd2fe3e43cff535522bd5258d822b1641a901a0f"
SKEWED_7 = "2dee1bfb7d1a941ff00f69d4a37c0740bc07393081d5d68e3d15034c0df65eb2"
PAYMENTS_7 = "50f6c885835d9bf5a43fe112899c0b58776946fed8b30818ff65fb021fc2ad4e"


class Maker:
    """Generates logs into a folder, and looks at them."""

    def __init__(self, driver, folder):
        self.driver, self.folder, self.made = driver, folder, 0

    def call(self, to, *options):
        return ["generate", "--to", to, "--json", *options]

    def log(self, operations, *options):
        """The path of a new log, and the report."""
        self.made += 1
        path = self.folder / f"log{self.made}"
        report = self.driver(*self.call(path, "--operations", operations, *options)).json
        assert report["operations"] == operations and report["bytes"] == path.stat().st_size
        return path, report

    def blocks(self, operations, *options):
        path, _ = self.log(operations, *options)
        return self.driver("block-log", "print", path, "--operations").json_lines

    def digest(self, operations, *options):
        path, _ = self.log(operations, *options)
        return self.driver.json("block-log", "digest", path)["sha256"]

    def replayed(self, log):
        where = ["--block-log", log, "--state", self.folder / f"state{self.made}"]
        said = self.driver.json("replay", *where, "--validate", "--verify")
        assert said["head"] == said["blocks"]
        return said

    def compared(self, log):
        return self.driver.json("generate", "--compare", log)


@pytest.fixture
def make(driver, scratch):
    return Maker(driver, scratch)


def operations_in(blocks):
    return [one for block in blocks for part in block["content"] for one in part]


# --- what is made ---


def test_the_same_options_make_the_same_blocks_with_every_compiler(make):
    assert make.digest(20000, "--seed", 7) == SOCIAL_7
    assert make.digest(20000, "--seed", 7) == SOCIAL_7
    assert make.digest(20000, "--seed", 7, "--skew", "0.3") == SKEWED_7
    assert make.digest(20000, "--seed", 7, "--chain", "payments") == PAYMENTS_7
    assert make.digest(20000, "--seed", 8) != SOCIAL_7


@pytest.mark.parametrize("number", range(1, 21))
def test_no_seed_makes_an_invalid_chain(number, make, seed):
    seed = number if number <= 10 else seed  # known ones, and ones that nobody tried
    options = ["--seed", seed, "--accounts", 12 if number % 2 == 0 else 300]
    if number % 4 == 0:
        options += DELETING  # some are paid before the votes on them end
    else:
        options += ["--cash-out-percent", 1]
        options += ["--transactions-per-block", 1 if number % 3 == 0 else 40]
    if number % 5 == 0:
        options += ["--skew", 0]
    log, report = make.log(6000, *options)
    said = make.replayed(log)
    assert (said["operations"], said["blocks"]) == (6000, report["blocks"])


@pytest.mark.parametrize("number", range(1, 6))
def test_payments_are_valid_also_when_accounts_are_few_and_their_use_is_skewed(number, make):
    accounts = 2 if number % 2 == 0 else 5000
    options = ["--chain", "payments", "--seed", number, "--accounts", accounts]
    log, _ = make.log(20000, *options, "--skew", 0 if number % 3 == 0 else 1)
    assert make.replayed(log)["oracle"]["payments"] == 20000 - accounts


@pytest.mark.parametrize("percent", [0, 90, 100])
def test_as_many_comments_get_paid_as_is_asked_for(percent, make):
    made = operations_in(make.blocks(60000, "--seed", 5, "--paid-percent", percent))
    comments = [one for one in made if one["kind"] == "comment"]
    paid = sum(one["cashout_time"] != 0 for one in comments)
    assert len(comments) > 2000
    assert 0.95 * percent - 1 <= 100 * paid / len(comments) <= 1.06 * percent


def test_a_replay_of_a_generated_chain_pays_what_its_comments_say(make, driver):
    log, _ = make.log(60000, "--seed", 3, "--cash-out-percent", 1)
    blocks = driver("block-log", "print", log, "--operations").json_lines
    end = blocks[-1]["time"]
    due = [
        one["author_payout"]
        for one in operations_in(blocks)
        if one["kind"] == "comment" and 0 < one["cashout_time"] <= end
    ]
    said = make.replayed(log)
    assert len(due) > 50
    assert said["oracle"]["paid_posts"] == said["archived"]["comment"] == len(due)
    assert said["oracle"]["author_paid"] == sum(due)
    assert said["oracle"]["votes_on_paid"] > 0


def test_operations_transactions_and_blocks_are_as_many_as_was_asked_for(make):
    blocks = make.blocks(50000, "--seed", 5, "--transactions-per-block", 80)
    assert [one["number"] for one in blocks] == list(range(1, len(blocks) + 1))
    begin = blocks[0]["time"]
    assert [one["time"] for one in blocks] == [begin + 3 * i for i in range(len(blocks))]
    assert len(operations_in(blocks)) == 50000
    assert blocks[0]["transactions"] == 1000  # accounts: a fiftieth
    full = [one["transactions"] for one in blocks[1:-1]]  # without what is left at the end
    assert sum(full) / len(full) == pytest.approx(80, rel=0.05)


USUAL_MIX = "account_create=5,comment=50,vote=250,custom=620,deposit=5,transfer=40,claim=30"


@pytest.mark.parametrize("mix", [USUAL_MIX, "vote=50,comment=10,transfer=40"])
def test_operations_come_as_the_mix_says(mix, make):
    options = [] if mix == USUAL_MIX else ["--mix", mix]
    _, report = make.log(200000, "--seed", 9, "--accounts", 1000, *options)
    asked = {kind: int(weight) for kind, weight in (one.split("=") for one in mix.split(","))}
    for kind, count in report["operations_by_kind"].items():
        made = count - (1000 if kind == "account_create" else 0)
        share = asked.get(kind, 0) / sum(asked.values())
        assert made / 199000 == pytest.approx(share, abs=0.01), kind


def test_comments_that_were_paid_are_deleted_and_half_of_their_permlinks_are_taken_again(make):
    written, count = set(), collections.Counter()
    for one in operations_in(make.blocks(20000, "--seed", 4, *DELETING)):
        if one["kind"] == "comment":
            count["again"] += one["permlink"] in written
            written.add(one["permlink"])
        count["deleted"] += one["kind"] == "comment_delete"
    assert count["deleted"] > 500
    assert count["again"] > count["deleted"] / 2


# --- distributed as the real data is ---


def is_near(made, real, part, margin):
    """Within a part of the real value, or a small difference of small numbers."""
    return abs(made - real) <= part * abs(real) + margin


def check_distribution(name, row):
    real, made = row["real"], row["generated"]
    # Payouts have a few large values among almost none: what lies at a quantile hangs on few.
    # Chance adds to what each account is to do, and newcomers to their number. What is nowhere
    # drawn, but follows from the shape of the threads, lies less near.
    is_payout = name.endswith("_payout")
    is_activity = name in ("comments_of_author", "votes_of_voter")
    is_drawn = name != "reply_descendants"

    def near(what, part, margin):
        assert is_near(made[what], real[what], part, margin), (name, what, real, made)

    assert made["count"] > 0
    near("p50", 0.1, 3 if is_activity else 1)
    near("zero_permille", 0, 25 if is_drawn else 60)
    if is_payout:
        return
    near("mean_milli", 0.15, 100)
    near("p90", 0.15, 2)
    near("p99", 0.25, 3)
    near("most", 0.65 if is_activity else 0.5, 3)
    near("top1_permille", 0.25, 20)
    near("gini_permille", 0, 60 if is_activity or not is_drawn else 30)


@pytest.fixture(scope="module")
def real(driver, tmp_path_factory):
    """The log of real data, compared to itself."""
    log = carried_log(STEEM, tmp_path_factory.mktemp("real"))
    return driver.json("generate", "--compare", log)


def test_the_fit_is_what_the_log_of_real_data_measures(driver, scratch, tree):
    fit = driver("generate", "--fit", carried_log(STEEM, scratch)).out
    assert fit == (tree / "tools/driver/generate/steem_2016.fit").read_text()


def test_a_real_chain_compares_to_itself(real):
    for name, row in real["distributions"].items():
        if row["is_scaled"]:
            assert is_near(row["real"]["mean_milli"], row["generated"]["mean_milli"], 0.1, 2), name
        else:
            assert row["real"] == row["generated"], name
    assert len(real["distributions"]) == 21


@pytest.mark.parametrize("mix", [[], ["--mix", "custom=2500,vote=2475,comment=100"]])
def test_generated_distributions_lie_near_the_real_ones(mix, make, real):
    # Votes for each voter about as many as there really were; with the mix for each comment, too.
    log, _ = make.log(400000, "--seed", 1, "--accounts", 50000, *mix)
    made = make.compared(log)
    assert made["distributions"].keys() == real["distributions"].keys()
    for name, row in made["distributions"].items():
        check_distribution(name, row)
    for what in ("reply_permille", "paid_post_permille", "paid_reply_permille"):
        assert is_near(made[what], real[what], 0, 20), what
    for what in ("voter_per_100_000", "author_per_100_000"):
        assert is_near(made[what], real[what], 0.3, 0), what


def reply_depths(driver, log):
    """How many of a thousand replies, whose post is in the log, have the depth 0, 1, ... 7."""
    depths, count = {}, collections.Counter()
    for one in operations_in(driver("block-log", "print", log, "--operations").json_lines):
        if one["kind"] == "comment":
            above = depths.get((one["parent_author"], one["parent_permlink"]))
            if not one["parent_author"]:
                depth = 0
            else:
                depth = None if above is None else above + 1
            depths[one["author"], one["permlink"]] = depth
            count[depth] += bool(depth)
    return [count[depth] * 1000 // sum(count.values()) for depth in range(8)]


def test_as_many_replies_of_each_depth_as_there_really_are(make, driver, scratch):
    # Counted from the table of posts: of 1,910 replies 1,451, 261, 99, 56, 40 and 3.
    really = [0, 759, 136, 51, 29, 20, 1, 0]
    assert reply_depths(driver, carried_log(STEEM, scratch)) == really
    log, _ = make.log(400000, "--seed", 1)
    for made, wanted in zip(reply_depths(driver, log), really):
        assert is_near(made, wanted, 0, 15)


def test_without_skew_everybody_is_as_active_as_everybody_else(make):
    gini = []
    for skew in ("1", "0.5", "0"):
        options = ["--seed", 1, "--accounts", 500, "--mix", "vote=50,comment=10,custom=40"]
        log, _ = make.log(100000, *options, "--skew", skew)
        voters = make.compared(log)["distributions"]["votes_of_voter"]["generated"]
        gini.append(voters["gini_permille"])
        if skew != "1":
            assert voters["count"] == 500
    assert gini[0] > gini[1] > gini[2] and gini[2] < 100


# --- the verb ---


def test_a_log_that_replay_takes_and_its_branches(make, driver, scratch):
    forks = ["--forks", 10, "--fork-depth", 4, "--bad-forks", 50]
    log, report = make.log(20000, "--seed", 5, *forks)
    assert report["branches"] > 5
    for beside in (".forks", ".index"):
        assert (scratch / f"{log.name}{beside}").exists()
    assert make.replayed(log)["operations"] == 20000


def test_the_same_seed_deals_the_same_branches_which_another_one_does_not(make):
    def branches(seed):
        forks = ["--forks", 20, "--fork-depth", 6, "--bad-forks", 20]
        log, _ = make.log(5000, "--seed", seed, *forks)
        return (log.parent / f"{log.name}.forks").read_bytes()

    one = branches(1)
    assert one == branches(1) != branches(2)


def test_neither_a_log_nor_its_branches_are_overwritten(make, driver, scratch):
    (scratch / "log").write_text("mine")
    (scratch / "other.forks").write_text("mine")
    driver(*make.call(scratch / "log", "--operations", 1000), code=2)
    driver(*make.call(scratch / "other", "--operations", 1000, "--forks", 5), code=2).says(
        "other.forks"
    )
    assert sorted(os.listdir(scratch)) == ["log", "other.forks"]
    assert {one.read_text() for one in scratch.iterdir()} == {"mine"}


def test_a_call_that_is_interrupted_leaves_nothing(make, driver, scratch):
    options = ["--operations", 10**9, "--forks", 5, "--accounts", 99]
    making = driver.start(*make.call(scratch / "log", *options))
    while making.is_running and not (scratch / "log.unfinished").exists():
        time.sleep(0.001)
    assert making.interrupt(3).json["interrupted"]
    assert os.listdir(scratch) == []


def test_wrong_calls_end_with_2_and_make_nothing(make, driver, scratch):
    log, _ = make.log(1000, "--chain", "payments")
    before = sorted(os.listdir(scratch))
    of_log = ["--forks-of", log, "--forks", 5]
    for call in (
        [],
        *(["--operations", operations] for operations in ("0", "-5", "x")),
        *(["--operations", 1000, "--skew", skew] for skew in ("1.5", "x", "0.1234")),
        *(
            ["--operations", 1000, "--mix", mix]
            for mix in (
                *("custom", "custom=", "custom=-1", "custom=1,", "posts=3", "vote=1"),
                *("custom=1234567", "custom=0", "custom=1 ", "comment_delete=1"),
            )
        ),
        ["--operations", 1000, "--compare", "x"],
        ["--operations", 1000, "--forks", 101],
        ["--operations", 1000, "--fork-depth", 0],
        ["--operations", 1000, "--accounts", 501],
        ["--operations", 100, "--accounts", 51],
        ["--operations", 10],  # the fewest accounts are half of 20
        ["--operations", 1000, "--chain", "swap"],
        ["--operations", 1000, "--chain", "steem-2016"],
        ["--forks-of", "x"],
        ["--operations", 1000, "--bad-forks", 5],
        ["--operations", 1000, "--fork-depth", 5],
        ["--operations", 1000, "--chain", "payments", "--mix", "vote=1"],
        ["--operations", 1000, "--chain", "payments", "--cash-out-percent", 5],
        ["--operations", 1000, "--chain", "payments", "--paid-percent", 5],
        ["--operations", 1000, "--paid-percent", 101],
        [*of_log, "--mix", "custom=1"],
        [*of_log, "--cash-out-percent", 5],
        [*of_log, "--skew", 0],
        [*of_log, "--accounts", 20],
    ):
        driver(*make.call(scratch / "new", *call), code=2)
        assert sorted(os.listdir(scratch)) == before
    driver("generate", "--operations", 1000, code=2)
    for option in ("--seed", "--forks", "--accounts"):
        driver("generate", "--compare", log, option, 5, code=2)
    driver("generate", "--fit", log, "--json", code=2)


def test_branches_of_a_real_log_are_made_and_logs_are_compared(make, driver, scratch):
    real = carried_log(EOS, scratch, "real")
    call = make.call(scratch / "forks", "--forks-of", real, "--forks", 1, "--seed", 9)
    assert driver(*call).json["branches"] > 100
    driver("generate", "--compare", real, code=2)
    driver("generate", "--compare", scratch / "none", code=1)
    log, _ = make.log(5000)
    compared = make.compared(log)
    assert compared["operations"] == 5000
    assert compared["distributions"]["post_votes"]["generated"]["count"] > 10
