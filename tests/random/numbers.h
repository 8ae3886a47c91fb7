/* Random numbers that every rank can draw again from a seed. */
#ifndef RANDOM_NUMBERS_H
#define RANDOM_NUMBERS_H

typedef struct {
  unsigned long long state;
} source;

static unsigned long long next_number(source* s) { /* splitmix64 */
  unsigned long long z = (s->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static long draw(source* s, long from, long to) { /* both included */
  return from + (long)(next_number(s) % (unsigned long long)(to - from + 1));
}
static int one_in(source* s, int n) { return draw(s, 1, n) == 1; }
static source seeded(unsigned long long a, unsigned long long b, unsigned long long c) {
  source s = {a};
  s.state = next_number(&s) ^ b;
  s.state = next_number(&s) ^ c;
  return s;
}

#endif
