import ScopedNetBench

ScopedNetBench.main()
