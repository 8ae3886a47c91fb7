"""Extension modules of the standard library: each rank has its own, and its state stays the rank's."""

import bz2
import ctypes
import datetime
import decimal
import hashlib
import json
import lzma
import multiprocessing
import pickle
import random
import select
import socket
import sqlite3
import ssl
import struct
import sys
import tempfile
import threading
import unicodedata
import uuid
import xml.etree.ElementTree
import zlib
import zoneinfo

import mpi


def check_state():
    """A global of an extension module in another rank does not change mine."""
    decimal.getcontext().prec = 10 + mpi.rank
    sys.setrecursionlimit(2000 + mpi.rank)
    random.seed(mpi.rank)
    first = random.random()
    mpi.barrier()
    assert len(str(decimal.Decimal(1) / 3)) == 12 + mpi.rank
    assert sys.getrecursionlimit() == 2000 + mpi.rank
    random.seed(mpi.rank)
    assert random.random() == first


def check_libraries():
    text = f"rank {mpi.rank} ".encode() * 100
    for module in (bz2, lzma, zlib):
        assert module.decompress(module.compress(text)) == text
    assert len(hashlib.sha3_256(text).hexdigest()) == 64
    assert json.loads(json.dumps({"a": [mpi.rank]})) == {"a": [mpi.rank]}
    assert pickle.loads(pickle.dumps({"a": [mpi.rank]})) == {"a": [mpi.rank]}
    assert struct.unpack("<i", struct.pack("<i", mpi.rank)) == (mpi.rank,)
    assert xml.etree.ElementTree.fromstring(f"<a b='{mpi.rank}'/>").get("b") == str(mpi.rank)
    assert unicodedata.name("\u03b1") == "GREEK SMALL LETTER ALPHA"
    assert uuid.uuid4() != uuid.uuid4() and datetime.datetime.now().year > 2000
    assert zoneinfo.ZoneInfo("UTC").key == "UTC"
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
    assert ctypes.sizeof(ctypes.c_long) == 8


def check_database():
    with tempfile.TemporaryDirectory() as folder, sqlite3.connect(folder + "/d") as base:
        base.execute("create table t(rank integer)")
        base.execute("insert into t values(?)", (mpi.rank,))
        mpi.barrier()
        assert base.execute("select rank from t").fetchall() == [(mpi.rank,)]


def check_sockets():
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(100).upper())
        thread = threading.Thread(target=answer)
        thread.start()
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(f"rank {mpi.rank}".encode())
            assert select.select([client], [], [], 30)[0] == [client]
            assert client.recv(100) == f"RANK {mpi.rank}".encode()
        thread.join()


def double(number):
    return 2 * number


def check_processes():
    """Processes that are forked from a rank, and joined."""
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(double, range(mpi.rank, mpi.rank + 5)) == [
            2 * i for i in range(mpi.rank, mpi.rank + 5)]


check_state()
check_libraries()
check_database()
check_sockets()
check_processes()
assert mpi.sum_of(1) == mpi.size
print("fine")
