# Called by CPack between installing and packing: makes of each component's files what Debian asks
# of a package. Times are SOURCE_DATE_EPOCH's, which CPack and gzip's -n leave nothing else of.

macro(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endmacro()

# Debian's changelog of versions: the headings of the project's one.
set(changelog)
file(STRINGS ${CPACK_CHAINBASE_SOURCE}/CHANGELOG.md versions REGEX "^## \\[[0-9.]+\\] - ")
foreach(version ${versions})
    string(REGEX MATCH "\\[([0-9.]+)\\] - ([0-9-]+)" matched ${version})
    set(version ${CMAKE_MATCH_1})
    run(env LC_ALL=C date --utc -R -d ${CMAKE_MATCH_2} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND changelog
"chainbase (${version}-1) unstable; urgency=medium

  * Version ${version}; what it changes is in changelog.gz beside this file.

 -- ${CPACK_CHAINBASE_MAINTAINER}  ${date}

")
endforeach()
set(debian ${CPACK_CHAINBASE_SOURCE}/tools/packages/debian)

foreach(package ${CPACK_CHAINBASE_PACKAGES})
    string(REGEX MATCH "^[^=]+" component ${package})
    string(REGEX REPLACE "^[^=]+=" "" name ${package})
    set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component})
    set(document ${root}/usr/share/doc/${name})

    file(COPY ${debian}/copyright DESTINATION ${document})
    file(COPY_FILE ${CPACK_CHAINBASE_SOURCE}/CHANGELOG.md ${document}/changelog)
    file(WRITE ${document}/changelog.Debian "${changelog}")
    file(GLOB pages ${root}/usr/share/man/man1/*.1)
    run(gzip -9n ${document}/changelog ${document}/changelog.Debian ${pages})

    file(GLOB libraries ${root}/usr/lib/*/*.a)
    foreach(library ${libraries})
        run(${CPACK_CHAINBASE_STRIP} --strip-debug --remove-section=.comment --remove-section=.note
            --enable-deterministic-archives ${library})
    endforeach()
    file(GLOB modules ${root}/usr/lib/python3/dist-packages/*/*.so)
    foreach(module ${modules})
        run(${CPACK_CHAINBASE_STRIP} --strip-unneeded --remove-section=.comment --remove-section=.note ${module})
        run(chmod a-x ${module})
    endforeach()
    if(EXISTS ${debian}/${name}.overrides)
        file(MAKE_DIRECTORY ${root}/usr/share/lintian/overrides)
        file(COPY_FILE ${debian}/${name}.overrides ${root}/usr/share/lintian/overrides/${name})
    endif()
    run(find ${root} -type d -empty -delete)
    run(chmod -R u=rwX,go=rX ${root})
endforeach()
