#include <chainbase/offline/snapshot_file/chunk.hpp>
#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/sha256_pairs.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/endian/conversion.hpp>
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

namespace chainbase::snapshot_file {

namespace {

using archive::byte_buffer;
using archive::bytes_view;

constexpr std::uint32_t archived_bit = std::uint32_t{1} << 31;
constexpr std::size_t number_bytes = sizeof(std::uint32_t);

std::uint32_t number_at(const std::byte* at) noexcept {
    return boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(at));
}

std::byte* store_number(std::byte* at, std::uint64_t number) noexcept {
    boost::endian::store_little_u32(reinterpret_cast<unsigned char*>(at),
                                    static_cast<std::uint32_t>(number));
    return at + number_bytes;
}

std::byte* store_bytes(std::byte* at, bytes_view bytes) noexcept {
    return std::ranges::copy(bytes, at).out;
}

[[noreturn]] void chunk_damaged(const std::string& of, const std::string& what) {
    throw damaged_error(of + ": " + what + "; get this chunk again");
}

/// Takes rows off a content, each of whose numbers may be wrong.
class content_reader {
public:
    content_reader(bytes_view content, const std::string& of) : content_(content), of_(of) {}

    [[nodiscard]] bool has_more() const noexcept { return at_ < content_.size(); }
    [[nodiscard]] chunk_row next() {
        begin_ = at_;
        chunk_row row;
        row.id = number();
        if (row.id < least_id_) refuse("its id is not above the one before");
        least_id_ = std::uint64_t{row.id} + 1;
        const std::uint32_t length = number();
        row.is_archived = (length & archived_bit) != 0;
        row.record = take(length & ~archived_bit);
        if (row.is_archived) row.keys = take(number());
        return row;
    }
    /// About the row that was taken last.
    [[noreturn]] void refuse(const std::string& what) const {
        chunk_damaged(of_, fmt::format("the row at offset {}: {}", begin_, what));
    }

private:
    [[nodiscard]] std::uint32_t number() { return number_at(take(number_bytes).data()); }
    [[nodiscard]] bytes_view take(std::size_t bytes) {
        if (content_.size() - at_ < bytes) refuse("it is cut");
        at_ += bytes;
        return content_.subspan(at_ - bytes, bytes);
    }

    bytes_view content_;
    const std::string& of_;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;      ///< of the row
    std::uint64_t least_id_ = 0; ///< that the next row may have
};

/// The digests of one level of a tree, as far as they are not 0. They stay where they are, and
/// those of the level above are put in their place.
class tree_level {
public:
    void add(std::uint32_t place, const sha256_digest& one) {
        nodes_.push_back({place, static_cast<std::uint32_t>(digests_.size())});
        digests_.push_back(one);
    }
    [[nodiscard]] bool is_empty() const noexcept { return nodes_.empty(); }
    [[nodiscard]] const sha256_digest& first() const { return digests_[nodes_.front().digest]; }

    /// One level up.
    void climb() {
        std::size_t above = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++above) {
            const node_of_level one = nodes_[i];
            const bool is_left = one.place % 2 == 0;
            const bool has_right =
                is_left && i + 1 < nodes_.size() && nodes_[i + 1].place == one.place + 1;
            sha256_digest* const here = &digests_[one.digest];
            const sha256_digest* const other =
                has_right ? &digests_[nodes_[i + 1].digest] : &state_root::no_digest;
            is_left ? hash({here, other, here}) : hash({other, here, here});
            nodes_[above] = {one.place / 2, one.digest};
            i += has_right ? 2 : 1;
        }
        nodes_.resize(above);
        hash_all();
    }

private:
    struct node_of_level {
        std::uint32_t place;
        std::uint32_t digest; ///< its index
    };
    static constexpr std::size_t pairs_at_once = 512;

    void hash(const digest_pair& one) {
        pairs_.push_back(one);
        if (pairs_.size() == pairs_at_once) hash_all();
    }
    void hash_all() noexcept {
        hash_pairs(pairs_);
        pairs_.clear();
    }

    std::vector<node_of_level> nodes_;
    std::vector<sha256_digest> digests_;
    std::vector<digest_pair> pairs_; ///< not hashed yet
};

// --- files ---

constexpr std::string_view file_mark = "chnkrow1";
constexpr std::size_t before_frame = file_mark.size() + sizeof(std::uint64_t);
constexpr int compression_level = 3;

std::uint64_t stored_sum(bytes_view file) noexcept {
    return boost::endian::load_little_u64(
        reinterpret_cast<const unsigned char*>(file.data() + file_mark.size()));
}

void require_length(bytes_view file, std::uint64_t bytes, const std::string& of) {
    if (bytes > most_row_bytes)
        chunk_damaged(of, fmt::format("a content of {} bytes is beyond the limit", bytes));
    if (file.size() < before_frame || file.size() > most_file_bytes(bytes))
        chunk_damaged(
            of, fmt::format("{} bytes are no chunk with a content of {}", file.size(), bytes));
}

void require_mark(bytes_view file, const std::string& of) {
    if (file.size() < before_frame || !archive::as_text(file).starts_with(file_mark))
        chunk_damaged(of, "it does not begin as a chunk");
}

/// What can be known of a frame before memory is taken.
void require_frame(bytes_view frame, std::uint64_t bytes, const std::string& of) {
    if (frame.size() < number_bytes || number_at(frame.data()) != ZSTD_MAGICNUMBER)
        chunk_damaged(of, "no frame of zstd");
    const unsigned long long says = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (says != bytes || says >= ZSTD_CONTENTSIZE_ERROR)
        chunk_damaged(of, says >= ZSTD_CONTENTSIZE_ERROR
                              ? std::string("the frame does not say how long its content is")
                              : fmt::format("a content of {} bytes, not of {}", says, bytes));
    const std::size_t ends = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
    if (ZSTD_isError(ends) != 0)
        chunk_damaged(of, fmt::format("the frame: {}", ZSTD_getErrorName(ends)));
    if (ends != frame.size())
        chunk_damaged(of, fmt::format("{} bytes follow the frame", frame.size() - ends));
}

} // namespace

bool node::is_valid() const noexcept {
    return height <= 32 && first % (std::uint64_t{1} << height) == 0;
}

void chunk_content::add(const chunk_row& one) {
    if (one.bytes() > most_row_bytes)
        throw limit_error(fmt::format("the object {} has {} bytes with its keys, and a snapshot "
                                      "takes at most {}; make it smaller first",
                                      one.id, one.bytes(), most_row_bytes));
    const std::size_t before = bytes_.size();
    bytes_.resize(before + one.bytes());
    std::byte* at = store_number(bytes_.data() + before, one.id);
    at = store_number(at, one.record.size() | (one.is_archived ? archived_bit : 0));
    at = store_bytes(at, one.record);
    if (one.is_archived) store_bytes(store_number(at, one.keys.size()), one.keys);
    ++objects_;
    archived_ += one.is_archived ? 1 : 0;
}

void chunk_content::add(const chunk_content& next) {
    archive::append(bytes_, next.bytes_);
    objects_ += next.objects_;
    archived_ += next.archived_;
}

void chunk_content::clear() noexcept {
    bytes_.clear();
    objects_ = 0;
    archived_ = 0;
}

void each_row(bytes_view content, const std::string& of,
              const std::function<void(const chunk_row&)>& visit) {
    for (content_reader from(content, of); from.has_more();)
        visit(from.next());
}

sha256_digest root_of(bytes_view content, node at, const std::string& of) {
    if (!at.is_valid())
        chunk_damaged(of, fmt::format("no node begins at {} with height {}", at.first, at.height));
    tree_level level;
    sha256 hash;
    for (content_reader from(content, of); from.has_more();) {
        const chunk_row row = from.next();
        if (row.id < at.first || row.id >= at.end())
            from.refuse(
                fmt::format("its id {} is not from {} to {}", row.id, at.first, at.end() - 1));
        level.add(row.id - at.first, hash.of(row.record));
    }
    if (level.is_empty()) return state_root::no_digest;
    for (unsigned height = 0; height < at.height; ++height)
        level.climb();
    return level.first();
}

byte_buffer packed(bytes_view content) {
    byte_buffer file(before_frame + ZSTD_compressBound(content.size()));
    std::byte* const frame = file.data() + before_frame;
    const std::size_t bytes = ZSTD_compress(frame, file.size() - before_frame, content.data(),
                                            content.size(), compression_level);
    if (ZSTD_isError(bytes) != 0) throw std::bad_alloc(); // the room is enough for any content
    file.resize(before_frame + bytes);
    std::memcpy(file.data(), file_mark.data(), file_mark.size());
    boost::endian::store_little_u64(
        reinterpret_cast<unsigned char*>(file.data() + file_mark.size()),
        archive::hash_of({frame, bytes}));
    return file;
}

std::uint64_t content_bytes(bytes_view file, const std::string& of) {
    require_mark(file, of);
    const bytes_view frame = file.subspan(before_frame);
    const std::uint64_t bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
    require_frame(frame, bytes, of);
    require_length(file, bytes, of);
    return bytes;
}

byte_buffer unpacked(bytes_view file, std::uint64_t bytes, const std::string& of) {
    require_length(file, bytes, of);
    require_mark(file, of);
    const bytes_view frame = file.subspan(before_frame);
    if (archive::hash_of(frame) != stored_sum(file))
        chunk_damaged(of, "the checksum does not match");
    require_frame(frame, bytes, of);
    byte_buffer content(bytes);
    // It refuses a frame that does not unpack to what it says.
    const std::size_t done =
        ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size());
    if (ZSTD_isError(done) != 0)
        chunk_damaged(of, fmt::format("the frame: {}", ZSTD_getErrorName(done)));
    return content;
}

std::uint64_t most_file_bytes(std::uint64_t bytes) noexcept {
    return before_frame + ZSTD_compressBound(bytes);
}

} // namespace chainbase::snapshot_file
