#pragma once
// PageTemplate: the files of tools/mpcinfo/page as texts.
//
// Role:      what a page consists of beside its data; the build makes the definitions.
// Users:     tools/mpcinfo/page.cpp.
// Threads:   constants.
// See also:  tools/mpcinfo/CMakeLists.txt (embed_page), tools/mpcinfo/page/.

namespace mpc::tools {

extern const char* const page_frame;  // page.html
extern const char* const page_style;  // page.css
extern const char* const page_logic;  // logic.js
extern const char* const page_view;   // view.js

}  // namespace mpc::tools
