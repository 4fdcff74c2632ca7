module eris/tests/linearizability/checker

go 1.19

require github.com/anishathalye/porcupine v1.0.2
