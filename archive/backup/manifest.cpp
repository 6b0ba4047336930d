#include <archive/backup.hpp>
#include <archive/backup/unfinished_folder.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>

#include <boost/algorithm/hex.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string_view>

namespace chainbase::archive {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view beginning = "chainbase backup, format ";
constexpr std::string_view version = "1";

std::string first_line(std::string_view text) {
    return fmt::format("{}{}, XXH3-64 {:016x}\n", beginning, version, hash_of(as_bytes(text)));
}

json text_of(const backup_manifest& one) {
    json files = json::array();
    for (const backup_manifest::file& file : one.files)
        files.push_back({{"name", file.name},
                         {"bytes", file.bytes},
                         {"xxh3_64", fmt::format("{:016x}", file.sum)}});
    return {{"state", one.identity()},  {"generation", one.generation},
            {"revision", one.revision}, {"irreversible_revision", one.committed},
            {"time", one.time},         {"archive", to_string(one.archive)},
            {"rows", one.rows},         {"remarks", one.remarks},
            {"files", std::move(files)}};
}

/// A file of a backup is in one of the two folders that a state has of it, or below.
bool is_plain(const std::string& name) {
    const fs::path path(name);
    if (path.is_absolute() || path.lexically_normal() != path || !path.has_filename()) return false;
    const std::string first = path.begin()->string();
    return (first == "checkpoint" || first == "archive") && std::next(path.begin()) != path.end();
}

backup_manifest from_text(const json& text) {
    backup_manifest one;
    const std::string state = boost::algorithm::unhex(text.at("state").get<std::string>());
    if (state.size() != one.state.size()) throw std::invalid_argument("an identity has 16 bytes");
    std::memcpy(one.state.data(), state.data(), state.size());
    text.at("generation").get_to(one.generation);
    text.at("revision").get_to(one.revision);
    text.at("irreversible_revision").get_to(one.committed);
    text.at("time").get_to(one.time);
    one.archive = store_kind_of(text.at("archive").get<std::string>());
    text.at("rows").get_to(one.rows);
    text.at("remarks").get_to(one.remarks);
    for (const json& file : text.at("files")) {
        one.files.push_back({file.at("name"), file.at("bytes"),
                             std::stoull(file.at("xxh3_64").get<std::string>(), nullptr, 16)});
        if (!is_plain(one.files.back().name))
            throw std::invalid_argument("\"" + one.files.back().name + "\" is no file of a backup");
    }
    return one;
}

std::string content_of(const fs::path& folder) {
    const fs::path file = folder / "manifest";
    if (fs::exists(file)) return read_file(file);
    if (!fs::is_directory(folder))
        throw format_error(folder.string() + ": no folder is there; check the path");
    if (detail::unfinished_folder::is_marked(folder))
        throw format_error(folder.string() +
                           ": has no file \"manifest\", so it is a backup, or a restore of one, "
                           "that was cut off; nothing can be made of it: make it again, which "
                           "begins anew, or remove the folder");
    throw format_error(folder.string() +
                       ": no backup, it has no file \"manifest\"; check the path");
}

} // namespace

std::uint64_t backup_manifest::bytes() const noexcept {
    return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const file& one) { return sum + one.bytes; });
}

std::string backup_manifest::identity() const {
    std::string text;
    boost::algorithm::hex_lower(
        std::string(reinterpret_cast<const char*>(state.data()), state.size()),
        std::back_inserter(text));
    return text;
}

std::string backup_manifest::encode() const {
    const std::string text = text_of(*this).dump(1) + "\n";
    return first_line(text) + text;
}

backup_manifest backup_manifest::read(const fs::path& folder) {
    const fs::path file = folder / "manifest";
    const std::string content = content_of(folder);
    const auto damaged = [&](const std::string& what) {
        return damaged_error(file.string() + ": " + what + "; use another backup");
    };
    const std::size_t end = content.find('\n');
    const std::string_view line = std::string_view(content).substr(0, end + 1);
    if (end == content.npos || !line.starts_with(beginning))
        throw damaged("it does not begin as the manifest of a backup does");
    const std::string_view text = std::string_view(content).substr(end + 1);
    const std::size_t comma = line.find(',', beginning.size());
    const std::string made_as(line.substr(beginning.size(), comma - beginning.size()));
    if (comma != line.npos && made_as != version)
        throw format_error(file.string() + ": a backup of format " + made_as +
                           ", this program reads " + std::string(version) +
                           "; restore it with the program that made it");
    if (line != first_line(text)) throw damaged("the checksum does not match");
    try {
        return from_text(json::parse(text));
    } catch (const json::exception& e) {
        throw damaged(e.what());
    } catch (const std::logic_error& e) { // of a number or an identity
        throw damaged(e.what());
    } catch (const boost::algorithm::hex_decode_error&) {
        throw damaged("an identity is 32 hexadecimal digits");
    } catch (const usage_error& e) { // a kind of archive
        throw damaged(e.what());
    }
}

} // namespace chainbase::archive
