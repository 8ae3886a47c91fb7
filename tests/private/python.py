# An interpreter in each rank, with extension modules of its own: what dlopen() is for.
import ctypes
import decimal
import hashlib
import json
import math
import os
import sys
import threading

import _json

program = ctypes.CDLL(None)
rank = program.test_rank()
switch = program.test_yield


def check_extension_modules():
    assert _json.make_encoder is not None
    assert json.loads(json.dumps({"rank": [rank, 2.5]})) == {"rank": [rank, 2.5]}
    assert math.isclose(math.sqrt(2) ** 2, 2)
    assert len(hashlib.sha256(str(rank).encode()).hexdigest()) == 64
    decimal.getcontext().prec = 10 + rank
    switch()
    assert len(str(decimal.Decimal(1) / 3)) == 12 + rank


def check_calls_in_both_directions():
    compare_type = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int)
    )
    values = (ctypes.c_int * 5)(3, 1, rank + 10, 2, 0)
    program.qsort(values, 5, ctypes.sizeof(ctypes.c_int), compare_type(lambda a, b: a[0] - b[0]))
    assert list(values) == [0, 1, 2, 3, rank + 10]


def check_environment():
    os.environ["PYTHON_TEST"] = str(rank)
    switch()
    program.getenv.restype = ctypes.c_char_p
    assert program.getenv(b"PYTHON_TEST") == str(rank).encode()


def check_threads():
    sums = []

    def work(number):
        sums.append(sum(i * number for i in range(20000)))

    threads = [threading.Thread(target=work, args=(rank + i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == [(rank + i) * 199990000 for i in range(3)]


def check_errors():
    try:
        ctypes.CDLL("/nosuch/library%d.so" % rank)
    except OSError as error:
        assert "/nosuch/library%d.so: cannot open" % rank in str(error)
    else:
        sys.exit("a missing library was opened")


check_extension_modules()
check_calls_in_both_directions()
check_environment()
check_threads()
check_errors()
