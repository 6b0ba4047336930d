#pragma once

#include <tests/support/temporary_folder.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::test {

/// A copy of one of the project's logs, so that no index is written among the sources, and a folder
/// for states beside it.
class real_log {
public:
    explicit real_log(const std::string& chain) : chain_(chain) {
        const std::filesystem::path from = CHAINBASE_CHAINS_FOLDER;
        const char* folder = chain == "steem-2016" ? "social" : "swap";
        std::filesystem::copy_file(from / folder / "data" / (chain + ".blocks"), path());
    }

    [[nodiscard]] const std::string& chain() const { return chain_; }
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "log"; }
    [[nodiscard]] std::filesystem::path state(const std::string& name = "state") const {
        return folder_ / name;
    }
    /// A call of the driver that replays it.
    [[nodiscard]] std::vector<std::string> replay(const std::vector<std::string>& more = {},
                                                  const std::string& name = "state") const {
        std::vector<std::string> call{"replay",  "--block-log",        path().string(),
                                      "--state", state(name).string(), "--json"};
        call.insert(call.end(), more.begin(), more.end());
        return call;
    }

private:
    temporary_folder folder_;
    std::string chain_;
};

/// The digests at the end of the logs: equal for every compiler and every history. They change only
/// with the fields of a chain's objects.
inline std::string digest_at_end(const std::string& chain) {
    return chain == "steem-2016"
               ? "a3dea985aee2a5dc5a62fe8c57a785fd292c02e51a9a1efe5262101b582939f2"
               : "427b12463a16e65a7c50b589ce482966bfb8dc4e4620aa8b8400c722f83d5abf";
}

} // namespace chainbase::test
