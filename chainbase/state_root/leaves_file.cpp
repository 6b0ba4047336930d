#include <chainbase/state_root/leaves_file.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <boost/endian/arithmetic.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace chainbase::state_root {

namespace {

using boost::endian::little_uint32_t;
using boost::endian::little_uint64_t;

constexpr std::string_view magic = "chainbase leaves";

struct file_header {
    std::array<char, 16> magic;
    little_uint32_t format;
    little_uint32_t types;
};
struct type_header {
    little_uint64_t leaves;
    little_uint32_t name_bytes;
};
struct file_leaf {
    little_uint32_t id;
    sha256_digest leaf;
};
static_assert(sizeof(file_header) == 24 && sizeof(type_header) == 12 &&
              sizeof(file_leaf) == bytes_of_leaf);

constexpr std::uint32_t file_format = 1;
constexpr std::size_t bytes_at_once = std::size_t{4} << 20;
constexpr std::size_t leaves_at_once = bytes_at_once / sizeof(file_leaf);
constexpr std::uint32_t longest_name = 4096;

/// Appends to a file.
class leaves_writer {
public:
    leaves_writer(const std::filesystem::path& name, const file_descriptor& file)
        : name_(name), file_(file) {}

    void add(std::span<const std::byte> bytes) {
        const std::size_t end = buffer_.size();
        buffer_.resize(end + bytes.size());
        std::memcpy(buffer_.data() + end, bytes.data(), bytes.size());
        if (buffer_.size() >= bytes_at_once) flush();
    }
    void flush() {
        write_at(file_, name_, written_, buffer_);
        written_ += buffer_.size();
        buffer_.clear();
    }

private:
    const std::filesystem::path& name_;
    const file_descriptor& file_;
    std::vector<std::byte> buffer_;
    std::uint64_t written_ = 0;
};

/// Reads from a file on.
class leaves_reader {
public:
    leaves_reader(const std::filesystem::path& name, const file_descriptor& file)
        : name_(name), file_(file) {}

    /// False where the file ends before.
    [[nodiscard]] bool read(std::span<std::byte> into) {
        const std::size_t found = read_at(file_, name_, read_, into);
        read_ += found;
        return found == into.size();
    }
    template <typename T>
    [[nodiscard]] bool read(T& to) {
        return read(std::as_writable_bytes(std::span(&to, 1)));
    }

private:
    const std::filesystem::path& name_;
    const file_descriptor& file_;
    std::uint64_t read_ = 0;
};

/// The leaves of one type; false unless they are all there, by rising ids.
bool read_type(leaves_reader& from, std::uint64_t leaves, std::size_t number, state_tree& to,
               thread_pool* pool) {
    std::vector<file_leaf> read;
    std::vector<leaf_update> updates;
    std::int64_t last = -1;
    while (leaves != 0) {
        read.resize(static_cast<std::size_t>(std::min<std::uint64_t>(leaves, leaves_at_once)));
        if (!from.read(std::as_writable_bytes(std::span(read)))) return false;
        leaves -= read.size();
        updates.clear();
        for (const file_leaf& one : read) {
            if (one.id <= last) return false;
            last = one.id;
            updates.push_back({one.id, one.leaf});
        }
        to.update(number, updates, pool);
    }
    return true;
}

void write_all_leaves(leaves_writer& to, const state_tree& of) {
    file_header head{{},
                     little_uint32_t(file_format),
                     little_uint32_t(static_cast<std::uint32_t>(of.types().size()))};
    std::ranges::copy(magic, head.magic.begin());
    to.add(std::as_bytes(std::span(&head, 1)));
    for (std::size_t number = 0; number < of.types().size(); ++number) {
        const std::string& name = of.types()[number];
        const type_header type{little_uint64_t(of.objects(number).leaves()),
                               little_uint32_t(static_cast<std::uint32_t>(name.size()))};
        to.add(std::as_bytes(std::span(&type, 1)));
        to.add(std::as_bytes(std::span(name)));
    }
    for (std::size_t number = 0; number < of.types().size(); ++number)
        of.objects(number).each([&](std::uint32_t id, const sha256_digest& leaf) {
            const file_leaf one{little_uint32_t(id), leaf};
            to.add(std::as_bytes(std::span(&one, 1)));
        });
    to.flush();
}

} // namespace

void write_leaves(const std::filesystem::path& file, const state_tree& of) {
    const file_descriptor opened = open_private(file, file_use::replace);
    try {
        leaves_writer to(file, opened);
        write_all_leaves(to, of);
    } catch (...) {
        ::unlink(file.c_str()); // a part is of no use, and takes space
        throw;
    }
}

std::optional<state_tree> read_leaves(const std::filesystem::path& file, const sha256_digest& root,
                                      unsigned threads) {
    std::error_code ignored;
    if (std::filesystem::symlink_status(file, ignored).type() ==
        std::filesystem::file_type::not_found)
        return std::nullopt;
    const file_descriptor opened = open_private(file, file_use::read);
    leaves_reader from(file, opened);
    file_header head{};
    if (!from.read(head) || std::string_view(head.magic.data(), head.magic.size()) != magic ||
        head.format != file_format)
        return std::nullopt;
    std::vector<std::string> names;
    std::vector<std::uint64_t> leaves;
    for (std::uint32_t number = 0; number < head.types; ++number) {
        type_header type{};
        if (!from.read(type) || type.name_bytes > longest_name) return std::nullopt;
        std::string name(type.name_bytes, '\0');
        if (!from.read(std::as_writable_bytes(std::span(name)))) return std::nullopt;
        if (number != 0 && name <= names.back()) return std::nullopt;
        names.push_back(std::move(name));
        leaves.push_back(type.leaves);
    }
    std::optional<thread_pool> pool;
    if (threads != 0) pool.emplace(threads);
    state_tree all(std::move(names));
    for (std::size_t number = 0; number < leaves.size(); ++number)
        if (!read_type(from, leaves[number], number, all, pool ? &*pool : nullptr))
            return std::nullopt;
    if (all.root() != root) return std::nullopt;
    return all;
}

} // namespace chainbase::state_root
