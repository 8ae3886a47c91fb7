/* What the programs under test know of their host; the host implements it (test_api.c). */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
int test_rank(void); /* of the calling thread */
void test_set_rank(int rank);
void test_trace(const char* word); /* appended to the rank's trace */
const char* test_get_trace(int rank);
void test_clear_traces(void);
void test_set_exit(void (*function)(int));
void test_exit(int status); /* exit() of a rank, without interposition */
#ifdef __cplusplus
}
#endif
