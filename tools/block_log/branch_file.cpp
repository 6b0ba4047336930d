#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/block_log/bytes.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase {
namespace {

using namespace block_log_format;

/// A block log's header with another magic number, so that neither file is taken for the other.
constexpr std::array<unsigned char, 8> branch_magic{0x8e, 'B', 'L', 'K', 'B', 'R', 'N', '\n'};
constexpr std::uint32_t record_mark = 0x4243e28d;

/// Precedes a branch's blocks; a checksum of both follows.
struct branch_header {
    little_uint32_buf_t magic;
    little_uint32_buf_t payload_bytes;
    little_uint32_buf_t blocks;
    little_uint32_buf_t reserved;
    little_uint64_buf_t forks_after;
};
static_assert(sizeof(branch_header) == 24 && offsetof(branch_header, forks_after) == 16);

constexpr std::uint64_t frame_bytes = sizeof(branch_header) + sizeof(std::uint64_t);

/// What is wrong with the block numbers of a branch; empty when nothing is.
std::string fault_of(const branch& one) {
    if (one.blocks.empty()) return "a branch has blocks";
    std::uint64_t before = one.forks_after;
    for (const block& next : one.blocks) {
        if (next.number <= before)
            return "block " + std::to_string(next.number) + " of a branch cannot follow block " +
                   std::to_string(before);
        before = next.number;
    }
    return {};
}

void require_size(const file& to, const branch& one, std::size_t payload) {
    if (one.blocks.size() <= max_branch_blocks && payload <= max_branch_bytes) return;
    throw limit_error(to.path().string() + ": the branch after block " +
                      std::to_string(one.forks_after) + " has " +
                      std::to_string(one.blocks.size()) + " blocks of " + std::to_string(payload) +
                      " bytes; the limits are " + std::to_string(max_branch_blocks) + " and " +
                      std::to_string(max_branch_bytes));
}

bytes encode_branch(const file& to, const branch& one) {
    bytes record(sizeof(branch_header));
    byte_writer writer(record);
    for (const block& next : one.blocks)
        writer.byte_string(encode_block(next));
    const std::size_t payload = record.size() - sizeof(branch_header);
    require_size(to, one, payload);
    branch_header header;
    header.magic = record_mark;
    header.payload_bytes = static_cast<std::uint32_t>(payload);
    header.blocks = static_cast<std::uint32_t>(one.blocks.size());
    header.reserved = 0;
    header.forks_after = one.forks_after;
    std::memcpy(record.data(), &header, sizeof(header));
    const little_uint64_buf_t sum(checksum(record));
    const byte_view tail = view_of(sum);
    record.insert(record.end(), tail.begin(), tail.end());
    return record;
}

/// Throws damaged_error about the payload alone.
branch decode_branch(const branch_header& header, byte_view payload) {
    branch result{header.forks_after.value(), {}};
    byte_reader reader(payload, "the branch");
    for (std::uint32_t left = header.blocks.value(); left > 0; --left)
        result.blocks.push_back(decode_block(reader.byte_string()));
    reader.finish();
    if (const std::string fault = fault_of(result); !fault.empty()) throw damaged_error(fault);
    return result;
}

} // namespace

branch_file_writer::branch_file_writer(const std::filesystem::path& path, std::string_view chain) {
    const file_header header = make_header(branch_magic, "a branch file", chain);
    file_ = file::create(path);
    file_.write_first(view_of(header));
    end_ = sizeof(header);
}

void branch_file_writer::append(const branch& next) {
    if (const std::string fault = fault_of(next); !fault.empty())
        throw usage_error(file_.path().string() + ": " + fault);
    if (next.forks_after < last_fork_)
        throw usage_error(file_.path().string() + ": a branch after block " +
                          std::to_string(next.forks_after) + " cannot follow one after block " +
                          std::to_string(last_fork_));
    const chainbase::bytes record = encode_branch(file_, next);
    try {
        file_.write_at(end_, record);
    } catch (...) {
        (void)file_.try_truncate(end_);
        throw;
    }
    end_ += record.size();
    last_fork_ = next.forks_after;
    ++branches_;
}

void branch_file_writer::close() {
    file_.sync();
    file_.close();
}

branch_file_reader::branch_file_reader(const std::filesystem::path& path,
                                       std::string_view expected_chain)
    : file_(file::open_read(path)), size_(file_.size()) {
    file_header header;
    const std::size_t size = file_.read_at(0, writable_view_of(header));
    const std::string where = path.string();
    if (size < sizeof(header.magic) || header.magic != branch_magic)
        throw format_error(where + ": is not a file of branches (its first bytes differ)");
    if (size < sizeof(header) || own_checksum(header) != header.checksum.value())
        throw damaged_error(where + ": the header (bytes 0 to 63) is cut or altered; make the "
                                    "branches again");
    if (header.version.value() != version || header.header_bytes.value() != sizeof(header))
        throw format_error(where + ": is a branch file of format version " +
                           std::to_string(header.version.value()) + ", this program reads " +
                           std::to_string(version));
    chain_.assign(header.chain.data(), strnlen(header.chain.data(), header.chain.size()));
    if (!expected_chain.empty() && chain_ != expected_chain)
        throw format_error(where + ": holds branches of " + chain_ + ", not of " +
                           std::string(expected_chain));
    position_ = sizeof(header);
}

std::optional<branch> branch_file_reader::next() {
    if (position_ == size_) return {};
    branch_header header;
    if (size_ - position_ < frame_bytes) fail("the file ends in the middle of a branch");
    if (file_.read_at(position_, writable_view_of(header)) < sizeof(header))
        fail("the file became shorter while it was read");
    if (header.magic.value() != record_mark) fail("no branch begins here");
    const std::uint64_t payload = header.payload_bytes.value();
    if (payload > max_branch_bytes || header.blocks.value() > max_branch_blocks)
        fail("the length of the branch exceeds the limit");
    if (payload + frame_bytes > size_ - position_) fail("the branch ends after the file does");
    bytes record(payload + frame_bytes);
    if (file_.read_at(position_, record) < record.size())
        fail("the file became shorter while it was read");
    const byte_view covered = byte_view(record).first(record.size() - sizeof(std::uint64_t));
    if (checksum(covered) != load<little_uint64_buf_t>(record, covered.size()).value())
        fail("the checksum of the branch does not match");
    branch result;
    try {
        result = decode_branch(load<branch_header>(record), covered.subspan(sizeof(header)));
    } catch (const damaged_error& problem) {
        fail(problem.what());
    }
    if (result.forks_after < last_fork_) fail("the branch is out of order");
    position_ += record.size();
    last_fork_ = result.forks_after;
    return result;
}

void branch_file_reader::fail(const std::string& reason) const {
    throw damaged_error(file_.path().string() + ": byte " + std::to_string(position_) + ": " +
                        reason + "; make the branches again");
}

} // namespace chainbase
