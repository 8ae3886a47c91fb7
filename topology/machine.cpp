#include "topology/machine.h"
