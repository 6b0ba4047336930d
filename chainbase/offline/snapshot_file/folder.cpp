#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/offline/snapshot_file/folder.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace chainbase::snapshot_file {

namespace fs = std::filesystem;

namespace {

constexpr const char* manifest_file = "manifest";
constexpr const char* chunks_folder = "chunks";
constexpr const char* lock_file = "lock";
constexpr std::string_view unfinished_end = ".new";

fs::path chunk_file(const fs::path& folder, const sha256_digest& digest) {
    return folder / chunks_folder / hex(digest);
}

fs::path unfinished(const fs::path& file) {
    return file.string() + std::string(unfinished_end);
}

/// Whether a writer may have called a file in `chunks` so.
bool is_chunk_name(std::string_view name) {
    if (name.ends_with(unfinished_end)) name.remove_suffix(unfinished_end.size());
    return name.size() == 2 * sizeof(sha256_digest) &&
           name.find_first_not_of("0123456789abcdef") == name.npos;
}

/// Throws damaged_error, naming `of`, when it is longer than `most`, or than it can be read.
archive::byte_buffer content_of(const disk_file& file, std::uint64_t most, const std::string& of) {
    const std::uint64_t bytes = file.bytes();
    if (bytes > most)
        throw damaged_error(fmt::format("{}: has {} bytes, and at most {} are expected; get the "
                                        "file again",
                                        of, bytes, most));
    archive::byte_buffer content(bytes);
    if (file.read(0, content) < bytes)
        throw damaged_error(of + ": became shorter; get the file again");
    return content;
}

/// Whoever it belongs to: nothing in it is believed.
system_file opened_by_anyone(const fs::path& name) {
    file_descriptor opened(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (opened.number() < 0) throw_file_error(name, "open");
    return {name, std::move(opened)};
}

/// A file that is replaced in one step, from its unfinished name on. What was written is read back.
/// On storage after sync_folder.
void write_whole(disk& on, const fs::path& file, archive::bytes_view content) {
    const fs::path fresh = unfinished(file);
    on.remove(fresh);
    const auto to = on.open(fresh, disk::mode::create);
    to->write(0, content);
    to->sync();
    if (!archive::same(content_of(*to, content.size(), fresh.string()), content))
        throw damaged_error(fresh.string() + ": what was read back is not what was written; "
                                             "check the disk and the memory of this machine");
    on.rename(fresh, file);
}

void require_content(archive::bytes_view content, const chunk_entry& one, const std::string& of) {
    if (sha256().of(content) != one.digest)
        throw damaged_error(of + ": it is another content than the manifest says; get this chunk "
                                 "again");
}

} // namespace

// --- writing ---

struct folder_writer::work {
    work(fs::path path, const std::optional<fs::path>& base_path, disk& to)
        : folder(fs::absolute(path).lexically_normal()), on(to) {
        folder = without_slash(folder);
        if (!fs::is_directory(folder.parent_path()))
            throw usage_error(folder.string() + ": there is no folder " +
                              folder.parent_path().string() + " to make it in; check the path");
        if (base_path) base.emplace(*base_path);
        require_ours();
        private_folder::make_within(folder);
        take_lock();
        require_unfinished(); // it may have become whole meanwhile
        on.make_folder(folder / chunks_folder);
        sync_folder(folder.parent_path());
    }

    void require_unfinished() const {
        if (on.exists(folder / manifest_file))
            throw usage_error(folder.string() + ": is a whole snapshot, which is not changed; "
                                                "choose another name, or move it away");
    }
    void require_ours() const {
        const auto foreign = [&](const std::string& what) {
            return usage_error(folder.string() + ": " + what +
                               ", so it is no unfinished snapshot. Nothing in it was changed; move "
                               "it away, or give another name");
        };
        const fs::file_status found = fs::symlink_status(folder);
        if (fs::exists(found) && !fs::is_directory(found)) throw foreign("is not a folder");
        require_unfinished();
        for (const std::string& name : on.names_in(folder))
            if (name != chunks_folder && name != lock_file && name != unfinished(manifest_file))
                throw foreign("holds " + name);
        for (const std::string& name : on.names_in(folder / chunks_folder))
            if (!is_chunk_name(name)) throw foreign("holds chunks/" + name);
    }
    void take_lock() {
        try {
            lock.emplace(folder / lock_file, /*create=*/true);
            lock->announce();
        } catch (const locked_error&) {
            throw locked_error(folder.string() + ": another process writes this snapshot; wait "
                                                 "for that one");
        }
    }

    [[nodiscard]] bool is_in_base(const chunk_entry& one) const {
        return base && base->file_of(one).has_value();
    }
    /// Whether its file is here, from an earlier call, and right. It is on storage then.
    [[nodiscard]] bool is_here(const chunk_entry& one, const fs::path& file) const {
        if (!on.exists(file)) return false;
        try {
            const auto found = on.open(file, disk::mode::write);
            const auto bytes = content_of(*found, most_file_bytes(one.bytes), file.string());
            require_content(unpacked(bytes, one.bytes, file.string()), one, file.string());
            found->sync();
            return true;
        } catch (const damaged_error&) {
            return false; // it is written again
        }
    }
    void write_file(archive::bytes_view bytes, const fs::path& file) {
        write_whole(on, file, bytes);
        const std::lock_guard guard(mutex);
        ++done.written;
        done.written_bytes += bytes.size();
    }
    /// Whether nobody has put this content yet.
    [[nodiscard]] bool claim(const chunk_entry& one) {
        const std::lock_guard guard(mutex);
        return put.insert(one.digest).second;
    }
    void give_up(const chunk_entry& one) noexcept {
        const std::lock_guard guard(mutex);
        put.erase(one.digest);
    }
    void count_kept() {
        const std::lock_guard guard(mutex);
        ++done.kept;
    }

    void require_put(const manifest& all) const {
        const std::lock_guard guard(mutex);
        for (const type_entry& type : all.types)
            for (const auto* chunks : {&type.chunks, &type.removed})
                for (const chunk_entry& one : *chunks)
                    if (!put.contains(one.digest) && !is_in_base(one))
                        throw usage_error(folder.string() + ": the chunk of " + name_of(type, one) +
                                          " was not put; put all chunks of the manifest before it");
    }
    void remove_others(const manifest& all) const {
        std::set<std::string> names;
        for (const type_entry& type : all.types)
            for (const auto* chunks : {&type.chunks, &type.removed})
                for (const chunk_entry& one : *chunks)
                    names.insert(hex(one.digest));
        for (const std::string& name : on.names_in(folder / chunks_folder))
            if (!names.contains(name)) on.remove(folder / chunks_folder / name);
    }
    void write_manifest(std::string_view text) const {
        try {
            write_whole(on, folder / manifest_file, archive::as_bytes(text));
            on.sync_folder(folder);
        } catch (...) {
            try { // its name may be there, and not on storage
                on.remove(folder / manifest_file);
            } catch (...) { // the folder has a whole snapshot, then
            }
            throw;
        }
    }

    fs::path folder;
    disk& on;
    std::optional<folder_reader> base;
    std::optional<file_lock> lock;

    mutable std::mutex mutex;
    std::set<sha256_digest> put; ///< contents that are here, or on their way
    figures done;
};

folder_writer::folder_writer(fs::path folder, const std::optional<fs::path>& base, disk* on)
    : work_(std::make_shared<work>(std::move(folder), base, on ? *on : disk::of_system())) {}

chunk_entry folder_writer::put(const piece& one) {
    const chunk_entry entry = entry_of(one);
    if (work_->is_in_base(entry) || !work_->claim(entry)) {
        work_->count_kept();
        return entry;
    }
    try {
        const fs::path file = chunk_file(work_->folder, entry.digest);
        if (work_->is_here(entry, file))
            work_->count_kept();
        else
            work_->write_file(sound_file_of(one, file.string()), file);
    } catch (...) {
        work_->give_up(entry);
        throw;
    }
    return entry;
}

bool folder_writer::keeps(const chunk_entry& one) {
    const bool is_there =
        work_->is_in_base(one) || work_->is_here(one, chunk_file(work_->folder, one.digest));
    if (!is_there) return false;
    static_cast<void>(work_->claim(one));
    work_->count_kept();
    return true;
}

void folder_writer::put_file(const chunk_entry& one, archive::bytes_view file) {
    if (!work_->claim(one)) return work_->count_kept();
    try {
        work_->write_file(file, chunk_file(work_->folder, one.digest));
    } catch (...) {
        work_->give_up(one);
        throw;
    }
}

void folder_writer::finish(const manifest& all) {
    const fs::path file = work_->folder / manifest_file;
    const std::string text = sound_text_of(all, file.string());
    work_->require_unfinished();
    work_->require_put(all);
    work_->remove_others(all);
    work_->on.sync_folder(work_->folder / chunks_folder);
    work_->on.sync_folder(work_->folder);
    work_->write_manifest(text);
    std::error_code ignored; // a whole snapshot with a lock that nobody holds is one, too
    fs::remove(work_->folder / lock_file, ignored);
    work_->lock.reset();
}

folder_writer::figures folder_writer::so_far() const {
    const std::lock_guard guard(work_->mutex);
    return work_->done;
}

// --- reading ---

namespace {

manifest manifest_of(const fs::path& folder) {
    const fs::path file = folder / manifest_file;
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored))
        throw usage_error(folder.string() + ": there is no such folder; check the path");
    if (!fs::exists(file, ignored))
        throw usage_error(folder.string() +
                          (fs::exists(folder / chunks_folder, ignored)
                               ? ": is an unfinished snapshot, without a manifest; write it again, "
                                 "which goes on, or remove it"
                               : ": is no snapshot, because it has no manifest; check the path"));
    const auto text = content_of(opened_by_anyone(file), most_manifest_bytes, file.string());
    return manifest::of(archive::as_text(text), file.string());
}

} // namespace

folder_reader::folder_reader(fs::path folder, std::vector<fs::path> others)
    : folder_(std::move(folder)), others_(std::move(others)), manifest_(manifest_of(folder_)) {}

std::optional<fs::path> folder_reader::file_of(const chunk_entry& one) const {
    std::error_code ignored;
    if (fs::path file = chunk_file(folder_, one.digest); fs::is_regular_file(file, ignored))
        return file;
    for (const fs::path& other : others_)
        if (fs::path file = chunk_file(other, one.digest); fs::is_regular_file(file, ignored))
            return file;
    return std::nullopt;
}

archive::byte_buffer folder_reader::content(const type_entry& of, const chunk_entry& one) const {
    const std::optional<fs::path> file = file_of(one);
    if (!file)
        throw io_error(chunk_file(folder_, one.digest).string() + ": " + name_of(of, one) +
                       ": there is no such file, there or in the folder of a base; name the "
                       "snapshot that this one was based on, or get the file again");
    const std::string name = file->string() + ": " + name_of(of, one);
    return verified(content_of(opened_by_anyone(*file), most_file_bytes(one.bytes), name), one,
                    name);
}

void make_unfinished(const fs::path& folder) {
    disk& on = disk::of_system();
    on.rename(folder / manifest_file, unfinished(folder / manifest_file));
    on.sync_folder(folder);
}

archive::byte_buffer verified(archive::bytes_view file, const chunk_entry& one,
                              const std::string& of) {
    archive::byte_buffer content = unpacked(file, one.bytes, of);
    require_content(content, one, of);
    std::uint64_t objects = 0;
    each_row(content, of, [&](const chunk_row&) { ++objects; });
    if (objects != one.objects)
        throw damaged_error(fmt::format("{}: has {} objects, not {} as the manifest says; get the "
                                        "manifest again",
                                        of, objects, one.objects));
    if (root_of(content, one.at, of) != one.root)
        throw damaged_error(of + ": its objects do not lead to the root that the manifest says; "
                                 "get the manifest again");
    return content;
}

chunk_entry entry_of(archive::bytes_view file, const std::string& of) {
    const auto content = unpacked(file, content_bytes(file, of), of);
    chunk_entry one{{}, 0, content.size(), sha256().of(content), {}};
    std::uint32_t last = 0;
    each_row(content, of, [&](const chunk_row& row) {
        if (one.objects++ == 0) one.at.first = row.id;
        last = row.id;
    });
    if (one.objects == 0 || (one.objects != 1 && one.bytes > most_bytes))
        throw damaged_error(fmt::format("{}: {} objects of {} bytes are no chunk; get it again", of,
                                        one.objects, one.bytes));
    one.at.height = static_cast<unsigned>(std::bit_width(one.at.first ^ last));
    one.at.first =
        static_cast<std::uint32_t>((std::uint64_t{last} >> one.at.height) << one.at.height);
    one.root = root_of(content, one.at, of);
    return one;
}

chunk_entry entry_of(const piece& one) {
    const archive::bytes_view content = one.content.bytes();
    return {one.at, one.content.objects(), content.size(), sha256().of(content), one.root};
}

archive::byte_buffer sound_file_of(const piece& one, const std::string& of) {
    const archive::bytes_view content = one.content.bytes();
    archive::byte_buffer file = packed(content);
    if (!archive::same(unpacked(file, content.size(), of), content))
        throw damaged_error(of + ": what was compressed does not unpack to the same; check the "
                                 "memory of this machine");
    return file;
}

std::string sound_text_of(const manifest& all, const std::string& of) {
    std::string text = all.text();
    try {
        (void)manifest::of(text, of);
    } catch (const damaged_error& e) {
        throw usage_error(std::string("this manifest is not to be written: ") + e.what());
    }
    return text;
}

std::string name_of(const type_entry& type, const chunk_entry& one) {
    return fmt::format("{}, ids {} to {}", type.schema.name, one.at.first, one.at.end() - 1);
}

} // namespace chainbase::snapshot_file
