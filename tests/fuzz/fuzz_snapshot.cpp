// Files of a snapshot that came from anywhere: the manifest, a chunk, and what a chunk unpacks to.
// A manifest that is read is written in the same bytes; a chunk is the one that its entry names.
//
// Input: flags and the rest, as in patches.hpp. Flags: bits 0 and 1, which file; 2, the rest is all
// of it, not patches; 3, its checksum is made to fit.

#include <chainbase/offline/snapshot_file/folder.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>
#include <tests/fuzz/patches.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::snapshot_file;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// A chunk of twenty rows and a manifest that names it.
struct known_snapshot {
    chunk_content content;
    chunk_entry chunk;
    manifest all;

    known_snapshot() {
        const archive::byte_buffer record(30, std::byte{'r'});
        for (std::uint32_t id = 0; id < 20; ++id)
            content.add({3 * id, std::span(record).first(10 + id), id % 2 == 0, record});
        chunk = {{0, 8}, 20, content.bytes().size(), sha256().of(content.bytes()), {}};
        chunk.root = root_of(content.bytes(), chunk.at, "");
        all.chain = "fuzz";
        all.archive = "memory";
        all.block = {1, "0a"};
        for (const char* name : {"account", "post"}) {
            type_entry& type = all.types.emplace_back();
            type.schema.name = name;
            type.schema.value_bytes = 4;
            type.schema.fields = {{"id", "id", 0, 4}};
            type.schema.keys = {{"by_id", "unique", {{"id", false}}}};
            type.next_id = 100;
            type.is_committed = true;
        }
        type_entry& type = all.types.front();
        type.objects = 20;
        type.archived = 10;
        type.archive_keys = {"by_id"};
        type.height = 8;
        type.chunks = {chunk};
        type.root = type.computed_root();
        all.state_root = all.computed_state_root();
    }
};

archive::byte_buffer patched(archive::bytes_view file, patches& input) {
    archive::byte_buffer bytes(file.begin(), file.end());
    if (input.flag(2)) {
        const auto rest = std::as_bytes(input.rest());
        return {rest.begin(), rest.end()};
    }
    while (const auto one = input.next()) {
        const std::size_t at = (one->page << 12 | one->byte) % (bytes.size() + 1);
        if (one->content.empty()) bytes.resize(at);
        if (bytes.size() < at + one->content.size()) bytes.resize(at + one->content.size());
        std::ranges::copy(std::as_bytes(one->content),
                          bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return bytes;
}

void check_manifest(const known_snapshot& known, patches& input) {
    std::string text(archive::as_text(patched(archive::as_bytes(known.all.text()), input)));
    if (input.flag(3)) {
        text.resize(std::min(text.size(), text.rfind(",\"sum\"")));
        text += fmt::format(",\"sum\":\"{:016x}\"}}\n", archive::hash_of(archive::as_bytes(text)));
    }
    require(manifest::of(text, "").text() == text);
}

void check_chunk(const known_snapshot& known, patches& input) {
    archive::byte_buffer file = patched(packed(known.content.bytes()), input);
    if (input.flag(3) && file.size() >= 16) {
        const std::uint64_t sum = archive::hash_of(std::span(file).subspan(16));
        std::memcpy(file.data() + 8, &sum, sizeof sum);
    }
    require(archive::same(verified(file, known.chunk, ""), known.content.bytes()));
}

void check_content(const known_snapshot& known, patches& input) {
    const archive::byte_buffer content = patched(known.content.bytes(), input);
    chunk_content again;
    each_row(content, "", [&](const chunk_row& one) { again.add(one); });
    require(archive::same(again.bytes(), content));
    (void)root_of(content, known.chunk.at, "");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const known_snapshot known;
    patches input(data, size);
    try {
        if (!input.flag(0))
            check_manifest(known, input);
        else
            input.flag(1) ? check_chunk(known, input) : check_content(known, input);
    } catch (const damaged_error&) {
    } catch (const format_error&) { // another version
    }
    return 0;
}
