extern int nobody_has_this;
int* undefined_address(void) { return &nobody_has_this; }
