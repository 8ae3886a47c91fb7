int given(int v) { return 10 * v; }
static int opened;
int giver_opened(void) { return ++opened; }
