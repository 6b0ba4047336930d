#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/output_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

bool lies_in(const fs::path& file, const fs::path& folder) {
    std::error_code missing;
    const fs::path whole = fs::canonical(folder, missing);
    return !missing &&
           std::mismatch(whole.begin(), whole.end(), file.begin(), file.end()).first == whole.end();
}

} // namespace

output_file::output_file(fs::path file, const std::vector<fs::path>& folders)
    : file_(std::move(file)) {
    std::error_code failure;
    if (fs::exists(file_, failure) && !fs::is_regular_file(file_, failure))
        throw usage_error(file_.string() + ": is not a file that can be replaced; name another "
                                           "one");
    const fs::path folder = fs::canonical(fs::absolute(file_).parent_path(), failure);
    if (failure)
        throw usage_error(file_.string() + ": its folder does not exist; make the folder, or "
                                           "name another file");
    // Replaces a link's target, not the link.
    const fs::path real = fs::canonical(file_, failure);
    file_ = failure ? folder / file_.filename() : real;
    for (const fs::path& each : folders)
        if (lies_in(file_, each))
            throw usage_error(file_.string() + ": is in " + each.string() +
                              ", which is only read; name a file outside of it");
}

void output_file::write(std::string_view content) const {
    const fs::path fresh = file_.string() + "." + std::to_string(::getpid()) + ".new";
    try {
        const file_descriptor to(
            ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
        if (to.number() < 0) throw_file_error(fresh, "create");
        write_at(to, fresh, 0, std::as_bytes(std::span(content)));
        if (::rename(fresh.c_str(), file_.c_str()) != 0) throw_file_error(file_, "replace");
    } catch (...) {
        ::unlink(fresh.c_str());
        throw;
    }
}

} // namespace chainbase::inspect
