#!/usr/bin/env python3
"""Tests of the generator in mpi/api.

    generator_test.py ROOT
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "mpi/api"))
sys.dont_write_bytecode = True

import generate  # noqa: E402
from generator import (constants, edit, entries, f08_shims, fortran, header,  # noqa: E402
                       modules, tables)
from generator.model import Api, Function, ListError, c_type_of  # noqa: E402

API = Api(ROOT / "mpi/api")


def function(**record):
    record = {"since": "1.0", "impl": "body", "params": [], **record}
    return Function(record, "test", API.kinds)


def entry(f, large=False):
    name = f.name + ("_c" if large else "")
    return "\n".join(entries.EntryWriter(API, f, name, large).write())


class TheList(unittest.TestCase):
    def test_holds_all_functions_of_mpi(self):
        self.assertEqual(len(API.names()), 702)
        self.assertEqual(sum(n.endswith("_c") for n in API.names()), 161)
        self.assertEqual(sum(f.in_abi for f in API.functions()), 664 - 159 + 2)  # two of the 161 have records of their own

    def test_uses_every_kind(self):
        used = {p.kind_name for f in API.functions() for p in f.params}
        self.assertEqual(set(API.kinds), used)

    def test_refuses_unknown_kinds_attributes_and_doubles(self):
        with self.assertRaises(ListError):
            function(name="MPI_X", params=[["a", "no_such_kind"]])
        with self.assertRaises(ListError):
            function(name="MPI_X", params=[["a", "int", {"colour": 1}]])
        with self.assertRaises(ListError):
            function(name="MPI_X", colour=1)
        with self.assertRaises(ListError):
            function(name="MPI_X", large="4.0", params=[["a", "int"]])


class NoFunctionIsSpecial(unittest.TestCase):
    def test_generator_knows_no_function_by_name(self):
        names = {n for n in API.names()}
        for path in (ROOT / "mpi/api").rglob("*.py"):
            text = re.sub(r'""".*?"""', "", path.read_text(), flags=re.S)
            text = re.sub(r"#.*", "", text)
            self.assertEqual(set(re.findall(r"\bP?(MPI_\w+)\b", text)) & names, set(), path)


class Constants(unittest.TestCase):
    @staticmethod
    def of(*groups):
        return type("Api", (), {"constants": groups})

    def test_names_are_those_of_the_code(self):
        for name, wanted in (("MPI_COMBINER_F90_REAL", "kCombinerF90Real"), ("MPI_2INT", "k2Int"),
                             ("MPI_UINT16_T", "kUint16T"), ("MPI_C_BOOL", "kCBool"),
                             ("MPI_2DOUBLE_PRECISION", "k2DoublePrecision")):
            self.assertEqual(constants.cpp_name(name), wanted)

    def test_two_names_for_one_are_refused(self):
        group = {"group": "x", "form": "int", "values": {"MPI_A_B": 1, "MPI_A__B": 2}}
        with self.assertRaises(ListError):
            constants.constants(self.of(group))
        group = {"form": "handle", "type": "MPI_Op", "values": {"MPI_A": "0x1", "MPI_B": "0x01"}}
        with self.assertRaises(ListError):
            constants.handle_names(self.of(group))

    def test_a_handle_is_called_by_one_of_its_names(self):
        group = {"form": "handle", "type": "MPI_Op", "called": {"MPI_A": "MPI_B"},
                 "values": {"MPI_A": "0x1", "MPI_B": "MPI_A"}}
        text = constants.handle_names(self.of(group))
        self.assertIn('{0x001, "MPI_B"},', text)
        self.assertNotIn("MPI_A", text)


class Output(unittest.TestCase):
    def test_is_the_same_each_time(self):
        self.assertEqual(generate.outputs(API), generate.outputs(Api(ROOT / "mpi/api")))

    def test_is_written_only_when_it_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deep/file.h"
            generate.write_if_changed(path, "a")
            first = path.stat().st_mtime_ns
            generate.write_if_changed(path, "a")
            self.assertEqual(path.stat().st_mtime_ns, first)
            generate.write_if_changed(path, "b")
            self.assertEqual(path.read_text(), "b")

    def test_declares_each_function_with_its_profiling_twin(self):
        text = header.generate(API)
        for name in API.names():
            self.assertRegex(text, rf"\b{name}\(")
            self.assertRegex(text, rf"\bP{name}\(")

    def test_table_holds_each_name_once(self):
        names = re.findall(r"MPC_API_FUNCTION\((MPI_\w+),", tables.api_table(API))
        self.assertEqual(names, API.names())


class CTypes(unittest.TestCase):
    def test_arrays_become_pointers(self):
        self.assertEqual(c_type_of("const int {n}[]"), "const int*")
        self.assertEqual(c_type_of("int {n}[][3]"), "int (*)[3]")
        self.assertEqual(c_type_of("void* {n}"), "void*")


class Entries(unittest.TestCase):
    SEND = [["buf", "choice_in", {"count": "n", "type": "t"}], ["n", "count"],
            ["t", "type_committed"], ["dest", "rank_dest"], ["comm", "comm"]]

    def test_one_body_serves_both_bindings(self):
        f = function(name="MPI_Throw", large="4.0", params=self.SEND)
        call = "impl::throw(buf, n, *t_, dest, *comm_)"
        self.assertIn(call, entry(f))
        self.assertIn(call, entry(f, large=True))
        self.assertIn("int n,", entry(f))
        self.assertIn("MPI_Count n,", entry(f, large=True))

    def test_the_communicator_comes_first_so_that_its_handler_gets_all_errors(self):
        text = entry(function(name="MPI_Throw", params=self.SEND))
        self.assertLess(text.index("check::comm(comm"), text.index("check::count"))
        self.assertIn("impl::throw(buf, n, *t_, dest, *comm_)) [[unlikely]] "
                      "return mpi_call.fail(mpi_error, comm_);", text)

    def test_buffers_are_checked_after_their_datatype(self):
        text = entry(function(name="MPI_Throw", params=self.SEND))
        self.assertLess(text.index("check::committed"), text.index("check::buffer"))

    def test_stub_goes_through_the_error_handler(self):
        text = entry(function(name="MPI_Throw", impl="stub", params=self.SEND))
        self.assertIn("return mpi_call.fail(mpi_call.unsupported(), comm_);", text)
        self.assertNotIn("impl::", text)

    def test_arguments_that_are_not_significant_are_not_checked(self):
        f = function(name="MPI_Throw", params=[
            ["n", "count", {"when": ["root"]}], ["root", "root"], ["comm", "comm"]])
        self.assertRegex(entry(f), r"if \(check::is_root\([^{]*\{\n    if \(Err mpi_error = "
                                   r"check::count")

    def test_calls_before_init_are_refused_unless_the_list_allows_them(self):
        self.assertIn("is_running", entry(function(name="MPI_Throw")))
        self.assertNotIn("is_running", entry(function(name="MPI_Throw", phase="any")))

    def test_wide_results_are_stored_after_success(self):
        f = function(name="MPI_Throw", large="4.0", params=[["n", "count_out"]])
        text = entry(f)
        self.assertLess(text.index("impl::throw(&n_)"), text.index("store(n_, n);"))

    def test_missing_parameter_is_an_error_in_the_list(self):
        with self.assertRaises(ListError):
            entry(function(name="MPI_Throw", params=[["dest", "rank_dest"]]))

    def test_weak_alias(self):
        self.assertIn('__attribute__((weak, alias("PMPI_Throw")))',
                      entry(function(name="MPI_Throw")))


class Fortran(unittest.TestCase):
    def binding(self, **record):
        return "\n".join(fortran.Binding(API, function(f77=True, **record)).write())

    def test_each_binding_has_a_form_for_each_parameter(self):
        for f in fortran.bound(API.functions()):
            fortran.Binding(API, f).write()
        self.assertGreater(len(fortran.bound(API.functions())), 430)

    def test_names_as_compilers_make_them(self):
        text = self.binding(name="MPI_Throw")
        for name in ("mpi_throw_", "mpi_throw__", "MPI_THROW", "pmpi_throw_"):
            self.assertRegex(text, rf"\b{name}\(MPI_Fint\* ierror\)")

    def test_lengths_of_strings_follow_all_arguments(self):
        text = self.binding(name="MPI_Throw", params=[["key", "string_in"], ["n", "int"]])
        self.assertIn("(char* key, MPI_Fint* n, MPI_Fint* ierror, size_t key_length)", text)

    def test_results_are_stored_only_after_success(self):
        text = self.binding(name="MPI_Throw", params=[["comm", "comm_out"]])
        self.assertLess(text.index("if (mpi_code != MPI_SUCCESS) return;"),
                        text.index("*comm ="))

    def test_mpif_fits_fixed_and_free_form(self):
        for line in fortran.mpif(API).splitlines():
            self.assertLessEqual(len(line), 72, line)
            self.assertTrue(line.startswith(("!", "      ")), line)

    def test_an_absent_ierror_is_left_alone(self):
        text = self.binding(name="MPI_Throw")
        self.assertIn("if (ierror != nullptr) *ierror = mpi_code;", text)

    def test_handles_have_the_values_of_c(self):
        text = fortran.mpif(API)
        self.assertIn("PARAMETER (MPI_COMM_WORLD=257)", text)
        self.assertIn("PARAMETER (MPI_DOUBLE_PRECISION=540)", text)
        self.assertIn("PARAMETER (MPI_MAX_PROCESSOR_NAME=255)", text)


class Fortran2008(unittest.TestCase):
    SEND = {"name": "MPI_Throw", "large": "4.0", "f77": True, "params": [
        ["buf", "choice_in"], ["count", "count"], ["datatype", "type_committed"], ["comm", "comm"]]}

    def shims(self, **record):
        return "\n".join(f08_shims.functions_of(API, function(**record)))

    def interfaces(self, **record):
        generics = {}
        modules.f08_interfaces(API, function(**record), generics)
        return {name: "\n".join(lines) for name, lines in generics.items()}

    def test_what_passes_everything_alike_is_one_subroutine(self):
        f = function(name="MPI_Throw", f77=True, params=[["comm", "comm"], ["key", "string_in"]])
        self.assertEqual(f08_shims.functions_of(API, f), [])
        self.assertIn('mpi_throw_f08_(MPI_Fint* comm', "\n".join(fortran.Binding(API, f).write()))

    def test_a_buffer_is_a_descriptor_and_its_address_goes_on(self):
        text = self.shims(**self.SEND)
        self.assertIn("void pmpi_throw_f08ts_(const fortran::Array* buf, MPI_Fint* count,", text)
        self.assertIn("return pmpi_throw_(buf->base, count, datatype, comm, ierror);", text)
        self.assertIn("buf_.use_message(*count, *datatype);", text)

    def test_both_counts_have_one_name(self):
        text = self.interfaces(**self.SEND)
        self.assertEqual(sorted(text), ["MPI_Throw", "PMPI_Throw"])
        self.assertIn('BIND(C, NAME="mpi_throw_f08ts_")', text["MPI_Throw"])
        self.assertIn("INTEGER(KIND=MPI_COUNT_KIND), INTENT(IN) :: count", text["MPI_Throw"])
        self.assertIn('BIND(C, NAME="pmpi_throw_c_f08ts_")', text["PMPI_Throw"])

    def test_what_fortran_cannot_tell_apart_is_there_once(self):
        text = self.interfaces(name="MPI_Throw", large="4.0", f77=True,
                               params=[["extent", "aint_count_out"]])
        self.assertEqual(text["MPI_Throw"].count("END SUBROUTINE"), 1)

    def test_a_large_function_of_the_user_has_a_name_of_its_own(self):
        text = self.interfaces(name="MPI_Throw", large="4.0", f77=True,
                               params=[["user_fn", "user_function"]])
        self.assertIn("PROCEDURE(MPI_User_function_c) :: user_fn", text["MPI_Throw_c"])

    def test_what_was_deprecated_before_it_is_not_in_it(self):
        for status, there in (("deprecated 2.0", False), ("removed 3.0", False),
                              ("deprecated 4.1", True)):
            f = function(name="MPI_Throw", f77=True, status=status)
            self.assertEqual(fortran.is_in_f08(f), there, status)

    def test_a_copy_lives_as_long_as_the_request(self):
        text = self.shims(name="MPI_Throw", f77=True, params=[
            ["sendbuf", "choice_in"], ["count", "count"], ["datatype", "type_reduced"],
            ["request", "request_out"]])
        self.assertIn("sendbuf_.use_whole();", text)
        self.assertIn("fortran::keep(*request, {&sendbuf_});", text)

    def test_lines_are_not_too_long_for_fortran(self):
        for text in modules.generate(API).values():
            self.assertLessEqual(max(map(len, text.splitlines())), 132)


class Edit(unittest.TestCase):
    def test_marks_functions_by_their_own_name_and_by_their_body(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "functions").mkdir()
            for name in ("kinds", "constants", "types", "fortran"):
                (folder / f"{name}.json").write_text(
                    (ROOT / f"mpi/api/{name}.json").read_text())
            path = folder / "functions/test.json"
            path.write_text('{"chapter": "test", "functions": [\n'
                            '{"name": "MPI_A", "since": "1.0", "impl": "stub",\n'
                            ' "params": []},\n'
                            '{"name": "MPI_Ab", "since": "1.0", "impl": "stub",\n'
                            ' "params": []}]}\n')
            edit.mark_implemented(Api(folder), ["MPI_A"])
            self.assertEqual([f.is_stub for f in Api(folder).functions()], [False, True])
            edit.mark_implemented(Api(folder), ["ab"])
            self.assertEqual([f.is_stub for f in Api(folder).functions()], [False, False])
            with self.assertRaises(ListError):
                edit.mark_implemented(Api(folder), ["MPI_Nothing"])


class Coverage(unittest.TestCase):
    def test_page_in_docs_is_current(self):
        page = (ROOT / "docs/mpi-coverage.md").read_text()
        self.assertEqual(page, tables.coverage(API),
                         "run: cmake --build build/release --target coverage_page")


if __name__ == "__main__":
    unittest.main()
