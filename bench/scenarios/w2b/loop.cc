// W2b is W2 with other sets and another threshold: the same loop.
#include "../w2/loop.cc"
