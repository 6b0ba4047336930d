#include <chainbase/offline/snapshot_file/trust.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/algorithm/hex.hpp>

#include <algorithm>

namespace chainbase::snapshot_file {

void trusted_root::require(const manifest& all, const std::string& snapshot) const {
    if (name && all.name() != *name)
        throw damaged_error(snapshot + ": its name is " + hex(all.name()) + ", not " + hex(*name) +
                            ", which is trusted; take it from elsewhere");
    if (!root) return;
    if (!all.state_root)
        throw damaged_error(snapshot + ": its state recorded no root, so nothing proves it; take "
                                       "one of a state that keeps a root");
    if (*all.state_root != *root)
        throw damaged_error(snapshot + ": its state root is " + hex(*all.state_root) + ", not " +
                            hex(*root) + ", which is trusted; take it from elsewhere");
}

std::vector<std::string> trusted_root::not_covered(const manifest& all) const {
    std::vector<std::string> found;
    if (name) return found;
    for (const type_entry& one : all.types)
        if (!(root && one.is_committed) && (one.objects != 0 || !one.removed.empty()))
            found.push_back(one.schema.name);
    return found;
}

sha256_digest digest_of(const std::string& word) {
    sha256_digest found{};
    std::string bytes;
    try {
        boost::algorithm::unhex(word, std::back_inserter(bytes));
    } catch (const boost::algorithm::hex_decode_error&) {
        bytes.clear();
    }
    if (bytes.size() != found.size())
        throw usage_error("\"" + word + "\" is not 64 hexadecimal digits");
    std::ranges::transform(bytes, found.begin(),
                           [](char one) { return static_cast<std::byte>(one); });
    return found;
}

} // namespace chainbase::snapshot_file
