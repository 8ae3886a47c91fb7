// Brings a library in C++ along.
extern int streams_count(int rank);
int ask_streams(int rank) { return streams_count(rank); }
