// W1z is W1 with other keys and another window: the same loop.
#include "../w1/loop.cc"
