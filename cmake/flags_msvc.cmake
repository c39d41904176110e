# Hardening, size and reproducibility for clang-cl, whose driver takes cl's flags and link.exe's (cmake/flags.cmake).

# ---- hardening ----------------------------------------------------------------------------------
target_compile_options(sbx_flags INTERFACE
  /GS /guard:cf /clang:-fno-delete-null-pointer-checks /clang:-fno-strict-overflow /clang:-fno-common
  /clang:-ftrivial-auto-var-init=zero)
if(CMAKE_C_COMPILER_VERSION VERSION_LESS 16)
  target_compile_options(sbx_flags INTERFACE
    /clang:-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
endif()
target_link_options(sbx_flags INTERFACE
  /DYNAMICBASE /NXCOMPAT /HIGHENTROPYVA /guard:cf /CETCOMPAT)

# ---- size and reproducibility -------------------------------------------------------------------
target_compile_options(sbx_flags INTERFACE
  /Gy /Gw /Brepro /clang:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  /clang:-ffile-prefix-map=${PROJECT_BINARY_DIR}/=)
target_link_options(sbx_flags INTERFACE /OPT:REF /OPT:ICF /Brepro)
