// The stdio functions of libc that use a standard stream, explicitly or not: each calls
// stream_for() and then libc's own. See runtime/interpose/streams.h.

#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cwchar>

#include "runtime/interpose/file_locks.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/streams.h"

using mpc::interpose::stream_for;

// Calls libc's function of the same name: NEXT(fputs)(text, file).
#define NEXT(name) MPC_NEXT(name, decltype(&::name))

// --- output ----------------------------------------------------------------------------------

MPC_EXPORT int vfprintf(FILE* file, const char* format, va_list list) {
  return NEXT(vfprintf)(stream_for(file), format, list);
}
MPC_EXPORT int vprintf(const char* format, va_list list) {
  return NEXT(vfprintf)(stream_for(stdout), format, list);
}
MPC_EXPORT int fprintf(FILE* file, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = NEXT(vfprintf)(stream_for(file), format, list);
  va_end(list);
  return result;
}
MPC_EXPORT int printf(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = NEXT(vfprintf)(stream_for(stdout), format, list);
  va_end(list);
  return result;
}

// The forms that -D_FORTIFY_SOURCE calls.
extern "C" int __vfprintf_chk(FILE*, int, const char*, va_list);
MPC_EXPORT int __vfprintf_chk(FILE* file, int flag, const char* format, va_list list) {
  return NEXT(__vfprintf_chk)(stream_for(file), flag, format, list);
}
extern "C" int __vprintf_chk(int, const char*, va_list);
MPC_EXPORT int __vprintf_chk(int flag, const char* format, va_list list) {
  return NEXT(__vfprintf_chk)(stream_for(stdout), flag, format, list);
}
extern "C" int __fprintf_chk(FILE*, int, const char*, ...);
MPC_EXPORT int __fprintf_chk(FILE* file, int flag, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = NEXT(__vfprintf_chk)(stream_for(file), flag, format, list);
  va_end(list);
  return result;
}
extern "C" int __printf_chk(int, const char*, ...);
MPC_EXPORT int __printf_chk(int flag, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = NEXT(__vfprintf_chk)(stream_for(stdout), flag, format, list);
  va_end(list);
  return result;
}

MPC_EXPORT int puts(const char* text) {
  FILE* file = stream_for(stdout);
  if (file == stdout) return NEXT(puts)(text);
  NEXT(flockfile)(file);
  const int failed = NEXT(fputs)(text, file);
  const int result = failed == EOF ? EOF : NEXT(fputc)('\n', file);
  NEXT(funlockfile)(file);
  return result;
}
MPC_EXPORT int fputs(const char* text, FILE* file) {
  return NEXT(fputs)(text, stream_for(file));
}
MPC_EXPORT int fputs_unlocked(const char* text, FILE* file) {
  return NEXT(fputs_unlocked)(text, stream_for(file));
}
MPC_EXPORT int fputc(int c, FILE* file) { return NEXT(fputc)(c, stream_for(file)); }
MPC_EXPORT int putc(int c, FILE* file) { return NEXT(fputc)(c, stream_for(file)); }
MPC_EXPORT int _IO_putc(int c, FILE* file) { return NEXT(fputc)(c, stream_for(file)); }
MPC_EXPORT int putchar(int c) { return NEXT(fputc)(c, stream_for(stdout)); }
MPC_EXPORT int putchar_unlocked(int c) { return NEXT(fputc)(c, stream_for(stdout)); }
MPC_EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  return NEXT(fwrite)(data, size, count, stream_for(file));
}
MPC_EXPORT size_t fwrite_unlocked(const void* data, size_t size, size_t count,
                                  FILE* file) {
  return NEXT(fwrite_unlocked)(data, size, count, stream_for(file));
}
MPC_EXPORT void perror(const char* text) {
  // libc's own writes to its stderr directly; %m is strerror(errno).
  if (text != nullptr && *text != 0) {
    fprintf(stderr, "%s: %m\n", text);
  } else {
    fprintf(stderr, "%m\n");
  }
}
MPC_EXPORT wint_t fputwc(wchar_t c, FILE* file) {
  return NEXT(fputwc)(c, stream_for(file));
}
MPC_EXPORT wint_t putwc(wchar_t c, FILE* file) {
  return NEXT(fputwc)(c, stream_for(file));
}
MPC_EXPORT wint_t putwchar(wchar_t c) { return NEXT(fputwc)(c, stream_for(stdout)); }
MPC_EXPORT int fputws(const wchar_t* text, FILE* file) {
  return NEXT(fputws)(text, stream_for(file));
}
MPC_EXPORT int vfwprintf(FILE* file, const wchar_t* format, va_list list) {
  return NEXT(vfwprintf)(stream_for(file), format, list);
}
MPC_EXPORT int wprintf(const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = NEXT(vfwprintf)(stream_for(stdout), format, list);
  va_end(list);
  return result;
}

// --- state -----------------------------------------------------------------------------------

namespace {

// A line that was lost earlier is an error of fflush(), which would have written it.
int with_loss(int result, int error) noexcept {
  if (result == 0 && error == 0) return 0;
  if (result == 0) errno = error;
  return EOF;
}

}  // namespace

MPC_EXPORT int fflush(FILE* file) {
  if (file == nullptr) {  // "all streams": the rank's own are among them
    const int result = mpc::interpose::own_rank() != nullptr
                           ? mpc::interpose::flush_files()
                           : NEXT(fflush)(nullptr);
    return with_loss(result, mpc::interpose::flushed(nullptr));
  }
  FILE* own = stream_for(file);
  const int result = NEXT(fflush)(own);
  return own != file ? with_loss(result, mpc::interpose::flushed(own)) : result;
}
MPC_EXPORT int fflush_unlocked(FILE* file) { return fflush(file); }
MPC_EXPORT int setvbuf(FILE* file, char* buffer, int mode, size_t size) {
  FILE* own = stream_for(file);
  // A rank's stream outlives a buffer that may be on its program's stack.
  return own != file ? NEXT(setvbuf)(own, nullptr, mode, size)
                     : NEXT(setvbuf)(file, buffer, mode, size);
}
MPC_EXPORT void setbuf(FILE* file, char* buffer) {
  setvbuf(file, buffer, buffer != nullptr ? _IOFBF : _IONBF, BUFSIZ);
}
MPC_EXPORT void setbuffer(FILE* file, char* buffer, size_t size) {
  setvbuf(file, buffer, buffer != nullptr ? _IOFBF : _IONBF, size);
}
MPC_EXPORT void setlinebuf(FILE* file) { setvbuf(file, nullptr, _IOLBF, 0); }
MPC_EXPORT int fileno(FILE* file) {
  // A rank's stream has no descriptor of its own; the caller means the job's.
  const int fd = mpc::interpose::fd_of(file);
  return fd != 0 ? fd : NEXT(fileno)(file);
}
MPC_EXPORT int ferror(FILE* file) { return NEXT(ferror)(stream_for(file)); }
MPC_EXPORT int feof(FILE* file) { return NEXT(feof)(stream_for(file)); }
MPC_EXPORT void clearerr(FILE* file) { NEXT(clearerr)(stream_for(file)); }
MPC_EXPORT void flockfile(FILE* file) { NEXT(flockfile)(stream_for(file)); }
MPC_EXPORT int ftrylockfile(FILE* file) { return NEXT(ftrylockfile)(stream_for(file)); }
MPC_EXPORT void funlockfile(FILE* file) { NEXT(funlockfile)(stream_for(file)); }
MPC_EXPORT int fclose(FILE* file) {
  FILE* own = stream_for(file);
  if (file == stdin && own == file && mpc::interpose::shares_input())
    return ::close(STDIN_FILENO);
  if (own == file) {
    const mpc::interpose::ClosingLocks closing(NEXT(fileno)(file));
    return NEXT(fclose)(file);
  }
  return fflush(file);  // the rank's stream is closed with the rank
}
MPC_EXPORT FILE* freopen(const char* path, const char* mode, FILE* file) {
  FILE* own = stream_for(file);
  if (own == file || path == nullptr) return NEXT(freopen)(path, mode, file);
  fflush(file);
  FILE* opened = NEXT(fopen)(path, mode);
  if (opened == nullptr) return nullptr;
  mpc::interpose::replace_stream(file, opened);
  return file;  // the program's name for it, as the standard says
}

// --- input -----------------------------------------------------------------------------------

MPC_EXPORT int fgetc(FILE* file) { return NEXT(fgetc)(stream_for(file)); }
MPC_EXPORT int getc(FILE* file) { return NEXT(fgetc)(stream_for(file)); }
MPC_EXPORT int _IO_getc(FILE* file) { return NEXT(fgetc)(stream_for(file)); }
MPC_EXPORT int getchar() { return NEXT(fgetc)(stream_for(stdin)); }
MPC_EXPORT int ungetc(int c, FILE* file) { return NEXT(ungetc)(c, stream_for(file)); }
MPC_EXPORT char* fgets(char* text, int size, FILE* file) {
  return NEXT(fgets)(text, size, stream_for(file));
}
extern "C" char* __fgets_chk(char*, size_t, int, FILE*);
MPC_EXPORT char* __fgets_chk(char* text, size_t space, int size, FILE* file) {
  return NEXT(__fgets_chk)(text, space, size, stream_for(file));
}
MPC_EXPORT size_t fread(void* data, size_t size, size_t count, FILE* file) {
  return NEXT(fread)(data, size, count, stream_for(file));
}
extern "C" size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
MPC_EXPORT size_t __fread_chk(void* data, size_t space, size_t size, size_t count,
                              FILE* file) {
  return NEXT(__fread_chk)(data, space, size, count, stream_for(file));
}
MPC_EXPORT ssize_t getdelim(char** line, size_t* size, int delimiter, FILE* file) {
  return NEXT(getdelim)(line, size, delimiter, stream_for(file));
}
MPC_EXPORT ssize_t __getdelim(char** line, size_t* size, int delimiter, FILE* file) {
  return NEXT(getdelim)(line, size, delimiter, stream_for(file));
}
MPC_EXPORT ssize_t getline(char** line, size_t* size, FILE* file) {
  return NEXT(getdelim)(line, size, '\n', stream_for(file));
}

// The forms without a lock (where the compiler has not put them inline), and the wide ones.
MPC_EXPORT int getc_unlocked(FILE* file) { return fgetc(file); }
MPC_EXPORT int fgetc_unlocked(FILE* file) { return fgetc(file); }
MPC_EXPORT int getchar_unlocked() { return fgetc(stdin); }
MPC_EXPORT int feof_unlocked(FILE* file) noexcept { return feof(file); }
MPC_EXPORT int ferror_unlocked(FILE* file) noexcept { return ferror(file); }
MPC_EXPORT char* fgets_unlocked(char* text, int size, FILE* file) {
  return fgets(text, size, file);
}
MPC_EXPORT size_t fread_unlocked(void* data, size_t size, size_t count, FILE* file) {
  return fread(data, size, count, file);
}
MPC_EXPORT wint_t fgetwc(FILE* file) { return NEXT(fgetwc)(stream_for(file)); }
MPC_EXPORT wint_t getwc(FILE* file) { return NEXT(fgetwc)(stream_for(file)); }
MPC_EXPORT wint_t getwchar() { return NEXT(fgetwc)(stream_for(stdin)); }
MPC_EXPORT wint_t ungetwc(wint_t c, FILE* file) {
  return NEXT(ungetwc)(c, stream_for(file));
}
MPC_EXPORT wchar_t* fgetws(wchar_t* text, int size, FILE* file) {
  return NEXT(fgetws)(text, size, stream_for(file));
}

// scanf exists in three forms: glibc's own, C99's and (later glibc) C23's; each program calls
// the one that its headers chose.
#define MPC_SCANF_FAMILY(prefix)                                                 \
  extern "C" int prefix##vfscanf(FILE*, const char*, va_list);                   \
  extern "C" int prefix##vscanf(const char*, va_list);                           \
  extern "C" int prefix##fscanf(FILE*, const char*, ...);                        \
  extern "C" int prefix##scanf(const char*, ...);                                \
  MPC_EXPORT int prefix##vfscanf(FILE* file, const char* format, va_list list) { \
    return NEXT(prefix##vfscanf)(stream_for(file), format, list);                \
  }                                                                              \
  MPC_EXPORT int prefix##vscanf(const char* format, va_list list) {              \
    return NEXT(prefix##vfscanf)(stream_for(stdin), format, list);               \
  }                                                                              \
  MPC_EXPORT int prefix##fscanf(FILE* file, const char* format, ...) {           \
    va_list list;                                                                \
    va_start(list, format);                                                      \
    const int result = NEXT(prefix##vfscanf)(stream_for(file), format, list);    \
    va_end(list);                                                                \
    return result;                                                               \
  }                                                                              \
  MPC_EXPORT int prefix##scanf(const char* format, ...) {                        \
    va_list list;                                                                \
    va_start(list, format);                                                      \
    const int result = NEXT(prefix##vfscanf)(stream_for(stdin), format, list);   \
    va_end(list);                                                                \
    return result;                                                               \
  }
MPC_SCANF_FAMILY(__isoc99_)
