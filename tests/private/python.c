// Python inside of a program; python.py is the script.
#include <Python.h>

int main(int argc, char** argv) { return Py_BytesMain(argc, argv); }
