#pragma once
// Info: what mpcinfo prints: the machine and the settings.
//
// Role:      text for people, generated from topology and base/settings.h.
// Users:     tools/mpcinfo through the two exported functions.
// Threads:   any.
// See also:  docs/topology.md, docs/settings.md.

// The machine drawn as text: null or "" for the one we run on, else a name, a synthetic string
// or an XML file. Returns an exit status.
extern "C" __attribute__((visibility("default"))) int mpc_info_topology(
    const char* machine);

// Settings with defaults, units and meaning, as text or as Markdown for docs/settings.md: those
// whose names begin with `name`, "" for all. Returns an exit status.
extern "C" __attribute__((visibility("default"))) int mpc_info_settings(
    const char* name, bool as_markdown);
