#include <pool_allocator/error.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/block_log/bytes.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/file_size_limit.hpp>
#include <tests/tools/mutation.hpp>
#include <tests/tools/sample_blocks.hpp>

#include <algorithm>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::size_t header_bytes = 64;

std::vector<branch> sample_branches(std::uint64_t seed = 1) {
    const std::vector<block> blocks = sample_blocks(24, seed);
    std::vector<branch> result;
    for (std::size_t i = 0; i + 3 < blocks.size(); i += 4) {
        const auto at = blocks.begin() + static_cast<std::ptrdiff_t>(i);
        result.push_back({at->number - 1, {at, at + 1 + static_cast<std::ptrdiff_t>(i % 3)}});
    }
    return result;
}

void write_branches(const std::filesystem::path& path, const std::vector<branch>& branches) {
    branch_file_writer writer(path, sample_chain);
    for (const branch& one : branches)
        writer.append(one);
    writer.close();
}

/// What can be read, and whether the end was reached without damage.
struct reading {
    std::vector<branch> branches;
    bool is_whole = false;
};

reading read_branches(const std::filesystem::path& path) {
    reading result;
    branch_file_reader reader(path, sample_chain);
    try {
        while (auto one = reader.next())
            result.branches.push_back(std::move(*one));
        result.is_whole = true;
    } catch (const damaged_error& damage) {
        CHECK(std::string(damage.what()).find(path.string() + ": byte ") == 0);
    }
    return result;
}

/// A new file each time: an existing one that is cut and written again waits for the device.
void replace_file(const std::filesystem::path& path, std::string_view content) {
    std::filesystem::remove(path);
    write_file(path, content);
}

bool is_prefix(const std::vector<branch>& part, const std::vector<branch>& of) {
    return part.size() <= of.size() && std::equal(part.begin(), part.end(), of.begin());
}

std::string content_of(const std::vector<branch>& branches) {
    const temporary_folder folder;
    write_branches(folder / "forks", branches);
    return read_file(folder / "forks");
}

} // namespace

TEST_CASE("branches come back as they were written") {
    const temporary_folder folder;
    const auto path = folder / "forks";
    const std::vector<branch> branches = sample_branches();
    write_branches(path, branches);
    const reading back = read_branches(path);
    CHECK(back.is_whole);
    CHECK(back.branches == branches);
    CHECK(branch_file_reader(path).chain() == sample_chain);
    CHECK_THROWS_AS(branch_file_writer(path, sample_chain), usage_error);
}

TEST_CASE("a file of branches that is cut anywhere gives the branches before, and says so") {
    const temporary_folder folder;
    const std::vector<branch> branches = sample_branches();
    const std::string whole = content_of(branches);
    std::vector<std::size_t> whole_at;
    for (std::size_t n = 0; n <= branches.size(); ++n)
        whole_at.push_back(
            content_of({branches.begin(), branches.begin() + static_cast<std::ptrdiff_t>(n)})
                .size());
    for (std::size_t size = header_bytes; size < whole.size(); ++size) {
        replace_file(folder / "cut", whole.substr(0, size));
        const reading back = read_branches(folder / "cut");
        REQUIRE(is_prefix(back.branches, branches));
        REQUIRE(back.is_whole == (std::ranges::count(whole_at, size) == 1));
    }
    for (const std::size_t size : {0, 7, 8, 63}) {
        replace_file(folder / "cut", whole.substr(0, size));
        REQUIRE_THROWS_AS(branch_file_reader(folder / "cut"), chainbase::error);
    }
}

TEST_CASE("a file of branches that is altered anywhere gives true branches and typed errors") {
    const std::uint64_t seed = test_seed(20161121);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    const temporary_folder folder;
    const std::vector<branch> branches = sample_branches(seed);
    const std::string whole = content_of(branches);
    const byte_view view = bytes_of(whole);
    for (int round = 0; round < 2000; ++round) {
        const bytes altered = mutate(random, {view.begin(), view.end()});
        replace_file(folder / "altered", text_of(altered));
        reading back;
        try {
            back = read_branches(folder / "altered");
        } catch (const damaged_error&) {
        } catch (const format_error&) {
        }
        REQUIRE(is_prefix(back.branches, branches));
    }
}

TEST_CASE("a length that a record claims is bounded before memory is taken for it") {
    const temporary_folder folder;
    std::string content = content_of(sample_branches());
    for (std::size_t at = header_bytes + 4; at < header_bytes + 12; ++at)
        content[at] = '\x7f'; // bytes of the payload, and blocks
    write_file(folder / "forks", content);
    branch_file_reader reader(folder / "forks");
    CHECK_THROWS_WITH(reader.next(), Catch::Contains("exceeds the limit"));
}

TEST_CASE("a record with a right checksum and wrong blocks is refused") {
    const temporary_folder folder;
    const std::vector<branch> one{sample_branches().front()};
    std::string content = content_of(one);
    content[header_bytes + 16] = '\xff'; // the block it forks after: not below its first one now
    content[header_bytes + 17] = '\xff';
    const byte_view record = bytes_of(content).subspan(header_bytes);
    const std::uint64_t sum = checksum(record.first(record.size() - 8));
    content.replace(content.size() - 8, 8, reinterpret_cast<const char*>(&sum), 8);
    write_file(folder / "forks", content);
    branch_file_reader reader(folder / "forks");
    CHECK_THROWS_WITH(reader.next(), Catch::Contains("cannot follow block"));
}

TEST_CASE("without room for the header no file of branches is left behind") {
    const temporary_folder folder;
    const file_size_limit limit(20);
    CHECK_THROWS_AS(branch_file_writer(folder / "branches", sample_chain), out_of_space_error);
    CHECK_FALSE(std::filesystem::exists(folder / "branches"));
}

TEST_CASE("another file, another chain and another version are no branches") {
    const temporary_folder folder;
    write_log(folder / "log", sample_blocks(3));
    CHECK_THROWS_AS(branch_file_reader(folder / "log"), format_error);
    write_branches(folder / "forks", sample_branches());
    CHECK_THROWS_AS(branch_file_reader(folder / "forks", "another-chain"), format_error);
    CHECK_THROWS_AS(block_log_reader(folder / "forks"), format_error);
    CHECK_THROWS_AS(branch_file_reader(folder / "none"), io_error);
    CHECK_THROWS_AS(branch_file_writer(folder / "unnamed", ""), usage_error);
    CHECK_FALSE(std::filesystem::exists(folder / "unnamed"));
}

TEST_CASE("branches without blocks, with wrong numbers or out of order are not written") {
    const temporary_folder folder;
    branch_file_writer writer(folder / "forks", sample_chain);
    const block third{3, 9, {}};
    const block fourth{4, 12, {}};
    CHECK_THROWS_AS(writer.append({2, {}}), usage_error);
    CHECK_THROWS_AS(writer.append({3, {third}}), usage_error);
    CHECK_THROWS_AS(writer.append({2, {fourth, third}}), usage_error);
    CHECK_THROWS_AS(writer.append({2, std::vector<block>(most_branch_blocks + 1)}), usage_error);
    std::vector<block> many;
    for (std::uint64_t number = 3; many.size() <= most_branch_blocks; ++number)
        many.push_back({number, 9, {}});
    CHECK_THROWS_AS(writer.append({2, many}), limit_error);
    writer.append({2, {third, fourth}});
    CHECK_THROWS_AS(writer.append({1, {third}}), usage_error);
    writer.append({2, {fourth}});
    CHECK(writer.branches() == 2);
    writer.close();
    CHECK(read_branches(folder / "forks").branches.size() == 2);
}
