#!/usr/bin/env bash
# Builds the packages of the last commit twice, in two folders, for the same bytes; installs them in
# a bare Debian that has no source tree; makes a state there, looks into it in the terminal, a
# browser and a notebook, kills a node, builds programs against the library, and takes the packages
# away again. The last line is "packages: good".
#
#     tests/packages.sh            for this machine (amd64)
#     tests/packages.sh --arm64    for arm64, by emulation; no second build
#
# The second build takes from the compiler cache, if there is one, what the first put there: that
# compilers give the same bytes twice is not tested then, that no folder shows in them is. Needs
# root, apt's sources, and 3 GB below build/. What it mounts, only it sees.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $#:${1:-} in
0:) machine=amd64 options=() made_for=(amd64 all) ;;
1:--arm64) machine=arm64 options=(--arm64) made_for=(arm64) ;;
*)
    echo "packages: no option \"$*\"; there is --arm64" >&2
    exit 2
    ;;
esac
if [ "${CHAINBASE_OWN_MOUNTS:-}" != yes ]; then
    emulated=()
    if [ $machine = arm64 ]; then
        tools/setup.sh --arm64
        emulated=(tools/packages/emulated.sh)
    fi
    CHAINBASE_OWN_MOUNTS=yes exec unshare --mount --propagation private \
        "${emulated[@]}" "$PWD/tests/packages.sh" "${options[@]}"
fi

mkdir -p build
work=$(mktemp -d "$PWD/build/packages-test.XXXXXX")
root=$work/root
running= # in the background
clean_up() {
    [ -z "$running" ] || kill -KILL "$running" 2>/dev/null || true
    for each in proc dev/shm; do
        if mountpoint -q "$root/$each"; then umount --lazy "$root/$each"; fi
    done
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

done_steps=()
step=nothing
begin() {
    step=$1
    started=$SECONDS
    printf '\n== %s ==\n' "$step"
}
end() { done_steps+=("$step ($((SECONDS - started)) s)${1:+: $1}"); }
trap 'echo "packages: FAILED at: $step" >&2' ERR
set -E

fail() {
    echo "packages: FAILED at: $step: $*" >&2
    exit 1
}

# In the bare root. A shell there: inside bash -c '...'. As the user that the image has: as_user.
inside() { ${exec:-} chroot ${user:+--userspec="$user"} "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    HOME="${home:-/root}" LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive TERM=xterm \
    ${QEMU_RESERVED_VA:+QEMU_RESERVED_VA=$QEMU_RESERVED_VA} "$@"; }
as_user() { user=chainbase home=/var/lib/chainbase inside sh -ec "cd; $1"; }
install() { inside apt-get install -y -qq --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
    { tail -n 20 "$work/apt.log" && fail "apt does not install $*"; }; }
package() { (cd "$root" && printf '/%s' packages/"$1"_*.deb); }
in_text() { grep -qF -- "$1" "$2" || { head -n 40 "$2" && fail "no \"$1\" in ${3:-$2}"; }; }

begin "packages of the last commit"
tools/packages/build.sh "${options[@]}"
end

made=$PWD/build/packages
packages=()
for each in "${made_for[@]}"; do packages+=("$made"/*_"$each".deb); done
if [ $machine = amd64 ]; then
    begin "the same bytes from another folder"
    mkdir -p "$work/in/another"
    archives=("$made"/chainbase-*.tar.xz)
    [ ${#archives[@]} = 1 ] || rm -v "${archives[@]}" # of an older version
    tar -xf "${archives[0]}" -C "$work/in/another" --strip-components 1
    (cd "$work/in/another" && GIT_CEILING_DIRECTORIES=$work tools/packages/build.sh >/dev/null)
    for package in "${packages[@]}"; do
        cmp "$package" "$work/in/another/build/packages/${package##*/}"
    done
    rm -rf "$work/in/another"
    end
fi

begin "recipes for vcpkg and Conan"
/usr/bin/python3 - <<'END'
import ast, json, pathlib, re
cmake = pathlib.Path("CMakeLists.txt").read_text()
folder = pathlib.Path("tools/packages")
port = json.loads((folder / "vcpkg/chainbase/vcpkg.json").read_text())
version = re.search(r"project\(chainbase VERSION ([0-9.]+)", cmake).group(1)
assert port["version"] == version, f"vcpkg.json has version {port['version']}, CMakeLists.txt {version}"
boost = set()
for layer in ("pool_allocator", "undo", "chainbase", "archive"):
    for file in pathlib.Path(layer).rglob("*.?pp"):
        boost |= set(re.findall(r"#include <boost/([a-z_0-9]+)", file.read_text()))
boost = {"boost-" + name.removesuffix("_container").replace("_", "-") if name == "multi_index_container"
         else "boost-" + name.replace("_", "-") for name in boost}
named = {each for each in port["dependencies"] if isinstance(each, str) and each.startswith("boost-")}
assert boost == named, f"vcpkg.json and the includes differ in {sorted(boost ^ named)}"
recipe = (folder / "conan/conanfile.py").read_text()
ast.parse(recipe)
for text in (recipe, (folder / "vcpkg/chainbase/portfile.cmake").read_text()):
    for option in re.findall(r"CHAINBASE_BUILD_[A-Z]+", text):
        assert f"option({option} " in cmake, f"CMakeLists.txt has no option {option}"
END
if command -v conan >/dev/null; then
    # Its requirements are this system's packages.
    conan_home=$work/conan
    mkdir "$conan_home"
    CONAN_HOME=$conan_home conan create tools/packages/conan --profile:all tools/packages/conan/debian-12.profile \
        --build chainbase >"$work/log" 2>&1 || { tail -n 30 "$work/log" && fail "conan create"; }
    end "built by Conan"
else
    end "only checked: conan is not installed"
fi

begin "a bare Debian 12 of $machine"
tools/packages/root.sh $machine bookworm "$root"
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"
inside apt-get update -qq
mkdir "$root/packages"
cp "${packages[@]}" "$root/packages"
end

begin "the steps of the Containerfile"
# container_step INSTRUCTION TEXT
directory=/ as=root
container_step() {
    local text=${2//\$\{TARGETARCH\}/$machine}
    case $1 in
    FROM) [ "$text" = debian:bookworm-slim ] || fail "the root is not $text" ;;
    ARG | VOLUME | CMD) ;;
    COPY)
        local words
        (cd "$made" && read -ra words <<<"$text" && mkdir -p "$root/${words[-1]}" &&
            eval "cp ${words[*]::${#words[@]}-1} '$root/${words[-1]}'")
        ;;
    RUN) user=$as inside sh -ec "cd $directory && $text" >"$work/apt.log" 2>&1 || { tail "$work/apt.log" && fail "$text"; } ;;
    USER) as=$text ;;
    WORKDIR) directory=$text ;;
    ENTRYPOINT) entry=$(tr -d '[]"' <<<"$text") ;;
    *) fail "an instruction that this test does not know: $1" ;;
    esac
}
while read -r instruction text; do
    container_step "$instruction" "$text"
done < <(sed -e '/^#/d' -e ':join' -e '/\\$/{N;s/\\\n */ /;b join' -e '}' tools/packages/Containerfile)
version=$(as_user "$entry --version")
[ "$version" != "" ] || fail "the entry point prints no version"
end "$version"

inside apt-get update -qq # the image has no lists
begin "a state, made by the driver and seen by the inspector"
as_user 'chainbase-driver generate --operations 20000 --to chain.blocks --quiet
    chainbase-driver replay --block-log chain.blocks --state state --state-root all --json --quiet' >"$work/replay.json"
for call in 'info state' 'stat state' 'schema state' 'sample state account' 'check state' 'doctor state' \
    'root state' 'tree state' 'digest state'; do
    as_user "chainbase-inspect $call" >"$work/said"
    [ -s "$work/said" ] || fail "chainbase-inspect $call says nothing"
    printf '    chainbase-inspect %s: %s\n' "$call" "$(head -n 1 "$work/said")"
done
as_user 'chainbase-sink follow --state state --to sqlite:rows.sqlite --once --quiet
    chainbase-sink verify --state state --to sqlite:rows.sqlite' | sed 's/^/    /'
end

begin "a node that is killed goes on to the same state"
exec=exec user=chainbase home=/var/lib/chainbase inside chainbase-driver live --quiet --interval-ms 20 \
    --block-log /var/lib/chainbase/chain.blocks --state /var/lib/chainbase/killed 2>"$work/log" &
running=$!
until compgen -G "$root/var/lib/chainbase/killed/segment*" >"$work/said"; do
    [ -n "$(jobs -pr)" ] || { cat "$work/log" && fail "the node ended"; }
    sleep 0.1
done
sleep 2
kill -KILL "$running" || { cat "$work/log" && fail "the node ended"; }
wait "$running" || true
running=
as_user 'chainbase-inspect info killed' >"$work/said"
in_text writer_died "$work/said"
as_user 'chainbase-driver replay --block-log chain.blocks --state killed --json --quiet' \
    >"$work/again.json"
digest=$(grep -o '"state_digest":"[0-9a-f]*"' "$work/replay.json")
in_text "$digest" "$work/again.json"
end

begin "its page by HTTP"
install curl ca-certificates
exec=exec user=chainbase home=/var/lib/chainbase inside \
    chainbase-inspect serve /var/lib/chainbase/state --json >"$work/address" &
running=$!
for _ in $(seq 100); do
    [ -s "$work/address" ] && break
    sleep 0.2
done
address=$(grep -oE 'http://[^"/]*' "$work/address")
inside curl -fsS "$address/" >"$work/page"
in_text '<html' "$work/page"
inside curl -fsS "$address/api/stat" >"$work/stat"
in_text '"types"' "$work/stat"
end
if [ $machine = amd64 ]; then # an emulated browser takes too long
    begin "its page in a browser"
    install chromium
    as_user "chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=10000 \
        --dump-dom '$address/'" >"$work/page" 2>"$work/log" ||
        { tail "$work/log" && fail "chromium ended with an error"; }
    in_text 'aria-label="Memory by type at ' "$work/page"
    end
fi
begin "the end of the server"
kill "$running"
code=0
wait "$running" || code=$?
[ $code = 0 ] || fail "it ended with $code"
running=
end

begin "manual pages, completions, service files"
install man-db
for program in chainbase-driver chainbase-inspect chainbase-sink; do
    inside sh -c "MANPAGER=cat man $program" >"$work/page" 2>"$work/said"
    in_text NAME "$work/page" "the manual of $program"
    for file in bash-completion/completions/$program zsh/site-functions/_$program \
        fish/vendor_completions.d/$program.fish man/man1/$program.1.gz; do
        [ -s "$root/usr/share/$file" ] || fail "no $file"
    done
done
if [ $machine = amd64 ]; then
    mkdir -p "$root/etc/chainbase"
    cp "$root/usr/share/doc/chainbase-tools/examples/NAME.conf" "$root/etc/chainbase/x.conf"
    for unit in node serve inspect sink; do
        unit=$root/usr/lib/systemd/system/chainbase-$unit@
        cp "$unit.service" "${unit}x.service"
        systemd-analyze verify --man=no --recursive-errors=no --root="$root" \
            "/usr/lib/systemd/system/${unit##*/}x.service" 2>&1 | tee "$work/said"
        [ ! -s "$work/said" ] || fail "systemd-analyze finds faults in ${unit##*/}"
        systemd-analyze security --offline=yes --root="$root" --threshold=25 --no-pager \
            "/usr/lib/systemd/system/${unit##*/}x.service" | tail -n 1
        rm "${unit}x.service"
    done
    rm -r "$root/etc/chainbase"
fi
end

begin "a program of its own, with find_package and with pkg-config"
install g++ cmake ninja-build pkgconf
install "$(package libchainbase-dev)"
mkdir "$root/work"
cat >"$root/work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(counter LANGUAGES CXX)
find_package(chainbase REQUIRED)
add_executable(counter counter.cpp)
target_link_libraries(counter PRIVATE chainbase::chainbase)
END
cat >"$root/work/counter.cpp" <<'END'
#include <chainbase/database.hpp>
#include <iostream>

struct by_name;
struct counter {
    chainbase::id<counter> id;
    chainbase::fixed_string<16> name;
    std::int64_t value = 0;
    using keys = chainbase::keys<chainbase::hashed_unique<by_name, &counter::name>>;
};
BOOST_DESCRIBE_STRUCT(counter, (), (id, name, value))

int main() {
    chainbase::database db("state");
    db.add_type<counter>("counter");
    auto block = db.start_session();
    if (!db.find<counter, by_name>("calls")) db.create<counter>([](counter& c) { c.name = "calls"; });
    db.modify(db.get<counter, by_name>("calls"), [](counter& c) { ++c.value; });
    block.push();
    std::cout << "call " << db.get<counter, by_name>("calls").value << '\n';
}
END
inside sh -ec 'cd /work && cmake -S . -B build -G Ninja >log && cmake --build build >>log || { cat log; exit 1; }
    g++ -std=c++20 counter.cpp -o counter $(pkg-config --cflags --libs chainbase)
    g++ -std=c++20 counter.cpp -o counter-static $(pkg-config --static --cflags --libs chainbase)
    build/counter; ./counter; ./counter-static' >"$work/said" 2>"$work/log" || { cat "$work/log" && false; }
diff <(printf 'call 1\ncall 2\ncall 3\n') <(grep '^call ' "$work/said")
inside chainbase-inspect sample /work/state counter | tee "$work/said"
in_text calls "$work/said"
end

begin "the archive needs librocksdb-dev, and says so"
if inside cmake -S /usr/share/doc/libchainbase-dev/examples -B /work/none -G Ninja >"$work/said" 2>&1; then
    fail "the examples were configured without RocksDB"
fi
in_text RocksDB "$work/said"
install librocksdb-dev libzstd-dev
end

begin "the examples, with find_package and with pkg-config"
inside sh -ec 'cmake -S /usr/share/doc/libchainbase-dev/examples -B /work/examples -G Ninja >/work/log
    cmake --build /work/examples >>/work/log || { cat /work/log; exit 1; }
    ctest --test-dir /work/examples --output-on-failure'
inside sh -ec 'cd /usr/share/doc/libchainbase-dev/examples
    for each in node:chainbase archive:chainbase-archive follower:chainbase-feed; do
        g++ -std=c++20 ${each%:*}.cpp -o /work/${each%:*} $(pkg-config --cflags --libs ${each#*:})
        mkdir /work/of-${each%:*}
        /work/${each%:*} /work/of-${each%:*} >/work/log || { cat /work/log; exit 1; }
    done
    echo "int main() {}" >/work/empty.cpp
    g++ /work/empty.cpp -o /work/empty $(pkg-config --cflags --libs chainbase-offline)'
end

begin "the Python reader"
install "$(package python3-chainbase)"
as_user "python3 -" <<'END' | tee "$work/said"
import chainbase
with chainbase.open("state") as state:
    accounts = state["account"]
    columns = accounts.columns(["id", "balance"])
    assert len(columns["id"]) == len(accounts) > 0
    print(f"    {len(accounts)} accounts, balances {columns['balance'].sum()}")
END
in_text accounts "$work/said"
end

if [ $machine = amd64 ]; then # the package is that of all machines
    begin "documentation"
    install "$(package chainbase-doc)"
    for page in README.md tools/tour.md chainbase/embedding.md html/index.html; do
        page=$root/usr/share/doc/chainbase-doc/$page
        [ -s "$page" ] || fail "no $page"
    done
    end

    begin "its notebook"
    # munkres: in place of scipy, which wants another Boost than libchainbase-dev
    install jupyter-nbconvert python3-ipykernel python3-matplotlib python3-munkres
    as_user 'cp /usr/share/doc/chainbase-doc/tools/python/steem-2016.ipynb shipped.ipynb
        mkdir pictures
        chainbase-driver replay --quiet --state steem-2016 \
            --block-log /usr/share/doc/chainbase-doc/tools/chains/social/data/steem-2016.blocks
        jupyter nbconvert --to notebook --execute --output run.ipynb shipped.ipynb
        python3 - <<END
import json
def printed(name):
    return [["".join(output["text"]) for output in cell.get("outputs", [])
             if output["output_type"] == "stream"] for cell in json.load(open(name))["cells"]]
assert printed("run.ipynb") == printed("shipped.ipynb"), printed("run.ipynb")
END' >"$work/log" 2>&1 || { cat "$work/log" && fail "the notebook"; }
    for picture in richest votes memory; do
        [ -s "$root/var/lib/chainbase/pictures/$picture.png" ] || fail "no $picture.png"
    done
    end
fi

begin "nothing is left"
inside sh -ec 'dpkg --purge $(dpkg-query -W -f="\${Package}\n" "*chainbase*")' >/dev/null
rm -rf "$root/work" "$root/var/lib/chainbase" "$root/var/cache/man"
inside sh -c 'cd / && find . -xdev -iname "*chainbase*" -not -path "./packages/*" -not -path "./proc/*"' >"$work/left"
[ ! -s "$work/left" ] || { cat "$work/left" && fail "files are left"; }
end

printf '\n'
printf '%s\n' "${done_steps[@]}"
echo "packages: good"
