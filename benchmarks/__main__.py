from benchmarks import ranking, reading, startup, supernet_epoch, training_epoch

startup.main()
reading.main()
training_epoch.main()
supernet_epoch.main()
ranking.main()
