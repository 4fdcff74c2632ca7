# Writes OUT from TEMPLATE with VERSION and the commit that SOURCE has checked out, if the text differs from OUT.
set(COMMIT unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --abbrev=12 --dirty=-changed --exclude=*
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result EQUAL 0)
    set(COMMIT ${output})
  endif()
endif()
configure_file(${TEMPLATE} ${OUT} @ONLY)
