// The report names the library and the function.
int crash_here(int* nowhere) { return *nowhere; }
