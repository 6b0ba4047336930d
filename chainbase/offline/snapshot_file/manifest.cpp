#include <archive/store.hpp>
#include <chainbase/object/value_type.hpp>
#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <chainbase/offline/snapshot_file/manifest.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <chainbase/state_root/id_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/json.hpp>

#include <boost/nowide/utf/utf.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace chainbase::snapshot_file {

namespace {

constexpr int manifest_version = 1;
constexpr std::string_view manifest_beginning = R"({"snapshot":)";
constexpr std::uint64_t most_catalogue_bytes = std::uint64_t{16} << 20;
constexpr std::size_t most_types = 65'536;
constexpr std::size_t most_name_bytes = 200; ///< of a type: its files' names are longer

// --- writing ---

std::string chunk_text(const chunk_entry& one) {
    return fmt::format("[{},{},{},{},\"{}\",\"{}\"]", one.at.first, one.at.height, one.objects,
                       one.bytes, hex(one.digest), hex(one.root));
}

std::string type_text(const type_entry& one) {
    return json_object()
        .add("name", one.schema.name)
        .add("next_id", one.next_id)
        .add("is_committed", one.is_committed)
        .add("objects", one.objects)
        .add("archived", one.archived)
        .add("row_layout", one.row_layout)
        .add_json("archive_keys",
                  json_array(one.archive_keys, [](const std::string& key) { return to_json(key); }))
        .add("height", one.height)
        .add("root", hex(one.root))
        .add_json("chunks", json_array(one.chunks, chunk_text))
        .add_json("removed", json_array(one.removed, chunk_text))
        .text();
}

std::string block_text(const std::optional<manifest::block_name>& block) {
    if (!block) return "null";
    return json_object().add("number", block->number).add("id", block->id).text();
}

/// Without what is between the texts of JSON for people.
std::string compact(const std::string& json) {
    std::string result;
    result.reserve(json.size());
    bool is_text = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (!is_text && (json[i] == ' ' || json[i] == '\n')) continue;
        result += json[i];
        if (is_text && json[i] == '\\' && i + 1 < json.size())
            result += json[++i];
        else if (json[i] == '"')
            is_text = !is_text;
    }
    return result;
}

std::string catalogue_text(const std::vector<type_entry>& types) {
    catalogue all;
    for (const type_entry& one : types)
        all.add({one.schema, 0});
    return compact(all.text());
}

/// Names are shown to people, so a manifest has no bytes that a terminal obeys.
bool is_of_shown_characters(std::string_view text) {
    namespace utf = boost::nowide::utf;
    constexpr utf::code_point delete_and_c1 = 0x7F, first_shown = 0xA0;
    for (const char* at = text.data(); at != text.data() + text.size();) {
        const utf::code_point point = utf::utf_traits<char>::decode(at, text.data() + text.size());
        const bool is_control = point < ' ' || (point >= delete_and_c1 && point < first_shown);
        if (point == utf::illegal || point == utf::incomplete || is_control) return false;
    }
    return true;
}

std::string sum_text(std::string_view before) {
    return fmt::format(",\"sum\":\"{:016x}\"}}\n", archive::hash_of(archive::as_bytes(before)));
}

// --- roots ---

/// What follows from chunks below a node.
struct subtree {
    sha256_digest root{};
    std::uint64_t bytes = 0;
    bool is_cut_right = true; ///< each of them as FORMAT.md says
};

/// Requires chunks by rising ids, all of them below the node, none below another.
subtree subtree_of(std::span<const chunk_entry> chunks, node at) {
    if (chunks.empty()) return {};
    if (chunks.front().at == at) return {chunks.front().root, chunks.front().bytes};
    if (at.height == 0) return {{}, 0, false}; // it is not below the node
    const node left{at.first, at.height - 1};
    const node right{static_cast<std::uint32_t>(left.end()), left.height};
    const auto middle = std::ranges::lower_bound(
        chunks, right.first, {}, [](const chunk_entry& one) { return one.at.first; });
    const auto count = static_cast<std::size_t>(middle - chunks.begin());
    const subtree a = subtree_of(chunks.first(count), left);
    const subtree b = subtree_of(chunks.subspan(count), right);
    const std::uint64_t bytes = a.bytes + b.bytes;
    return {state_root::digest_of_pair(a.root, b.root), bytes,
            a.is_cut_right && b.is_cut_right && bytes > most_bytes};
}

// --- reading ---

/// Reads a manifest from its beginning to its end: there is one way to write it, so nothing is
/// skipped or looked for, and what was read takes no more memory than a small multiple of its text.
class manifest_reader {
public:
    manifest_reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    [[nodiscard]] manifest read() {
        manifest all;
        expect(R"({"snapshot":1)");
        member("chain");
        all.chain = text();
        member("revision");
        all.revision = number<revision_number>();
        if (all.revision < 0) refuse("a state has none below 0");
        member("block");
        if (!is_null()) all.block = block();
        member("state_root");
        if (!is_null()) all.state_root = digest();
        member("archive");
        if (!is_null()) all.archive = archive_kind();
        member("catalogue");
        read_catalogue(all.types);
        member("types");
        read_types(all.types);
        if (at_ != text_.size()) refuse("more than a manifest");
        require_one_meaning(all);
        in_ = "state_root";
        if (all.state_root != all.computed_state_root())
            refuse("it does not follow from the types that it commits to");
        in_.clear();
        return all;
    }
    [[noreturn]] void refuse(const std::string& what) const {
        throw damaged_error(fmt::format("{}: offset {}: {}{}{}; get the manifest again", file_, at_,
                                        in_, in_.empty() ? "" : ": ", what));
    }

private:
    // --- what a text is made of ---

    [[nodiscard]] std::string_view left() const noexcept { return text_.substr(at_); }
    [[nodiscard]] bool has(std::string_view next) noexcept {
        if (!left().starts_with(next)) return false;
        at_ += next.size();
        return true;
    }
    void expect(std::string_view next) {
        if (!has(next)) refuse(fmt::format("not \"{}\"", next));
    }
    /// A member that is not the first one of its object.
    void member(std::string_view name) {
        in_ = type_ + std::string(name);
        expect(",\"");
        expect(name);
        expect("\":");
    }
    [[nodiscard]] bool is_null() noexcept { return has("null"); }
    template <typename T>
    [[nodiscard]] T number() {
        T value{};
        const char* const begin = text_.data() + at_;
        const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (failed != std::errc())
            refuse(fmt::format("not a whole number of at most {}", std::numeric_limits<T>::max()));
        at_ += static_cast<std::size_t>(end - begin);
        return value;
    }
    /// What is written in another way than to_json() does is found in the end.
    [[nodiscard]] std::string text() {
        expect("\"");
        std::string read;
        while (!has("\"")) {
            (void)has("\\"); // before one of these, or a quote
            if (at_ == text_.size()) refuse("a text without an end");
            read += text_[at_++];
        }
        return read;
    }
    [[nodiscard]] std::byte byte() {
        const unsigned high = hexadecimal();
        return static_cast<std::byte>(high * 16 + hexadecimal());
    }
    [[nodiscard]] unsigned hexadecimal() {
        constexpr std::string_view digits = "0123456789abcdef";
        const std::size_t found = at_ < text_.size() ? digits.find(text_[at_]) : digits.npos;
        if (found == digits.npos) refuse("not a hexadecimal digit");
        ++at_;
        return static_cast<unsigned>(found);
    }
    [[nodiscard]] sha256_digest digest() {
        expect("\"");
        sha256_digest read;
        for (std::byte& one : read)
            one = byte();
        expect("\"");
        return read;
    }
    /// Calls element() where each one begins.
    template <typename Element>
    void each_element(Element&& element) {
        expect("[");
        if (has("]")) return;
        do
            element();
        while (has(","));
        expect("]");
    }

    // --- what a manifest is made of ---

    [[nodiscard]] manifest::block_name block() {
        manifest::block_name one;
        expect("{\"number\":");
        one.number = number<std::uint64_t>();
        expect(",\"id\":");
        one.id = text();
        if (one.id.find_first_not_of("0123456789abcdef") != one.id.npos)
            refuse("the id of a block is hexadecimal");
        expect("}");
        return one;
    }
    [[nodiscard]] std::string archive_kind() {
        std::string kind = text();
        try {
            keeps_rows_ = archive::store_kind_of(kind) != archive::store_kind::none;
        } catch (const usage_error& e) {
            refuse(e.what());
        }
        return kind;
    }

    /// Its end is found by its brackets, so that no more is parsed than it may have.
    [[nodiscard]] std::string_view catalogue_part() {
        const std::string_view all = left().substr(0, most_catalogue_bytes);
        bool is_text = false;
        unsigned depth = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] == '"') is_text = !is_text;
            if (is_text && all[i] == '\\' && ++i < all.size() && all[i] == 'u')
                refuse("a name with a control character");
            if (is_text) continue;
            if (all[i] == '{') ++depth;
            if (all[i] == '}') --depth;
            if (depth == 0) return all.substr(0, i + 1);
        }
        refuse(fmt::format("no catalogue of at most {} bytes", most_catalogue_bytes));
    }
    void read_catalogue(std::vector<type_entry>& types) {
        const std::string_view part = catalogue_part();
        const catalogue all = catalogue_read(part);
        for (const catalogue::entry& one : all.entries()) {
            if (!types.empty() && types.back().schema.name >= one.schema.name)
                refuse(fmt::format("type \"{}\" is not behind \"{}\"", one.schema.name,
                                   types.back().schema.name));
            if (types.size() == most_types) refuse("too many types");
            require_possible(one.schema);
            types.emplace_back().schema = one.schema;
        }
        at_ += part.size();
    }
    /// catalogue.json of a state is something else: messages about that would mislead.
    [[nodiscard]] catalogue catalogue_read(std::string_view part) const {
        try {
            return catalogue_of(std::string(part), "catalogue");
        } catch (const format_error& problem) {
            const std::string what = problem.what();
            throw format_error(fmt::format("{}: {}; take a snapshot that a program of this "
                                           "version wrote",
                                           file_, what.substr(0, what.find(';'))));
        } catch (const damaged_error& problem) {
            const std::string what = problem.what();
            refuse(what.substr(0, what.rfind(';')));
        }
    }
    /// A type's name is that of its files.
    void require_possible(const type_schema& schema) const {
        const std::string& name = schema.name;
        if (name.empty() || name.size() > most_name_bytes || name.front() == '.' ||
            name.find('/') != name.npos)
            refuse(fmt::format("\"{}\" is no name of a type", name.substr(0, most_name_bytes)));
        try {
            rows::require_sound_layout(schema);
        } catch (const damaged_error& problem) {
            refuse(problem.what());
        }
    }

    void read_types(std::vector<type_entry>& types) {
        std::size_t count = 0;
        each_element([&] {
            if (count == types.size()) refuse("more types than in the catalogue");
            read_type(types[count]);
            ++count;
        });
        if (count != types.size()) refuse("fewer types than in the catalogue");
    }
    void read_type(type_entry& one) {
        type_ = "type \"" + one.schema.name + "\": ";
        in_ = type_ + "name";
        expect("{\"name\":");
        if (text() != one.schema.name) refuse("another one than in the catalogue");
        member("next_id");
        one.next_id = number<std::uint32_t>();
        member("is_committed");
        one.is_committed = has("true");
        if (!one.is_committed) expect("false");
        member("objects");
        one.objects = number<std::uint64_t>();
        member("archived");
        one.archived = number<std::uint64_t>();
        member("row_layout");
        one.row_layout = number<std::uint32_t>();
        member("archive_keys");
        each_element([&] { one.archive_keys.push_back(text()); });
        member("height");
        one.height = number<unsigned>();
        member("root");
        one.root = digest();
        member("chunks");
        each_element([&] {
            one.chunks.push_back(chunk());
            require_place(one.chunks, one.height, one.next_id);
        });
        require_sums(one);
        member("removed");
        each_element([&] {
            if (!keeps_rows_) refuse("the archive keeps no rows");
            one.removed.push_back(chunk());
            require_place(one.removed, 32, one.next_id);
        });
        expect("}");
        type_.clear();
        in_.clear();
    }
    [[nodiscard]] chunk_entry chunk() {
        chunk_entry one;
        expect("[");
        one.at.first = number<std::uint32_t>();
        expect(",");
        one.at.height = number<unsigned>();
        expect(",");
        one.objects = number<std::uint32_t>();
        expect(",");
        one.bytes = number<std::uint64_t>();
        expect(",");
        one.digest = digest();
        expect(",");
        one.root = digest();
        expect("]");
        return one;
    }

    // --- what must hold ---

    /// Of the chunk that was read last.
    void require_place(const std::vector<chunk_entry>& chunks, unsigned height,
                       std::uint32_t next_id) const {
        const chunk_entry& one = chunks.back();
        const auto require = [&](bool holds, const char* what) {
            if (!holds) refuse(fmt::format("chunk {}: {}", chunks.size() - 1, what));
        };
        const std::uint64_t most = one.at.height == 0 ? most_row_bytes : most_bytes;
        require(one.at.is_valid(), "no node begins there with this height");
        require(height <= 32 && one.at.end() <= std::uint64_t{1} << height,
                "it is not in a tree of this height");
        require(chunks.size() == 1 || chunks.end()[-2].at.end() <= one.at.first,
                "it is not behind the one before");
        require(one.objects > 0 && one.objects <= one.at.end() - one.at.first,
                "so many objects do not have their ids there");
        require(one.bytes <= most, "its content has too many bytes");
        require(one.bytes >= chunk_row{}.bytes() * one.objects, "its objects have more bytes");
        require(std::uint64_t{one.at.first} + one.objects <= next_id,
                "its ids are not below next_id");
    }
    void require_sums(const type_entry& one) const {
        const auto require = [&](bool holds, const char* what) {
            if (!holds) refuse(what);
        };
        const std::uint64_t objects =
            std::transform_reduce(one.chunks.begin(), one.chunks.end(), std::uint64_t{0},
                                  std::plus(), [](const auto& chunk) { return chunk.objects; });
        require(one.objects == objects, "not as many objects as the chunks have");
        require(one.archived <= (keeps_rows_ ? one.objects : 0), "too many archived objects");
        require(is_height_right(one), "the tree has another height");
        const subtree whole = subtree_of(one.chunks, {0, one.height});
        require(whole.is_cut_right, "the chunks could be larger");
        require(whole.root == one.root, "the root does not follow from those of the chunks");
    }
    /// Chunks of the same content have the same rows, so one that is right proves the others.
    void require_one_meaning(const manifest& all) {
        std::map<sha256_digest, const chunk_entry*> seen;
        for (const type_entry& type : all.types)
            for (const auto* chunks : {&type.chunks, &type.removed})
                for (const chunk_entry& one : *chunks) {
                    const auto [found, is_first] = seen.emplace(one.digest, &one);
                    if (is_first || has_same_rows(*found->second, one)) continue;
                    in_ = "type \"" + type.schema.name + "\"";
                    refuse(fmt::format("the chunk of ids from {} has the digest of another one, "
                                       "and other numbers or another root",
                                       one.at.first));
                }
    }
    /// As far as it can be known without the ids.
    [[nodiscard]] static bool is_height_right(const type_entry& one) {
        if (one.chunks.empty()) return one.height == 0;
        const node last = one.chunks.back().at;
        return one.height >= tree_height(last.first + (one.chunks.back().objects - 1)) &&
               one.height <= tree_height(static_cast<std::uint32_t>(last.end() - 1)) &&
               one.height % 4 == 0;
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    std::string type_;        ///< that is being read, for messages
    std::string in_;          ///< the member
    bool keeps_rows_ = false; ///< the archive
};

} // namespace

bool has_same_rows(const chunk_entry& a, const chunk_entry& b) {
    const auto& [low, high] = a.at.height <= b.at.height ? std::tie(a, b) : std::tie(b, a);
    const bool is_below = low.at.first >= high.at.first && low.at.end() <= high.at.end();
    return a.objects == b.objects && a.bytes == b.bytes && is_below &&
           subtree_of({&low, 1}, high.at).root == high.root;
}

sha256_digest type_entry::computed_root() const {
    return subtree_of(chunks, {0, height}).root;
}

std::string manifest::text() const {
    std::string text = json_object()
                           .add("snapshot", manifest_version)
                           .add("chain", chain)
                           .add("revision", revision)
                           .add_json("block", block_text(block))
                           .add_json("state_root", state_root ? to_json(hex(*state_root)) : "null")
                           .add_json("archive", archive.empty() ? "null" : to_json(archive))
                           .add_json("catalogue", catalogue_text(types))
                           .add_json("types", json_array(types, type_text))
                           .text();
    text.pop_back();
    return text += sum_text(text);
}

manifest manifest::of(std::string_view text, const std::string& file) {
    const auto damaged = [&](const std::string& what) {
        return damaged_error(file + ": " + what + "; get the manifest again");
    };
    if (text.size() > most_manifest_bytes)
        throw damaged(fmt::format("a manifest has at most {} bytes, and this has {}",
                                  most_manifest_bytes, text.size()));
    if (!text.starts_with(manifest_beginning)) throw damaged("it does not begin as a manifest");
    const std::string_view version =
        text.substr(manifest_beginning.size(), text.find(',') - manifest_beginning.size());
    if (version != std::to_string(manifest_version) && !version.empty() && version.size() < 10 &&
        version.find_first_not_of("0123456789") == version.npos)
        throw format_error(fmt::format("{}: a snapshot of version {}, this program reads {}; "
                                       "use {}",
                                       file, version, manifest_version,
                                       version == "0" // all below
                                           ? "the program that wrote it to load it, and write it "
                                             "anew with this one"
                                           : "the program that wrote it, or a newer one"));
    const std::size_t end = text.size() - std::min(text.size(), sum_text({}).size());
    if (text.substr(end) != sum_text(text.substr(0, end)))
        throw damaged("the checksum does not match");
    if (!is_of_shown_characters(text.substr(0, end)))
        throw damaged("it has control characters, or bytes that are no UTF-8");
    manifest_reader from(text.substr(0, end), file);
    manifest all = from.read();
    if (all.text() != text) throw damaged("it is not written as a manifest is");
    return all;
}

sha256_digest manifest::name() const {
    return sha256().of(archive::as_bytes(text()));
}

std::optional<sha256_digest> manifest::computed_state_root() const {
    std::vector<state_root::leaf_update> committed;
    for (const type_entry& one : types)
        if (one.is_committed)
            committed.push_back({static_cast<std::uint32_t>(committed.size()),
                                 state_root::sealed(one.height, one.root, one.schema.name)});
    if (committed.empty()) return std::nullopt;
    state_root::id_tree over_types;
    over_types.update(committed);
    return state_root::sealed(over_types.height(), over_types.root(), "");
}

const type_entry* manifest::find(std::string_view type) const noexcept {
    const auto found = std::ranges::lower_bound(
        types, type, {}, [](const type_entry& one) { return std::string_view(one.schema.name); });
    return found != types.end() && found->schema.name == type ? &*found : nullptr;
}

std::uint64_t manifest::objects() const noexcept {
    std::uint64_t sum = 0;
    for (const type_entry& one : types)
        sum += one.objects;
    return sum;
}

std::uint64_t manifest::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const type_entry& type : types)
        for (const auto* chunks : {&type.chunks, &type.removed})
            for (const chunk_entry& one : *chunks)
                sum += one.bytes;
    return sum;
}

std::size_t manifest::chunks() const noexcept {
    std::size_t sum = 0;
    for (const type_entry& one : types)
        sum += one.chunks.size() + one.removed.size();
    return sum;
}

} // namespace chainbase::snapshot_file
