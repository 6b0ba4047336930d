#include <tools/chains/chain_names.hpp>
#include <tools/chains/operation_json.hpp>

#include <algorithm>
#include <array>

namespace chainbase {

namespace {

struct known_chain {
    std::string_view name;
    nlohmann::ordered_json (*to_json)(byte_view);
    void (*require)(byte_view);
};

template <auto Decode>
constexpr known_chain of(std::string_view chain) {
    return {chain, [](byte_view raw) { return codec::to_json(Decode(raw)); },
            [](byte_view raw) { (void)Decode(raw); }};
}

/// A line for each chain; new kinds of operations need none.
constexpr std::array known_chains{
    of<social::decode_operation>(social::chain_name),
    of<social::decode_operation>(social::generated_chain_name),
    of<swap::decode_operation>(swap::chain_name),
    of<payments::decode_operation>(payments::chain_name),
};
static_assert(std::ranges::equal(known_chains, chain_names, {}, &known_chain::name));

const known_chain* find(std::string_view chain) noexcept {
    const auto* const known = std::ranges::find(known_chains, chain, &known_chain::name);
    return known == known_chains.end() ? nullptr : known;
}

} // namespace

std::string codec::to_hex(byte_view raw) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * raw.size());
    for (const std::byte one : raw) {
        text += digits[std::to_integer<unsigned>(one >> 4)];
        text += digits[std::to_integer<unsigned>(one & std::byte(15))];
    }
    return text;
}

nlohmann::ordered_json codec::text_to_json(std::string_view text) {
    nlohmann::ordered_json as_text(text);
    try {
        (void)as_text.dump(); // the library's own look at the encoding
        return as_text;
    } catch (const nlohmann::json::type_error&) {
        return {{"hex", to_hex(bytes_of(text))}};
    }
}

bool knows_operations_of(std::string_view chain) noexcept {
    return find(chain) != nullptr;
}

nlohmann::ordered_json operation_to_json(std::string_view chain, byte_view operation) {
    const known_chain* const known = find(chain);
    if (known == nullptr) return {{"hex", codec::to_hex(operation)}};
    return known->to_json(operation);
}

void require_operation(std::string_view chain, byte_view operation) {
    if (const known_chain* const known = find(chain)) known->require(operation);
}

} // namespace chainbase
