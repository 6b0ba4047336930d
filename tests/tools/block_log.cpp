#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/log_record.hpp>

#include <catch2/catch.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/tools/mutations.hpp>
#include <tests/tools/sample_logs.hpp>

#include <algorithm>

/// The block log, its index and the branch file: what is written is read back, in any records, and
/// other files are refused.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;

namespace {

constexpr std::uint32_t several_blocks = 200; // bytes of a batch

std::vector<log_record> records_of(const std::filesystem::path& path, std::uint64_t from = 0) {
    std::vector<log_record> all;
    auto records = block_log_reader(path).whole_records(from);
    while (auto next = records.next())
        all.push_back(std::move(*next));
    return all;
}

} // namespace

TEST_CASE("what is appended is read back, for every batch size") {
    for (const std::uint32_t batch : {0u, 1u, 100u, 1000u, 1u << 20}) {
        const sample_log log(300, batch);
        const block_log_reader reader(log.path, sample_chain);
        CHECK(reader.chain() == sample_chain);
        CHECK(reader.count() == 300);
        CHECK(reader.first_number() == log.blocks.front().number);
        CHECK(reader.head_number() == log.blocks.back().number);
        CHECK(reader.bytes() == log.whole.size());
        CHECK(read_all(reader.stream()) == log.blocks);
    }
}

TEST_CASE("a block is found by its number, and a stream begins at any number, in a gap too") {
    const sample_log log(200, 300);
    const block_log_reader reader(log.path);
    std::size_t behind = 0; // blocks below the number
    for (std::uint64_t number = 990; number <= log.blocks.back().number + 10; ++number) {
        const bool exists = behind < log.blocks.size() && log.blocks[behind].number == number;
        const auto found = reader.read(number);
        REQUIRE(found.has_value() == exists);
        block_log_stream stream = reader.stream(number);
        REQUIRE(stream.blocks_behind() == behind);
        const auto next = stream.next();
        REQUIRE(next.has_value() == (behind < log.blocks.size()));
        if (next) REQUIRE(*next == log.blocks[behind]);
        if (exists) REQUIRE(*found == log.blocks[behind++]);
    }
    const auto at = log.blocks.begin() + 77;
    CHECK(read_all(reader.stream(at->number)) == std::vector<block>(at, log.blocks.end()));
}

TEST_CASE("positions rise to the log's size, and are told without reading") {
    const sample_log exact(100); // a record each
    const block_log_reader reader(exact.path);
    block_log_stream stream = reader.stream();
    CHECK(stream.position() == 64);
    CHECK(reader.position_of(0) == 64);
    for (std::uint64_t before = 64; const auto next = stream.next(); before = stream.position()) {
        CHECK(stream.position() > before);
        CHECK(reader.position_of(next->number) == stream.position());
    }
    CHECK(stream.position() == reader.bytes());
    CHECK(stream.blocks_behind() == reader.count());
    CHECK(reader.position_of(UINT64_MAX) == reader.bytes());

    const sample_log packed(100, 300);
    const block_log_reader batches(packed.path);
    CHECK(batches.position_of(1) == 64);
    std::uint64_t before = 64;
    for (const block& one : packed.blocks) {
        CHECK(batches.position_of(one.number) > before);
        before = batches.position_of(one.number);
    }
    CHECK(before == batches.bytes());
}

TEST_CASE("a log is appended to over several openings, closed or not") {
    const sample_log log(0);
    const auto blocks = sample_blocks(50);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        auto writer = log.open();
        REQUIRE(writer.count() == i);
        writer.append(blocks[i]);
        REQUIRE(writer.head_number() == blocks[i].number);
        if (i % 2 == 0) writer.close();
    }
    CHECK(read_log(log.path) == blocks);
}

TEST_CASE("an empty log has no blocks") {
    const sample_log log(0);
    const block_log_reader reader(log.path);
    CHECK(reader.empty());
    CHECK_FALSE(reader.head_number().has_value());
    CHECK_FALSE(reader.first_number().has_value());
    CHECK_FALSE(reader.read(0).has_value());
    CHECK_FALSE(reader.stream().next().has_value());
    CHECK(reader.stream().position() == reader.bytes());
}

TEST_CASE("a reader sees what was flushed, not what waits") {
    const auto blocks = sample_blocks(10);
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain);
    writer.append(blocks[0]);
    CHECK(block_log_reader(folder / "log").empty());
    writer.flush();
    CHECK(read_log(folder / "log") == first_of(blocks, 1));
    writer.append(blocks[1]);
    writer.sync();
    CHECK(read_log(folder / "log") == first_of(blocks, 2));
}

TEST_CASE("a number that does not rise is refused and leaves the writer usable") {
    const auto blocks = sample_blocks(3);
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain);
    writer.append(blocks[1]);
    CHECK_THROWS_AS(writer.append(blocks[0]), usage_error);
    CHECK_THROWS_AS(writer.append(blocks[1]), usage_error);
    writer.append(blocks[2]);
    writer.close();
    CHECK(read_log(folder / "log") == std::vector{blocks[1], blocks[2]});
}

TEST_CASE("the first block may have number 0 and the last the highest number") {
    const std::vector<block> blocks{{0, INT64_MIN, {}}, {UINT64_MAX, INT64_MAX, {}}};
    const temporary_folder folder;
    write_log(folder / "log", blocks);
    CHECK(read_log(folder / "log") == blocks);
    CHECK(block_log_reader(folder / "log").read(UINT64_MAX) == blocks[1]);
}

TEST_CASE("a block larger than a batch is a record of its own, one too large is refused") {
    const temporary_folder folder;
    const block large{1, 0, {{{bytes(1 << 20, std::byte{7})}}}};
    const block too_large{2, 0, {{{bytes(33 << 20)}}}};
    auto writer = block_log_writer::create(folder / "log", sample_chain, {1, 1000});
    writer.append(large);
    CHECK_THROWS_AS(writer.append(too_large), limit_error);
    writer.close();
    CHECK(read_log(folder / "log") == std::vector{large});
}

TEST_CASE("a log is walked backwards by its trailers alone") {
    const sample_log sample(40);
    const file log = file::open_read(sample.path);
    std::uint64_t end = log.size();
    for (auto expected = sample.blocks.rbegin(); expected != sample.blocks.rend(); ++expected) {
        const record_check check = check_record_before(log, end);
        REQUIRE(check.record);
        REQUIRE(check.record->last_number() == expected->number);
        end = check.record->offset();
    }
    CHECK(end == 64);
    CHECK_FALSE(check_record_before(log, end).record);
}

TEST_CASE("a second writer is refused, and so is a new log over a file or with wrong options") {
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain);
    CHECK_THROWS_AS(block_log_writer::open(folder / "log", sample_chain), locked_error);
    writer.close();
    CHECK_NOTHROW(block_log_writer::open(folder / "log", sample_chain));

    write_all(folder / "there", "precious");
    CHECK_THROWS_AS(block_log_writer::create(folder / "there", sample_chain), usage_error);
    CHECK(read_all(folder / "there") == "precious");

    const auto create = [&](std::string_view chain, block_log_options options) {
        (void)block_log_writer::create(folder / "wrong", chain, options);
    };
    CHECK_THROWS_AS(create("", {}), usage_error);
    CHECK_THROWS_AS(create(std::string(33, 'x'), {}), usage_error);
    CHECK_THROWS_AS(create("x", {20, 0}), usage_error);
    CHECK_THROWS_AS(create("x", {3, max_batch_bytes + 1}), usage_error);
    CHECK_FALSE(std::filesystem::exists(folder / "wrong"));
}

// --- records as they are packed ---

TEST_CASE("records copied as they are make the same log, also between blocks") {
    const sample_log log(60, several_blocks);
    const auto records = records_of(log.path);
    REQUIRE(records.size() > 5);
    const auto copy = log.folder / "copy";
    {
        auto writer = block_log_writer::create(copy, sample_chain);
        writer.append(records[0]);
        {
            const file_size_limit limit(writer.bytes() + 10); // one that finds no room is not in it
            CHECK_THROWS_AS(writer.append(records[1]), out_of_space_error);
            CHECK(writer.count() == records[0].blocks());
        }
        for (std::size_t i = 1; i < records.size(); ++i)
            writer.append(records[i]);
        CHECK(writer.count() == 60);
        CHECK_THROWS_AS(writer.append(records.back()), usage_error);
        writer.close();
    }
    CHECK(read_all(copy) == log.whole);
    CHECK(read_all(index_path(copy)) == log.index);

    auto writer = block_log_writer::create(log.folder / "mixed", sample_chain);
    std::size_t at = 0;
    for (const log_record& one : records) { // every other record block by block
        const std::size_t end = at + one.blocks();
        if (at % 2 == 0) writer.append(one);
        for (; at < end; ++at)
            if (writer.head_number().value_or(0) < log.blocks[at].number)
                writer.append(log.blocks[at]);
    }
    writer.close();
    CHECK(read_log(log.folder / "mixed") == log.blocks);
}

TEST_CASE("records begin with the one that holds the block asked for, and give its bytes") {
    const sample_log log(60, several_blocks);
    for (const block& one : log.blocks) {
        const auto some = records_of(log.path, one.number);
        REQUIRE(some.front().first_number() <= one.number);
        REQUIRE(some.front().last_number() >= one.number);
    }
    CHECK(records_of(log.path, log.blocks.back().number + 1).empty());
    CHECK(records_of(log.path, 1).size() == log.ends.size() - 1);

    auto expected = log.blocks.begin();
    std::uint64_t unpacked = 0;
    for (const log_record& record : records_of(log.path)) {
        record_blocks inside(record);
        unpacked += record.unpacked_bytes();
        while (const auto next = inside.next()) {
            REQUIRE(*next == *expected++);
            bytes alone;
            byte_writer(alone).byte_string(encode_block(*next));
            REQUIRE(std::ranges::equal(alone, inside.encoded()));
        }
    }
    CHECK(expected == log.blocks.end());
    CHECK(block_log_reader(log.path).stated_unpacked_bytes() == unpacked);
}

// --- the index ---

TEST_CASE("a log opened to be looked at gets no index, and who watches can give up") {
    const sample_log log(20);
    log.remove_index();
    std::uint64_t told = 0;
    opening_options options{.save_index = false, .use_index = true, .watch = {}, .on = nullptr};
    options.watch = [&](std::uint64_t done, std::uint64_t all) {
        CHECK(done >= told);
        CHECK(done < all);
        told = done;
    };
    const block_log_reader reader(log.path, {}, options);
    CHECK(reader.index_fault() == "is missing");
    CHECK(told > reader.bytes() / 2);
    CHECK(read_all(reader.stream()) == log.blocks);
    CHECK_FALSE(std::filesystem::exists(index_path(log.path)));
    options.watch = [](std::uint64_t, std::uint64_t) { throw usage_error("enough"); };
    CHECK_THROWS_WITH(block_log_reader(log.path, {}, options), "enough");

    const block_log_reader saving(log.path);
    CHECK(block_log_reader(log.path).index_fault().empty());
}

namespace {

/// Opens the log beside this index, which must say `expected` of it (nothing: use it silently),
/// deliver every block and leave the right index behind.
void check_rebuilt(const sample_log& log, const std::optional<std::string>& index,
                   std::string_view expected) {
    std::filesystem::remove(index_path(log.path));
    if (index) write_all(index_path(log.path), *index);
    const captured_log said;
    REQUIRE(read_log(log.path) == log.blocks);
    INFO(said.text());
    REQUIRE(said.says("the index") == !expected.empty());
    REQUIRE(said.says(expected));
    REQUIRE(read_all(index_path(log.path)) == log.index);
}

} // namespace

TEST_CASE("an index that is missing, short, foreign, old, new or damaged is rebuilt") {
    const sample_log log(20, 100);
    check_rebuilt(log, log.index, "");
    check_rebuilt(log, {}, "is missing");
    check_rebuilt(log, log.index + "x", "is short");
    check_rebuilt(log, std::string(200, 'x'), "is not an index");
    for (std::size_t size = 0; size < log.index.size(); ++size)
        check_rebuilt(log, log.index.substr(0, size), "is short");
    for (std::size_t at = 0; at < log.index.size(); ++at) {
        std::string damaged = log.index;
        damaged[at] ^= 16;
        check_rebuilt(log, damaged, "the index");
    }
    check_rebuilt(log, sample_log(20, 100, 2).index, "does not fit the log");
    write_log(log.folder / "other-chain", {}, 0, "other");
    check_rebuilt(log, read_all(index_path(log.folder / "other-chain")), "belongs to another log");

    const sample_log all(20);
    const sample_log some(12);
    check_rebuilt(all, some.index, "is older than the log; 8 records scanned, 20 blocks");
    check_rebuilt(some, all.index, "does not fit the log");
}

TEST_CASE("a log whose index can neither be read nor saved is read all the same") {
    const sample_log log(20);
    log.remove_index();
    // A folder in the index's place refuses both, even for root.
    std::filesystem::create_directories(index_path(log.path) / "taken");
    const captured_log said;
    CHECK(read_log(log.path) == log.blocks);
    CHECK(said.says("the index cannot be read"));
    CHECK(said.says("the index is not saved"));
}

// --- files that are no such log ---

TEST_CASE("a file that is no block log, or of a later version, or cut in its header is refused") {
    const sample_log log(0);
    const std::string& header = log.whole;
    std::string later = header;
    later[8] = 2;
    const std::uint64_t sum = checksum(bytes_of(later).first(56));
    std::memcpy(later.data() + 56, &sum, 8);
    const auto check_refused = [&]<class E>(const std::string& content, const E*) {
        log.remove_index();
        write_all(log.path, content);
        REQUIRE_THROWS_AS(block_log_reader(log.path, sample_chain), E);
        REQUIRE_THROWS_AS(log.open(), E);
        REQUIRE(read_all(log.path) == content);
        REQUIRE_FALSE(std::filesystem::exists(index_path(log.path)));
    };
    const format_error* const none = nullptr;
    check_refused("x", none);
    check_refused("number,timestamp\n1,2\n", none);
    check_refused(std::string(5000, '\0'), none);
    check_refused(std::string("\x28\xb5\x2f\xfd", 4) + std::string(100, 'z'), none);
    check_refused(later, none);
    for (std::size_t size = 0; size < header.size(); ++size)
        check_refused(header.substr(0, size), static_cast<const damaged_error*>(nullptr));
}

TEST_CASE("a log of another chain is refused by name, a missing file or a folder as that") {
    const sample_log log(3);
    CHECK_THROWS_WITH(block_log_reader(log.path, "other"),
                      Contains("holds blocks of sample-chain, not of other"));
    CHECK_THROWS_AS(block_log_writer::open(log.path, "other"), format_error);
    CHECK_NOTHROW(block_log_reader(log.path));
    const auto none = log.folder / "none";
    CHECK_THROWS_AS(block_log_reader(none), io_error);
    CHECK_THROWS_AS(block_log_reader(log.folder.path()), io_error);
    CHECK_THROWS_AS(block_log_writer::open(none, sample_chain), io_error);
    CHECK_THROWS_AS(block_log_writer::create(none / "log", sample_chain), io_error);

    const file nothing_to_read = file::open_read(log.folder.path());
    bytes some(100);
    CHECK_THROWS_WITH(nothing_to_read.read_at(4711, some), Contains(log.folder.path().string()) &&
                                                               Contains("byte 4711") &&
                                                               Contains("check the path"));
}

// --- branches ---

namespace {

std::vector<branch> sample_branches(std::uint64_t seed = 1) {
    const std::vector<block> blocks = sample_blocks(24, seed);
    std::vector<branch> result;
    for (std::size_t i = 0; i + 3 < blocks.size(); i += 4) {
        const auto at = blocks.begin() + static_cast<std::ptrdiff_t>(i);
        result.push_back({at->number - 1, {at, at + 1 + static_cast<std::ptrdiff_t>(i % 3)}});
    }
    return result;
}

/// A file of the sample branches, and where each ends.
struct sample_forks {
    temporary_folder folder{memory_or_disk()};
    std::filesystem::path path = folder / "forks";
    std::vector<branch> branches = sample_branches();
    std::vector<std::size_t> ends;
    std::string whole;

    sample_forks() {
        branch_file_writer writer(path, sample_chain);
        ends.push_back(64);
        for (const branch& one : branches) {
            writer.append(one);
            std::size_t blocks = 0;
            for (const block& each : one.blocks) {
                bytes alone;
                byte_writer(alone).byte_string(encode_block(each));
                blocks += alone.size();
            }
            ends.push_back(ends.back() + 32 + blocks);
        }
        writer.close();
        whole = read_all(path);
        REQUIRE(ends.back() == whole.size());
    }
    /// In a new file: one that is cut and written again waits for the device.
    void replace(std::string_view content) const {
        std::filesystem::remove(path);
        write_all(path, content);
    }
    /// The branches up to damage, which must name the place; whether there was any.
    [[nodiscard]] bool reads_whole() const {
        branch_file_reader reader(path, sample_chain);
        auto expected = branches.begin();
        try {
            for (auto one = reader.next(); one; one = reader.next(), ++expected)
                expect(expected != branches.end() && *one == *expected, "another branch");
        } catch (const damaged_error& damage) {
            expect(std::string(damage.what()).find(path.string() + ": byte ") == 0, damage.what());
            return false;
        }
        return true;
    }
};

} // namespace

TEST_CASE("branches come back as they were written, up to where their file is cut") {
    const sample_forks forks;
    CHECK(forks.reads_whole());
    CHECK(branch_file_reader(forks.path).chain() == sample_chain);
    CHECK_THROWS_AS(branch_file_writer(forks.path, sample_chain), usage_error);
    for (std::size_t size = 64; size < forks.whole.size(); ++size) {
        forks.replace(forks.whole.substr(0, size));
        REQUIRE(forks.reads_whole() == (std::ranges::count(forks.ends, size) == 1));
    }
    for (const std::size_t size : {0, 7, 8, 63}) {
        forks.replace(forks.whole.substr(0, size));
        REQUIRE_THROWS_AS(branch_file_reader(forks.path), chainbase::error);
    }
}

TEST_CASE("a file of branches that is altered anywhere gives true branches and typed errors") {
    const sample_forks forks;
    const byte_view view = bytes_of(forks.whole);
    check_property(2000, 100, [&] {
        forks.replace(text_of(mutated({view.begin(), view.end()}, *some_mutations())));
        try {
            (void)forks.reads_whole();
        } catch (const damaged_error&) {
        } catch (const format_error&) {
        }
    });
}

TEST_CASE("a branch's length is bounded before memory is taken, and its blocks must follow") {
    const sample_forks forks;
    const auto next_of = [&](const std::string& content) {
        forks.replace(content);
        branch_file_reader reader(forks.path);
        return reader.next();
    };
    std::string forged = forks.whole;
    std::fill_n(forged.begin() + 64 + 4, 8, '\x7f'); // bytes of the payload, and blocks
    CHECK_THROWS_WITH(next_of(forged), Contains("exceeds the limit"));
    forged = forks.whole.substr(0, forks.ends[1]);
    forged[64 + 16] = forged[64 + 17] = '\xff'; // it forks after a block above its first one
    const std::uint64_t sum = checksum(bytes_of(forged).subspan(64, forged.size() - 64 - 8));
    std::memcpy(forged.data() + forged.size() - 8, &sum, 8);
    CHECK_THROWS_WITH(next_of(forged), Contains("cannot follow block"));
}

TEST_CASE("another file, another chain and another version are no branches") {
    const sample_forks forks;
    CHECK_THROWS_AS(branch_file_reader(sample_log(3).path), format_error);
    CHECK_THROWS_AS(branch_file_reader(forks.path, "another-chain"), format_error);
    CHECK_THROWS_AS(block_log_reader(forks.path), format_error);
    CHECK_THROWS_AS(branch_file_reader(forks.folder / "none"), io_error);
    const auto unnamed = forks.folder / "unnamed";
    CHECK_THROWS_AS(branch_file_writer(unnamed, ""), usage_error);
    {
        const file_size_limit limit(20);
        CHECK_THROWS_AS(branch_file_writer(unnamed, sample_chain), out_of_space_error);
    }
    CHECK_FALSE(std::filesystem::exists(unnamed));
}

TEST_CASE("branches without blocks, with wrong numbers or out of order are not written") {
    const temporary_folder folder;
    branch_file_writer writer(folder / "forks", sample_chain);
    const block third{3, 9, {}};
    const block fourth{4, 12, {}};
    CHECK_THROWS_AS(writer.append({2, {}}), usage_error);
    CHECK_THROWS_AS(writer.append({3, {third}}), usage_error);
    CHECK_THROWS_AS(writer.append({2, {fourth, third}}), usage_error);
    CHECK_THROWS_AS(writer.append({2, std::vector<block>(max_branch_blocks + 1)}), usage_error);
    std::vector<block> many;
    for (std::uint64_t number = 3; many.size() <= max_branch_blocks; ++number)
        many.push_back({number, 9, {}});
    CHECK_THROWS_AS(writer.append({2, many}), limit_error);
    writer.append({2, {third, fourth}});
    CHECK_THROWS_AS(writer.append({1, {third}}), usage_error);
    writer.append({2, {fourth}});
    CHECK(writer.branches() == 2);
    writer.close();
    branch_file_reader reader(folder / "forks");
    CHECK(reader.next()->blocks == std::vector{third, fourth});
    CHECK(reader.next()->blocks == std::vector{fourth});
    CHECK_FALSE(reader.next());
}
