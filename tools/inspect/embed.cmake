# chainbase_embed(TARGET NAME FILE)
#
# Lets TARGET carry the content of FILE, whatever bytes that are: it defines the std::string_view
# chainbase::inspect::NAME, to be declared where it is used. Made when FILE is newer, while building.
#
# Run as a script (cmake -DNAME=... -DFILE=... -DTO=... -P embed.cmake) it writes the definition.
# Characters in place of a string literal, since those have a limit that a page may pass.
if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${FILE}" content HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," content "${content}")
    string(REGEX REPLACE "('....','....','....','....','....','....','....','....','....','....',)"
        "\\1\n    " content "${content}")
    file(WRITE "${TO}" "#include <tools/inspect/assets.hpp>

namespace chainbase::inspect {

namespace {

constexpr char ${NAME}_content[] = {
    ${content}
};

} // namespace

extern const std::string_view ${NAME};
constinit const std::string_view ${NAME}(${NAME}_content, sizeof ${NAME}_content);

} // namespace chainbase::inspect
")
    return()
endif()

set(CHAINBASE_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(chainbase_embed target name file)
    set(from ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(to ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp)
    add_custom_command(OUTPUT ${to}
        COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFILE=${from} -DTO=${to}
            -P ${CHAINBASE_EMBED_SCRIPT}
        DEPENDS ${from} ${CHAINBASE_EMBED_SCRIPT}
        COMMENT "Embedding ${file}"
        VERBATIM)
    target_sources(${target} PRIVATE ${to})
endfunction()
