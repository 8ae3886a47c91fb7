C     COMMON, SAVE and DATA are private to each rank.
      PROGRAM GLOBS
      INCLUDE 'mpif.h'
      INTEGER RANK, NRANKS, IERR, WRONG, ALLWRG, I, NEXT
      INTEGER A(4)
      DOUBLE PRECISION X
      COMMON /SHARED/ X, A
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NRANKS, IERR)
      X = 1.5D0 * RANK
      A(1) = RANK
      WRONG = 0
      DO 10 I = 1, 3
        CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
        IF (X .NE. 1.5D0 * RANK .OR. A(1) .NE. RANK) WRONG = WRONG + 1
        IF (NEXT() .NE. I) WRONG = WRONG + 1
   10 CONTINUE
      A(2) = RANK
      CALL MPI_ALLREDUCE(MPI_IN_PLACE, A(2), 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, IERR)
      IF (A(2) .NE. NRANKS * (NRANKS - 1) / 2) WRONG = WRONG + 1
      CALL MPI_REDUCE(WRONG, ALLWRG, 1, MPI_INTEGER, MPI_SUM, 0,
     &                MPI_COMM_WORLD, IERR)
      IF (RANK .EQ. 0) THEN
        IF (ALLWRG .EQ. 0) PRINT *, 'globals in Fortran: private'
        IF (ALLWRG .NE. 0) PRINT *, 'globals in Fortran: SHARED, WRONG'
      END IF
      CALL MPI_FINALIZE(IERR)
      END

      INTEGER FUNCTION NEXT()
      INTEGER CALLS
      SAVE CALLS
      DATA CALLS /0/
      CALLS = CALLS + 1
      NEXT = CALLS
      END
