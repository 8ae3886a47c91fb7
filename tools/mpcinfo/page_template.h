#pragma once
// PageTemplate: the files of tools/mpcinfo/page as texts.
//
// Role:      the parts of a page other than its data; the build generates the definitions.
// Users:     tools/mpcinfo/page.cpp.
// Threads:   constants.
// See also:  tools/mpcinfo/CMakeLists.txt (embed_page), tools/mpcinfo/page/.

namespace mpc::tools {

extern const char* const kPageFrame;  // page.html
extern const char* const kPageStyle;  // page.css
extern const char* const kPageLogic;  // logic.js
extern const char* const kPageView;   // view.js

}  // namespace mpc::tools
