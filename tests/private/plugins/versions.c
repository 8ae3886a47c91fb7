int versioned_old(void) { return 1; }
int versioned_new(void) { return 2; }
__asm__(".symver versioned_old, versioned@OLD_1");
__asm__(".symver versioned_new, versioned@@NEW_2");
