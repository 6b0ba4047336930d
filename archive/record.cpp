#include <archive/detail/record_reader.hpp>
#include <archive/record.hpp>
#include <pool_allocator/error.hpp>

#include <boost/core/demangle.hpp>

#include <cstdio>

namespace chainbase::archive::detail {

namespace {

std::string to_string(const field_path& path) {
    return path.outer && path.outer->name ? to_string(*path.outer) + "." + path.name : path.name;
}

std::string hex(std::uint32_t value) {
    char text[11];
    std::snprintf(text, sizeof text, "0x%08x", value);
    return text;
}

} // namespace

void record_reader::fail(const field_path& path, const std::string& reason) const {
    throw damaged_error("record of " + boost::core::demangle(type_->name()) + ", field " +
                        to_string(path) + ", offset " + std::to_string(at_) + " of " +
                        std::to_string(record_.size()) + ": " + reason +
                        "; the row is damaged: restore the archive from a backup or rebuild it by "
                        "a replay");
}

void record_reader::fail_short(const field_path& path, std::size_t count) const {
    fail(path, "needs " + std::to_string(count) + " bytes, " + std::to_string(left()) + " left");
}

void fail_schema(const std::type_info& type, std::uint32_t found, std::uint32_t expected,
                 const std::string& layout) {
    throw schema_error("record of " + boost::core::demangle(type.name()) +
                       " was written with layout " + hex(found) + ", this program has " +
                       hex(expected) + " = " + layout +
                       "; use the program that wrote it, or rebuild the archive by a replay");
}

void fail_length(std::size_t size) {
    throw limit_error("a record counts bytes and elements with 32 bits; this value has " +
                      std::to_string(size));
}

} // namespace chainbase::archive::detail
