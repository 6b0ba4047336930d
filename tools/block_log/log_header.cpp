#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/checksum.hpp>
#include <tools/block_log/log_header.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase {

std::uint64_t block_log_format::checksum_of(const file_header& header) {
    return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(file_header, checksum)));
}

namespace {

using namespace block_log_format;

void require_magic(const file& log, const file_header& header, std::size_t size) {
    const std::size_t present = std::min(size, sizeof(header.magic));
    if (std::memcmp(header.magic.data(), log_magic.data(), present) != 0)
        throw format_error(log.path().string() + ": is no block log (its first bytes differ)");
    if (size < sizeof(header))
        throw damaged_error(log.path().string() + ": the block log's header is cut at byte " +
                            std::to_string(size) + " of " + std::to_string(sizeof(header)) +
                            "; it holds no block: remove it and create or import it again");
}

void require_supported(const file& log, const file_header& header) {
    if (checksum_of(header) != header.checksum.value())
        throw damaged_error(log.path().string() +
                            ": the block log's header (bytes 0 to 63) is altered; get the file "
                            "again from a good copy");
    if (header.version.value() != version || header.header_bytes.value() != sizeof(header))
        throw format_error(log.path().string() + ": is a block log of format version " +
                           std::to_string(header.version.value()) + ", this program reads " +
                           std::to_string(version));
}

} // namespace

bytes encode_log_header(std::string_view chain) {
    const chain_name name(chain);
    if (chain.empty()) throw usage_error("a block log needs the name of its chain");
    file_header header;
    header.magic = log_magic;
    header.version = version;
    header.header_bytes = sizeof(header);
    header.chain.fill('\0');
    std::ranges::copy(name.view(), header.chain.begin());
    header.reserved = 0;
    header.checksum = checksum_of(header);
    const auto view = std::as_bytes(std::span(&header, 1));
    return {view.begin(), view.end()};
}

log_header read_log_header(const file& log, std::string_view expected_chain) {
    file_header header;
    const std::size_t size = log.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
    require_magic(log, header, size);
    require_supported(log, header);
    const std::size_t length = strnlen(header.chain.data(), header.chain.size());
    log_header result{{header.chain.data(), length}, header.checksum.value()};
    if (!expected_chain.empty() && result.chain != expected_chain)
        throw format_error(log.path().string() + ": holds blocks of " + result.chain + ", not of " +
                           std::string(expected_chain));
    return result;
}

} // namespace chainbase
