#include <chainbase/offline/snapshot_file/trust.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/snapshot/tar_stream.hpp>
#include <tools/interruption.hpp>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace chainbase::inspect {

using snapshot_file::chunk_entry;
using snapshot_file::manifest;

namespace {

constexpr std::string_view chunk_prefix = "chunks/";
constexpr const char* manifest_name = "manifest";
constexpr unsigned file_mode = 0644;
constexpr int looks_for_signals = 200; // milliseconds
constexpr std::uint64_t most_chunks = std::uint64_t{1} << 22;
/// Bytes of a stream that are of no file: headers, and zeros behind the last one.
constexpr std::uint64_t most_between = std::uint64_t{2} << 20;
constexpr std::size_t read_at_once = std::size_t{1} << 16;

void require_going_on() {
    if (catch_interruption::caught())
        throw interrupted_error("interrupted; a stream cannot go on, so call again for a new one");
}

/// Waits until stdin or stdout is ready, or a signal came: a read or write of at most PIPE_BUF
/// bytes does not wait then.
bool is_ready(int file, short what) noexcept {
    while (!catch_interruption::caught()) {
        pollfd one{file, what, 0};
        if (::poll(&one, 1, looks_for_signals) > 0) return true;
    }
    errno = EINTR;
    return false;
}

} // namespace

// --- writing ---

struct tar_writer::stream {
    stream() : to(archive_write_new()), entry(archive_entry_new()) {
        if (to == nullptr || entry == nullptr) throw std::bad_alloc();
        archive_write_set_format_ustar(to);
        archive_write_set_bytes_per_block(to, 0);
        require(archive_write_open(to, this, nullptr, write_some, nullptr));
    }
    ~stream() {
        archive_write_fail(to); // no end of the archive, unless it is there
        archive_write_free(to);
        archive_entry_free(entry);
    }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    void require(la_ssize_t result) const {
        if (result >= ARCHIVE_OK) return;
        require_going_on();
        throw io_error(fmt::format("stdout: {}; whoever reads the stream ended, so call again",
                                   archive_error_string(to)));
    }

    static la_ssize_t write_some(::archive* to, void*, const void* from, std::size_t bytes) {
        if (is_ready(STDOUT_FILENO, POLLOUT)) {
            const ssize_t done =
                ::write(STDOUT_FILENO, from, std::min<std::size_t>(bytes, PIPE_BUF));
            if (done >= 0) return done;
        }
        archive_set_error(to, errno, "%s", std::generic_category().message(errno).c_str());
        return -1;
    }

    ::archive* to;
    ::archive_entry* entry;
};

tar_writer::tar_writer(const std::optional<std::filesystem::path>& base) {
    if (::isatty(STDOUT_FILENO) == 1)
        throw usage_error(
            "--to -: a snapshot is not written to a terminal; direct stdout to a file "
            "or a pipe");
    if (base) base_.emplace(*base);
    to_ = std::make_unique<stream>();
}

tar_writer::~tar_writer() = default;

chunk_entry tar_writer::put(const snapshot_file::piece& one) {
    const chunk_entry entry = entry_of(one);
    const bool is_in_base = base_ && base_->file_of(entry);
    if (is_in_base || !put_.insert(entry.digest).second) {
        ++done_.kept;
        return entry;
    }
    const std::string name = chunk_prefix.data() + hex(entry.digest);
    const archive::byte_buffer file = sound_file_of(one, name);
    add(name, file);
    ++done_.written;
    done_.written_bytes += file.size();
    return entry;
}

void tar_writer::finish(const manifest& all) {
    add(manifest_name, archive::as_bytes(sound_text_of(all, manifest_name)));
    to_->require(archive_write_close(to_->to));
}

void tar_writer::add(const std::string& name, archive::bytes_view content) {
    require_going_on();
    archive_entry_clear(to_->entry);
    archive_entry_set_pathname(to_->entry, name.c_str());
    archive_entry_set_filetype(to_->entry, AE_IFREG);
    archive_entry_set_perm(to_->entry, file_mode);
    archive_entry_set_mtime(to_->entry, 0, 0);
    archive_entry_set_size(to_->entry, static_cast<la_int64_t>(content.size()));
    to_->require(archive_write_header(to_->to, to_->entry));
    to_->require(archive_write_data(to_->to, content.data(), content.size()));
    to_->require(archive_write_finish_entry(to_->to));
}

// --- reading ---

chunk_entry tar_chunk::proven() const {
    chunk_entry one = snapshot_file::entry_of(file, name);
    if (one.digest != digest)
        throw damaged_error(name + ": it is another content than its name says; get this chunk "
                                   "again");
    return one;
}

namespace {

class tar_reader {
public:
    tar_reader() : from_(archive_read_new()) {
        if (from_ == nullptr) throw std::bad_alloc();
        archive_read_support_format_tar(from_);
        // All is read until stdin ends, so that nothing follows unseen.
        archive_read_set_options(from_, "tar:read_concatenated_archives");
        allow(0);
        archive_read_open(from_, this, nullptr, read_some, nullptr);
    }
    ~tar_reader() { archive_read_free(from_); }
    tar_reader(const tar_reader&) = delete;
    tar_reader& operator=(const tar_reader&) = delete;

    /// The next file, by its name; nothing at the end.
    [[nodiscard]] std::optional<std::string> next() {
        for (;;) {
            allow(0);
            const int result = archive_read_next_header(from_, &entry_);
            if (result == ARCHIVE_EOF) return std::nullopt;
            if (result != ARCHIVE_OK) refuse_stream();
            const char* const found = archive_entry_pathname(entry_);
            std::string name(found != nullptr ? found : "");
            while (name.starts_with("./"))
                name.erase(0, 2);
            const auto type = archive_entry_filetype(entry_);
            if (type == AE_IFREG) return name;
            if (type == AE_IFDIR && (name.empty() || name == chunk_prefix)) continue;
            refuse(name, "it is not a file of a snapshot");
        }
    }
    [[nodiscard]] archive::byte_buffer content(const std::string& name, std::uint64_t most) {
        const auto bytes = static_cast<std::uint64_t>(archive_entry_size(entry_));
        if (bytes > most) refuse(name, fmt::format("it has {} bytes, of at most {}", bytes, most));
        allow(bytes);
        archive::byte_buffer found;
        while (found.size() < bytes) {
            const std::size_t before = found.size();
            found.resize(std::min<std::uint64_t>(bytes, before + most_between));
            const la_ssize_t got =
                archive_read_data(from_, found.data() + before, found.size() - before);
            if (got <= 0) refuse_stream();
            found.resize(before + static_cast<std::size_t>(got));
        }
        return found;
    }

    /// A file in messages.
    [[nodiscard]] std::string in_words(const std::string& name) const {
        std::string text =
            fmt::format("{}, byte {}: ", stdin_name, archive_read_header_position(from_));
        append_json_string(text, name.substr(0, 100));
        return text;
    }
    [[noreturn]] void refuse(const std::string& name, const std::string& what) const {
        throw damaged_error(in_words(name) + ": " + what +
                            "; a stream has the chunks of one snapshot, then its manifest, as "
                            "`tar -c chunks manifest` makes it in its folder");
    }
    [[noreturn]] void refuse_end() const {
        throw damaged_error(
            fmt::format("{}: ends at byte {}, before the manifest of a snapshot: it "
                        "was cut, or is none; send it again",
                        stdin_name, received_));
    }

private:
    [[noreturn]] void refuse_stream() const {
        require_going_on();
        if (is_endless_)
            throw damaged_error(fmt::format("{}: goes on behind byte {} without a file of a "
                                            "snapshot; nothing may be before, between or behind "
                                            "the files",
                                            stdin_name, received_));
        if (errno = failure_; failure_ != 0) throw_file_error(stdin_name, "read");
        const char* const what = archive_error_string(from_);
        throw damaged_error(fmt::format(
            "{}: {} at byte {}, of {} that came: it was cut or damaged, or is no tar stream of a "
            "snapshot; send it again",
            stdin_name, what != nullptr ? what : "damaged",
            std::max<la_int64_t>(archive_read_header_position(from_), 0), received_));
    }

    /// How far the stream may go on before the next call.
    void allow(std::uint64_t bytes) noexcept { most_ = received_ + bytes + most_between; }

    static la_ssize_t read_some(::archive* from, void* self, const void** at) {
        auto& me = *static_cast<tar_reader*>(self);
        *at = me.buffer_.data();
        me.is_endless_ = me.received_ > me.most_;
        if (!me.is_endless_ && is_ready(STDIN_FILENO, POLLIN)) {
            const ssize_t got = ::read(STDIN_FILENO, me.buffer_.data(), me.buffer_.size());
            if (got >= 0) {
                me.received_ += static_cast<std::uint64_t>(got);
                return got;
            }
            me.failure_ = errno;
        }
        archive_set_error(from, EIO, "cannot be read");
        return -1;
    }

    ::archive* from_;
    ::archive_entry* entry_ = nullptr;
    std::array<std::byte, read_at_once> buffer_{};
    std::uint64_t received_ = 0;
    std::uint64_t most_ = 0;
    int failure_ = 0;
    bool is_endless_ = false;
};

std::optional<sha256_digest> digest_in(std::string_view name) {
    if (!name.starts_with(chunk_prefix)) return std::nullopt;
    name.remove_prefix(chunk_prefix.size());
    if (name.size() != 2 * sizeof(sha256_digest) ||
        name.find_first_not_of("0123456789abcdef") != name.npos)
        return std::nullopt;
    return snapshot_file::digest_of(std::string(name));
}

} // namespace

manifest read_tar(const std::function<void(const tar_chunk&)>& visit) {
    if (::isatty(STDIN_FILENO) == 1)
        throw usage_error("-: a snapshot is not read from a terminal; direct a stream to stdin");
    tar_reader from;
    std::set<sha256_digest> seen;
    for (;;) {
        const auto name = from.next();
        if (!name) from.refuse_end();
        if (*name == manifest_name) break;
        const auto digest = digest_in(*name);
        if (!digest) from.refuse(*name, "it is not a file of a snapshot");
        if (seen.size() == most_chunks) from.refuse(*name, "so many chunks are in no snapshot");
        if (!seen.insert(*digest).second) from.refuse(*name, "it came before");
        const auto file =
            from.content(*name, snapshot_file::most_file_bytes(snapshot_file::most_row_bytes));
        visit({*digest, file, from.in_words(*name)});
    }
    const auto text = from.content(manifest_name, snapshot_file::most_manifest_bytes);
    manifest all = manifest::of(archive::as_text(text), from.in_words(manifest_name));
    if (const auto more = from.next()) from.refuse(*more, "it follows the manifest");
    return all;
}

} // namespace chainbase::inspect
