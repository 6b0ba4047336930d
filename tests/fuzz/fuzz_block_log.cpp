// A block log, its index and its mark of any bytes: reading and appending work, or one of our
// exceptions names the fault. After appending, everything read before is read again.
//
// The input: a byte of flags, two bytes with the log's length, the log, the index. Flags: bit 0,
// correct the checksum of the log's header; 1, those of its records, and their lengths; 2, that of
// the index; 3, do not trust the index; 4, save no index; 5, the last 56 bytes are a mark, whose
// checksums are corrected.

#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/block_log/block_log_writer.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <spdlog/spdlog.h>
#include <tests/fuzz/patches.hpp>
#include <tests/support/simulated_disk.hpp>

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::block_log_format;

namespace {

const std::filesystem::path log_file = "/fuzz/log";

template <typename T>
void put(std::span<std::byte> to, std::size_t at, const T& value) {
    std::memcpy(to.data() + at, &value, sizeof value);
}

void seal_header(std::span<std::byte> log) {
    if (log.size() < sizeof(file_header)) return;
    constexpr std::size_t at = offsetof(file_header, checksum);
    put(log, at, little_uint64_buf_t(checksum(log.first(at))));
}

void seal_records(std::span<std::byte> log) {
    for (std::size_t at = sizeof(file_header); at + min_record_bytes <= log.size();) {
        const std::size_t packed = load<record_header>(log, at).packed_bytes.value();
        if (packed > log.size() - at - min_record_bytes) return;
        const auto record = log.subspan(at, packed + min_record_bytes);
        put(record, 0, little_uint32_buf_t(record_magic));
        record_trailer trailer;
        trailer.record_bytes = static_cast<std::uint32_t>(record.size());
        trailer.magic = record_end_magic;
        const std::size_t trailer_at = record.size() - sizeof trailer;
        put(record, trailer_at, trailer);
        const std::size_t summed = record.size() - sizeof trailer.checksum;
        put(record, summed, little_uint64_buf_t(checksum(record.first(summed))));
        at += record.size();
    }
}

void seal_index(std::span<std::byte> index, std::span<const std::byte> log) {
    constexpr std::size_t fixed = sizeof(index_header) + sizeof(little_uint64_buf_t);
    if (index.size() < fixed || log.size() < sizeof(file_header)) return;
    auto header = load<index_header>(index, 0);
    header.header_checksum = load<file_header>(log, 0).checksum.value();
    header.records = static_cast<std::uint32_t>((index.size() - fixed) / sizeof(index_entry));
    put(index, 0, header);
    const std::size_t summed = index.size() - sizeof(little_uint64_buf_t);
    put(index, summed, little_uint64_buf_t(checksum(index.first(summed))));
}

void seal_mark(std::span<std::byte> raw, std::span<const std::byte> log) {
    if (log.size() < sizeof(file_header)) return;
    auto mark = load<mark_content>(raw, 0);
    mark.magic = mark_magic;
    mark.version = version;
    mark.is_open = mark.is_open.value() & 1;
    mark.header_checksum = load<file_header>(log, 0).checksum.value();
    mark.inode = 0;
    put(raw, 0, mark);
    constexpr std::size_t at = offsetof(mark_content, checksum);
    put(raw, at, little_uint64_buf_t(checksum(raw.first(at))));
}

/// Removes and returns the end of `from`; nothing when it is short.
std::vector<std::byte> take_mark(std::vector<std::byte>& from) {
    if (from.size() < sizeof(mark_content)) return {};
    const auto begin = from.end() - sizeof(mark_content);
    std::vector<std::byte> mark(begin, from.end());
    from.erase(begin, from.end());
    return mark;
}

void store(disk& on, const std::filesystem::path& file, std::span<const std::byte> content) {
    on.open(file, disk::mode::create)->write(0, content);
}

std::vector<block> all_of(const block_log_reader& from) {
    std::vector<block> blocks;
    block_log_stream stream = from.stream();
    while (auto next = stream.next())
        blocks.push_back(std::move(*next));
    return blocks;
}

/// Reads by every interface.
std::vector<block> read(disk& on, const patches& how) {
    opening_options options;
    options.use_index = !how.flag(3);
    options.save_index = !how.flag(4);
    options.on = &on;
    const block_log_reader reader(log_file, {}, options);
    if (const auto head = reader.head_number()) {
        (void)reader.position_of(*head / 2);
        (void)reader.read(*head);
        (void)reader.read(*reader.first_number());
    }
    (void)reader.stated_unpacked_bytes();
    block_log_records records = reader.whole_records();
    while (records.next())
        ;
    return all_of(reader);
}

void append(disk& on, const std::vector<block>& before) {
    auto writer = block_log_writer::open(log_file, {}, {1, 0, &on});
    const std::uint64_t head = writer.head_number().value_or(0);
    if (head == UINT64_MAX) return;
    const block next{head + 1, 5, {}};
    writer.append(next);
    writer.close();
    opening_options options;
    options.on = &on;
    std::vector<block> after = all_of(block_log_reader(log_file, {}, options));
    if (after.empty() || after.back() != next) std::abort();
    after.pop_back();
    if (!before.empty() && after != before) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    spdlog::set_level(spdlog::level::off);
    const patches input(data, size);
    if (input.rest().size() < 2) return 0;
    const auto all = std::as_bytes(input.rest().subspan(2));
    const std::size_t length =
        std::min<std::size_t>(input.rest()[0] | input.rest()[1] << 8U, all.size());
    std::vector<std::byte> log(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(length));
    std::vector<std::byte> index(all.begin() + static_cast<std::ptrdiff_t>(length), all.end());
    std::vector<std::byte> mark;
    if (input.flag(5)) mark = take_mark(index);
    if (input.flag(0)) seal_header(log);
    if (input.flag(1)) seal_records(log);
    if (input.flag(2)) seal_index(index, log);
    if (!mark.empty()) seal_mark(mark, log);
    simulated_disk on;
    store(on, log_file, log);
    if (!index.empty()) store(on, index_path(log_file), index);
    if (!mark.empty()) store(on, synced_path(log_file), mark);
    std::vector<block> before;
    try {
        before = read(on, input);
    } catch (const error&) { // expected
    }
    try {
        append(on, before);
    } catch (const error&) {
    }
    return 0;
}
