// A function that nobody has until giver.c is opened.
int given(int);
int lazy_call(int v) { return given(v) + 1; }
int lazy_value(void) { return 11; }
