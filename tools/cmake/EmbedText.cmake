# Writes a C++ file that defines texts, so that a binary needs no file of ours at run time:
#   cmake -DOUT=x.cc -DHEADER=tools/x.h -DkName=file[;file...] -DNAMES=kName;... -P EmbedText.cmake
# Each name becomes a std::string_view of namespace emplace, the contents of its files one after another.
set(code "#include \"${HEADER}\"\n\nnamespace emplace {\n")
foreach(name IN LISTS NAMES)
  set(text "")
  foreach(file IN LISTS ${name})
    file(READ ${file} contents)
    # A list of CMake's ends at every semicolon, so the text goes through string(APPEND) alone.
    string(APPEND text "${contents}")
  endforeach()
  string(APPEND code "\nextern const std::string_view ${name};\nconst std::string_view ${name} = R\"emplace(${text})emplace\";\n")
endforeach()
string(APPEND code "\n}  // namespace emplace\n")
file(WRITE ${OUT} "${code}")
