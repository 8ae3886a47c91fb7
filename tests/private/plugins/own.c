// A name that the program has, too, and one that only the program has.
extern int only_program;
int shared_name(void) { return 2; }
int ask_shared_name(void) { return shared_name(); }
int ask_program(void) { return only_program; }
