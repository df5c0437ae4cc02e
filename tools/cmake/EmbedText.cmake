# Writes a C++ file that defines texts, so that a binary needs no file of ours at run time:
#   cmake -DOUT=x.cc -DHEADER=tools/x.h -DkName=file[;file...] -DNAMES=kName;... -P EmbedText.cmake
# Each name becomes a std::string_view of namespace emplace, the contents of its files one after another.
# Compilers must take 65,536 characters at least; ours take more, of which clang warns.
set(code "#include \"${HEADER}\"\n\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\nnamespace emplace {\n")
foreach(name IN LISTS NAMES)
  set(text "")
  foreach(file IN LISTS ${name})
    file(READ ${file} contents)
    # A list of CMake's ends at every semicolon, so the text goes through string(APPEND) alone.
    string(APPEND text "${contents}")
  endforeach()
  string(APPEND code "\nextern const std::string_view ${name};\nconst std::string_view ${name} = R\"emplace(${text})emplace\";\n")
endforeach()
string(APPEND code "\n}  // namespace emplace\n\n#pragma GCC diagnostic pop\n")
file(WRITE ${OUT} "${code}")
